// Package scaffold writes an operator that uses trueup into a project of kubebuilder, in place of the empty one that
// kubebuilder wrote.
package scaffold

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"path"
	"slices"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

// Library is the path of the module that the operator requires.
const Library = "github.com/trueup-go/trueup"

// Options say which operator Run writes.
type Options struct {
	Group, Version, Kind string
	// Children are the kinds of the children: deployment, service or configmap.
	Children []string
	// Finalizer adds a finalizer, with a function that cleans up.
	Finalizer bool
	// Library is the version of trueup that go.mod requires, unless it requires one. If it is empty, go.mod must do so.
	Library string
}

// Changes are the results of Run.
type Changes struct {
	// Files has the new text of each file that changes, by its path in the project.
	Files map[string]string
	// Order has the paths in the order in which the files must be written: after a stop, Run returns the rest.
	Order []string
	// Kept says for each file that Run left alone why it did so.
	Kept []string
}

// Run returns the changes that make an operator of the API that the options name: of its types, its controller with the
// test, its sample, go.mod and the image that builds the project. It reads files by their paths in the project, and
// writes none. It changes a controller and a test only if they are as kubebuilder wrote them. Otherwise, it returns an
// error, and so it does for an API of another group or version than those of the options.
func Run(read func(name string) ([]byte, error), o Options) (Changes, error) {
	p := &project{read: read, changes: Changes{Files: map[string]string{}}}
	if err := p.scaffold(o); err != nil {
		return Changes{}, err
	}
	return p.changes, nil
}

// A project is changed for one API.
type project struct {
	read    func(name string) ([]byte, error)
	changes Changes
}

func (p *project) scaffold(o Options) error {
	children, err := childrenOf(o.Children)
	if err != nil {
		return err
	}
	if o.Version == "" || o.Kind == "" {
		return errors.New("name the API with --group, --version and --kind")
	}
	config, err := p.config()
	if err != nil {
		return err
	}
	base := path.Join(config.controllers(o.Group), strings.ToLower(o.Kind)+"_controller")
	written, err := p.controller(base+".go", o.Kind)
	if err != nil {
		return err
	}
	if path.Base(written.Path) != o.Version || !strings.HasPrefix(written.APIGroup+".", cmp.Or(o.Group, config.Domain)+".") {
		return fmt.Errorf("%s.go is of %s/%s: name that API with --group and --version", base, written.APIGroup, path.Base(written.Path))
	}
	types, isOurs := strings.CutPrefix(written.Path, config.Repo+"/")
	if !isOurs {
		return fmt.Errorf("%s is not in this project: its types cannot get fields", written.Path)
	}
	operator := &operator{controller: written, Children: children, Finalizer: o.Finalizer}
	for _, step := range []func() error{
		func() error { return p.checkTest(base+"_test.go", operator) },
		func() error { return p.editTypes(path.Join(types, operator.Lower()+"_types.go"), operator) },
		func() error { return p.editModule(o.Library) },
		func() error { return p.editSample(sampleOf(o), operator) },
		p.raiseImages,
		func() error { return p.replace(base+"_test.go", testTemplate, operator) },
		// Last: Run refuses to change a controller that is replaced.
		func() error { return p.replace(base+".go", "controller.go.tmpl", operator) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// A config is the file PROJECT.
type config struct {
	// Repo is the path of the module.
	Repo       string `json:"repo"`
	Domain     string `json:"domain"`
	MultiGroup bool   `json:"multigroup"`
}

func (p *project) config() (config, error) {
	text, err := p.read("PROJECT")
	if err != nil {
		return config{}, fmt.Errorf("this is no project of kubebuilder: %w", err)
	}
	var c config
	if err := yaml.Unmarshal(text, &c); err != nil {
		return config{}, fmt.Errorf("cannot read PROJECT: %w", err)
	}
	if c.Repo == "" {
		return config{}, errors.New("PROJECT names no repo")
	}
	return c, nil
}

// controllers returns the folder of the controllers of a group.
func (c config) controllers(group string) string {
	if !c.MultiGroup {
		group = ""
	}
	return path.Join("internal/controller", group)
}

func sampleOf(o Options) string {
	names := []string{o.Group, o.Version, strings.ToLower(o.Kind)}
	return path.Join("config", "samples", strings.TrimPrefix(strings.Join(names, "_"), "_")+".yaml")
}

// text returns a file that may be missing, and whether it exists.
func (p *project) text(name string) (text string, exists bool, err error) {
	content, err := p.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	return string(content), err == nil, err
}

// change changes a file, unless the text is the same.
func (p *project) change(name, before, after string) {
	if before != after {
		p.changes.Files[name] = after
		p.changes.Order = append(p.changes.Order, name)
	}
}

func (p *project) keep(name, reason string) {
	p.changes.Kept = append(p.changes.Kept, name+" "+reason)
}

// replace writes a Go file by a template, below the licence that kubebuilder wrote.
func (p *project) replace(name, template string, o *operator) error {
	before, _, err := p.text(name)
	if err != nil {
		return err
	}
	after, err := render(template, o)
	p.change(name, before, o.Licence+after)
	return err
}

//go:embed templates
var templates embed.FS

// render executes a template of Go code.
func render(name string, data any) (string, error) {
	parsed, err := template.ParseFS(templates, path.Join("templates", name))
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, data); err != nil {
		return "", err
	}
	formatted, err := format.Source(text.Bytes())
	return string(formatted), err
}

// An operator is what the templates write.
type operator struct {
	controller
	Children  []child
	Finalizer bool
}

// API returns the name for the import of the API in the new files. kubebuilder's name may be that of another import in them.
func (o *operator) API() string {
	if slices.Contains([]string{"appsv1", "corev1", "metav1"}, o.Alias) {
		return "api"
	}
	return o.Alias
}

// Has tells the templates which children there are, by kind.
func (o *operator) Has() map[string]bool {
	kinds := map[string]bool{}
	for _, child := range o.Children {
		kinds[child.Kind] = true
	}
	return kinds
}

// RollsOnChange reports whether the pods use the ConfigMap.
func (o *operator) RollsOnChange() bool { return o.Has()["Deployment"] && o.Has()["ConfigMap"] }

// Single reports whether there is one child, which needs no Set.
func (o *operator) Single() bool { return len(o.Children) == 1 }

// Result returns the variable with the result of the children.
func (o *operator) Result() string {
	if o.Single() {
		return o.Children[0].Variable
	}
	return "children"
}

// First returns the child that the test edits.
func (o *operator) First() child {
	return o.Children[max(0, slices.IndexFunc(o.Children, func(c child) bool { return c.Kind == "Deployment" }))]
}

// Writes returns the number of requests until a new object is as desired.
func (o *operator) Writes() int {
	writes := len(o.Children) + 1 // the status
	if o.Finalizer {
		writes++
	}
	return writes
}

// Fields returns the fields of the spec.
func (o *operator) Fields() []field {
	var fields []field
	for _, child := range o.Children {
		fields = append(fields, child.fields...)
	}
	return fields
}
