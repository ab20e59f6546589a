package controller

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// names are what the children of one Application are called. They begin with the
// Application's name, so that two Applications in a namespace never collide.
type names struct {
	secret       string
	deployment   string
	service      string
	microservice string // the container, and the label app of the pods
}

func namesFor(application string) names {
	return names{
		secret:       application + "-secret-greeting",
		deployment:   application + "-deployment-microservice",
		service:      application + "-service-microservice",
		microservice: application + "-microservice",
	}
}

// check refuses an Application whose children could not be named after it. The
// longest name decides for all, and all have to be what a Service's must be: a
// shortened name would no longer tell people whose child it is.
func (n names) check(application string) error {
	longest := max(len(n.secret), len(n.deployment), len(n.service), len(n.microservice))
	if room := validation.DNS1035LabelMaxLength - (longest - len(application)); len(application) > room {
		return fmt.Errorf("the name %q has %d characters, and its children's names leave room for %d",
			application, len(application), room)
	}
	if problems := validation.IsDNS1035Label(application); len(problems) > 0 {
		return fmt.Errorf("children cannot be named after %q: %s", application, strings.Join(problems, "; "))
	}
	return nil
}
