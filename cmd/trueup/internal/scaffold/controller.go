package scaffold

import (
	"fmt"
	"regexp"
	"strings"
)

// A controller has the parts in which the controllers that kubebuilder writes differ.
type controller struct {
	Kind string
	// Licence is the text above the package clause.
	Licence, Package string
	// Alias and Path are of the import of the API.
	Alias, Path string
	// APIGroup, Scope and Plural are of the RBAC markers. Scope is empty, or limits the role to a namespace.
	APIGroup, Scope, Plural string
	// ControllerRuntime is a version.
	ControllerRuntime string
	// Named is the name of the controller.
	Named string
}

// Lower returns the kind in lower case, with which names begin that are not exported.
func (c controller) Lower() string { return strings.ToLower(c.Kind) }

// parts finds the parts in a controller as kubebuilder writes it.
var parts = regexp.MustCompile(`(?s)\A(.*?)\bpackage (\w+)\n\nimport \(\n.*?\n\t(\w+) "([^"\n]+)"\n\)\n.*?` +
	`:rbac:groups=([^,\n]+),(namespace=[^,\n]+,)?resources=([^,\n]+),.*?controller-runtime@([^/\n]+)/.*?\bNamed\("([^"\n]+)"\)`)

// controller reads a controller. If it is not as kubebuilder wrote it for the kind, this is an error.
func (p *project) controller(name, kind string) (controller, error) {
	text, exists, err := p.text(name)
	if err != nil {
		return controller{}, err
	}
	if !exists {
		return controller{}, fmt.Errorf("%s is missing: run kubebuilder create api with --resource and --controller first", name)
	}
	edited := fmt.Errorf("%s is not as kubebuilder v4.6 to v4.16 wrote it", name)
	match := parts.FindStringSubmatch(text)
	if match == nil {
		return controller{}, edited
	}
	c := controller{
		Kind: kind, Licence: match[1], Package: match[2], Alias: match[3], Path: match[4],
		APIGroup: match[5], Scope: match[6], Plural: match[7], ControllerRuntime: match[8], Named: match[9],
	}
	written, err := render("kubebuilder.go.tmpl", c)
	if err == nil && text != c.Licence+written {
		err = edited
	}
	return c, err
}

const testTemplate = "controller_test.go.tmpl"

// checkTest requires a test as kubebuilder wrote it, or as it is going to be. Others do not compile with the new controller.
func (p *project) checkTest(name string, o *operator) error {
	text, exists, err := p.text(name)
	if err != nil || !exists {
		return err
	}
	// Since v4.15, kubebuilder names the namespace.
	written, err := render("kubebuilder_test.go.tmpl", struct {
		controller
		NamesNamespace bool
	}{o.controller, strings.Contains(text, "resourceNamespace")})
	if err != nil {
		return err
	}
	updated, err := render(testTemplate, o)
	if err == nil && text != o.Licence+written && text != o.Licence+updated {
		err = fmt.Errorf("%s is not as kubebuilder wrote it, and would not compile with the new controller: move or delete it", name)
	}
	return err
}
