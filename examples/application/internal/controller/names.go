package controller

import "github.com/trueup-go/trueup/examples/internal/operator"

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

// check refuses an Application whose children could not be named after it.
func (n names) check(application string) error {
	return operator.CheckNames(application, n.secret, n.deployment, n.service, n.microservice)
}
