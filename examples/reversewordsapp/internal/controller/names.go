package controller

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// names are what the children of one ReverseWordsApp are called. They hold its name, so
// that two in a namespace never collide.
type names struct {
	app        string // the ReverseWordsApp, and the label app of its children and pods
	deployment string
	service    string
}

func namesFor(app string) names {
	return names{app: app, deployment: "dp-" + app, service: "service-" + app}
}

// check refuses a ReverseWordsApp after which no Service can be named; what is left of its
// name after that is good for the Deployment and the label, too. A shortened name would
// no longer tell people whose child it is.
func (n names) check() error {
	if room := validation.DNS1035LabelMaxLength - (len(n.service) - len(n.app)); len(n.app) > room {
		return fmt.Errorf("the name %q has %d characters, and its children's names leave room for %d", n.app, len(n.app), room)
	}
	if problems := validation.IsDNS1035Label(n.service); len(problems) > 0 {
		return fmt.Errorf("children cannot be named after %q: %s", n.app, strings.Join(problems, "; "))
	}
	return nil
}
