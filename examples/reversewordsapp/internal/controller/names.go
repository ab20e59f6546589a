package controller

import "github.com/trueup-go/trueup/examples/internal/operator"

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

// check refuses a ReverseWordsApp whose children could not be named after it. What is left
// of its name after that is good for the label, too.
func (n names) check() error { return operator.CheckNames(n.app, n.deployment, n.service) }
