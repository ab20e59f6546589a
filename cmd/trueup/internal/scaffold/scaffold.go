// Package scaffold writes an operator that uses trueup into a project of kubebuilder, in place of the empty one that
// kubebuilder wrote.
package scaffold

import (
	"bytes"
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
	// Kept says for each file that Run left alone why it did so.
	Kept []string
}

// Run returns the changes that make an operator of the API that the options name: of its types, its controller with the
// test, its sample, go.mod and the image that builds the project. It reads files by their paths in the project, and
// writes none. It changes a controller and a test only if they are as kubebuilder wrote them. Otherwise, it returns an
// error.
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
	repo, dir, err := p.layout(o.Group)
	if err != nil {
		return err
	}
	base := path.Join(dir, strings.ToLower(o.Kind)+"_controller")
	written, err := p.controller(base+".go", o)
	if err != nil {
		return err
	}
	operator := &operator{controller: written, Children: children, Finalizer: o.Finalizer}
	types, isOurs := strings.CutPrefix(operator.Path, repo+"/")
	if !isOurs {
		return fmt.Errorf("%s is not in this project: its types cannot get fields", operator.Path)
	}
	for _, step := range []func() error{
		func() error { return p.replaceTest(base+"_test.go", operator) },
		func() error { return p.replace(base+".go", "controller.go.tmpl", operator) },
		func() error { return p.editTypes(path.Join(types, operator.Lower()+"_types.go"), operator) },
		func() error { return p.editModule(o.Library) },
		func() error { return p.editSample(sampleOf(o), operator) },
		p.raiseImages,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// layout returns the module path of the project and the folder of its controllers.
func (p *project) layout(group string) (repo, dir string, err error) {
	text, err := p.read("PROJECT")
	if err != nil {
		return "", "", fmt.Errorf("this is no project of kubebuilder: %w", err)
	}
	var config struct {
		Repo       string `json:"repo"`
		MultiGroup bool   `json:"multigroup"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		return "", "", fmt.Errorf("cannot read PROJECT: %w", err)
	}
	if config.Repo == "" {
		return "", "", errors.New("PROJECT names no repo")
	}
	dir = "internal/controller"
	if config.MultiGroup {
		dir = path.Join(dir, group)
	}
	return config.Repo, dir, nil
}

func sampleOf(o Options) string {
	names := []string{o.Group, o.Version, strings.ToLower(o.Kind)}
	return path.Join("config", "samples", strings.TrimPrefix(strings.Join(names, "_"), "_")+".yaml")
}

// text returns a file, and whether it exists.
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
	}
}

func (p *project) keep(name, reason string) {
	p.changes.Kept = append(p.changes.Kept, name+" "+reason)
}

// replace writes a Go file by a template, below the licence that kubebuilder wrote.
func (p *project) replace(name, template string, o *operator) error {
	text, err := render(template, o)
	p.change(name, "", o.Licence+text)
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
