package scaffold_test

import (
	"flag"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/cmd/trueup/internal/scaffold"
)

var update = flag.Bool("update", false, "write testdata/golden")

const (
	controllerFile = "internal/controller/website_controller.go"
	testFile       = "internal/controller/website_controller_test.go"
	typesFile      = "api/v1/website_types.go"
	sampleFile     = "config/samples/web_v1_website.yaml"

	statusMarker = "// +kubebuilder:subresource:status"
)

// A project has the files of a project of kubebuilder, by path.
type project map[string]string

// newProject returns what a version of kubebuilder wrote. go.mod is not in testdata, where it would begin a module.
func newProject(t *testing.T, kubebuilder string) project {
	t.Helper()
	p := project{"go.mod": "module example.com/website\n\ngo 1.24.0\n\nrequire (\n\tsigs.k8s.io/controller-runtime v0.21.0\n)\n"}
	root := filepath.Join("testdata", "kubebuilder-"+kubebuilder)
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := strings.CutPrefix(filepath.ToSlash(path), filepath.ToSlash(root)+"/")
		p[name] = string(text)
		return err
	}))
	return p
}

func (p project) read(name string) ([]byte, error) {
	text, exists := p[name]
	if !exists {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

// renamed returns the project with another kind. The controller has another group.
func (p project) renamed(group, kind string) project {
	names := strings.NewReplacer("example.com/website", "example.com/website", "Website", kind, "website", strings.ToLower(kind))
	groups := strings.NewReplacer("webv1", group+"v1", "web.example.com", group+".example.com")
	other := project{}
	for name, text := range p {
		if strings.HasPrefix(name, "internal/") {
			text = groups.Replace(text)
		}
		other[names.Replace(name)] = names.Replace(text)
	}
	return other
}

func website() scaffold.Options {
	return scaffold.Options{Group: "web", Version: "v1", Kind: "Website", Children: []string{"deployment"}, Library: "v0.1.0"}
}

// The operator of the README is testdata/golden. `make generate` writes it.
func TestGolden(t *testing.T) {
	t.Parallel()
	changes, err := scaffold.Run(newProject(t, "4.16").read, website())
	require.NoError(t, err)
	require.Empty(t, changes.Kept)
	require.Equal(t, []string{typesFile, sampleFile, "go.mod", controllerFile, testFile}, slices.Sorted(maps.Keys(changes.Files)))
	for name, text := range changes.Files {
		golden := filepath.Join("testdata", "golden", filepath.FromSlash(name))
		if filepath.Base(golden) == "go.mod" {
			continue
		}
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
			require.NoError(t, os.WriteFile(golden, []byte(text), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(string(want), text), "run make generate")
	}
}

func TestModule(t *testing.T) {
	t.Parallel()
	changes, err := scaffold.Run(newProject(t, "4.6").read, website())
	require.NoError(t, err)
	require.Equal(t, `module example.com/website

go 1.26.0

require (
	sigs.k8s.io/controller-runtime v0.21.0
)

require github.com/trueup-go/trueup v0.1.0
`, changes.Files["go.mod"])
	require.Contains(t, changes.Files["Dockerfile"], "FROM golang:1.26 AS builder\n")

	p := newProject(t, "4.6")
	p["go.mod"] = changes.Files["go.mod"]
	options := website()
	options.Library = ""
	changes, err = scaffold.Run(p.read, options)
	require.NoError(t, err)
	require.NotContains(t, changes.Files, "go.mod", "a requirement stays")
}

func TestImages(t *testing.T) {
	t.Parallel()
	const name = "Dockerfile"
	kept := func(why string) []string { return []string{name + why + ": give it an image of Go 1.26 by hand"} }
	for before, want := range map[string]struct {
		after string
		kept  []string
	}{
		"FROM golang:1.24\n":                         {after: "FROM golang:1.26\n"},
		"FROM golang:1.25-alpine3.22 AS builder\n":   {after: "FROM golang:1.26-alpine3.22 AS builder\n"},
		"FROM golang:1.25.13-bullseye\n":             {after: "FROM golang:1.26-bullseye\n"},
		"FROM golang:1.26.1\n":                       {},
		"FROM golang:1.26.1@sha256:0123\n":           {},
		"FROM golang:1.25.13-bullseye@sha256:0123\n": {kept: kept(" keeps an image, as a digest selects it")},
		"FROM golang:1.25@sha256:0123\nFROM golang:1.25\n": {
			after: "FROM golang:1.25@sha256:0123\nFROM golang:1.26\n", kept: kept(" keeps an image, as a digest selects it"),
		},
		"# \xe9\nFROM golang:1.25\n":   {kept: kept(" is left alone, as it is not UTF-8")},
		"# \ufffd\nFROM golang:1.25\n": {kept: kept(" is left alone, as it is not UTF-8")}, // what JSON makes of others
		"# \xe9\nFROM golang:1.26\n":   {},
	} {
		p := newProject(t, "4.16")
		p[name] = before
		changes, err := scaffold.Run(p.read, website())
		require.NoError(t, err)
		require.Equal(t, want.after, changes.Files[name], before)
		require.Equal(t, want.kept, changes.Kept, before)
	}
}

// Only kubebuilder's example is replaced, as each version writes it for each kind.
func TestExample(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kubebuilder, old, updated string
		isReplaced                bool
	}{
		"v4.6":              {kubebuilder: "4.6", isReplaced: true},
		"v4.16":             {kubebuilder: "4.16", isReplaced: true},
		"another kind":      {kubebuilder: "4.16", old: "of Website. Edit website_types", updated: "of Page. Edit page_types", isReplaced: true},
		"a comment":         {kubebuilder: "4.6", old: "\t// Foo is an example", updated: "\t// TODO: name the owners.\n\n\t// Foo is an example"},
		"a comment below":   {kubebuilder: "4.6", old: "`json:\"foo,omitempty\"`\n", updated: "`json:\"foo,omitempty\"`\n\t// TODO: name the owners.\n"},
		"a marker":          {kubebuilder: "4.16", old: "\tFoo", updated: "\t// +kubebuilder:validation:MinLength=1\n\tFoo"},
		"another type":      {kubebuilder: "4.16", old: "Foo *string", updated: "Foo []string"},
		"a field on a line": {kubebuilder: "4.16", old: "Foo *string", updated: "Foo, Bar *string"},
		"an embedded type":  {kubebuilder: "4.6", old: "\tFoo string", updated: "\tmetav1.Duration\n\tFoo string"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, test.kubebuilder)
			p[typesFile] = strings.Replace(p[typesFile], test.old, test.updated, 1)
			changes, err := scaffold.Run(p.read, website())
			require.NoError(t, err)
			body := regexp.MustCompile(`(?s)type WebsiteSpec struct \{\n(.*?)\}\n`)
			before, after := body.FindStringSubmatch(p[typesFile])[1], body.FindStringSubmatch(changes.Files[typesFile])[1]
			require.Contains(t, after, "\tImage string `json:\"image\"`\n")
			if test.isReplaced {
				require.NotContains(t, strings.ToLower(after), "foo")
				require.NotContains(t, after, "INSERT")
				return
			}
			for line := range strings.Lines(before) {
				require.Contains(t, spaces.ReplaceAllString(after, " "), spaces.ReplaceAllString(line, " "))
			}
		})
	}
}

// spaces are those with which gofmt aligns fields.
var spaces = regexp.MustCompile(` +`)

// The command writes the files in this order. After a stop, it can be repeated.
func TestRepeats(t *testing.T) {
	t.Parallel()
	options := website()
	options.Children = []string{"deployment", "service", "configmap"}
	p := newProject(t, "4.6")
	all, err := scaffold.Run(p.read, options)
	require.NoError(t, err)
	require.ElementsMatch(t, slices.Collect(maps.Keys(all.Files)), all.Order)
	require.Equal(t, []string{testFile, controllerFile}, all.Order[len(all.Order)-2:])
	for i, name := range all.Order {
		rest, err := scaffold.Run(p.read, options)
		require.NoError(t, err)
		require.Equal(t, all.Order[i:], rest.Order)
		require.Empty(t, rest.Kept)
		p[name] = all.Files[name]
	}
}

// Run keeps what others wrote where it can, and says what it left alone.
func TestKeeps(t *testing.T) {
	t.Parallel()
	p := newProject(t, "4.6")
	p[controllerFile] = "/*\nCopyright, in a package of ours.\n*/\n\n" + p[controllerFile]
	p[testFile] = "/*\nCopyright, in a package of ours.\n*/\n\n" + p[testFile]
	p[typesFile] = strings.Replace(p[typesFile], "\tFoo string `json:\"foo,omitempty\"`\n", "\tHost string `json:\"host\"`\n\tReplicas *int32 `json:\"size\"`\n", 1)
	p[sampleFile] = "apiVersion: web.example.com/v1\nkind: Website\nmetadata:\n  name: mine\n"
	changes, err := scaffold.Run(p.read, website())
	require.NoError(t, err)
	require.Equal(t, []string{sampleFile + " is left alone, as it has no placeholder of kubebuilder: give the spec its fields by hand"}, changes.Kept)
	require.NotContains(t, changes.Files, sampleFile)
	require.True(t, strings.HasPrefix(changes.Files[controllerFile], "/*\nCopyright, in a package of ours.\n*/\n\npackage controller\n"))
	types := changes.Files[typesFile]
	require.Regexp(t, "\tHost +string +`json:\"host\"`\n\tReplicas +\\*int32 +`json:\"size\"`\n", types)
	require.Contains(t, types, "\n\tImage string `json:\"image\"`\n}\n")
	require.Equal(t, 1, strings.Count(types, "Replicas"))
	require.Contains(t, types, "\n\tConditions []metav1.Condition `json:\"conditions,omitempty\"`\n}\n")
}

// In a project with several groups and a role in one namespace, the names of kubebuilder stay.
func TestNamesOfTheProject(t *testing.T) {
	t.Parallel()
	p := newProject(t, "4.16")
	names := strings.NewReplacer("package controller", "package web", `Named("website")`, `Named("web-website")`,
		"example.com/website/api/v1", "example.com/website/api/web/v1",
		"groups=web.example.com,resources=websites", "groups=web.example.com,namespace=website-system,resources=web-sites")
	p["PROJECT"] += "multigroup: true\n"
	for _, name := range []string{controllerFile, testFile, typesFile} {
		p[strings.Replace(strings.Replace(name, "/website", "/web/website", 1), "api/v1", "api/web/v1", 1)] = names.Replace(p[name])
	}
	p["api/web/v1/website_types.go"] = p[typesFile]
	changes, err := scaffold.Run(p.read, website())
	require.NoError(t, err)
	controller := changes.Files["internal/controller/web/website_controller.go"]
	require.Contains(t, controller, "package web\n")
	require.Contains(t, controller, `Named("web-website").`)
	require.Contains(t, controller, `webv1 "example.com/website/api/web/v1"`)
	require.Contains(t, controller, "// +kubebuilder:rbac:groups=web.example.com,namespace=website-system,resources=web-sites/status,verbs=patch\n")
	require.Contains(t, controller, "// +kubebuilder:rbac:groups=apps,namespace=website-system,resources=deployments,verbs=")
	require.Contains(t, changes.Files, "api/web/v1/website_types.go")
	require.NotContains(t, changes.Files, controllerFile)
}

// An API without a group of its own has the domain. A comment makes no kind cluster-scoped.
func TestDomainAsGroup(t *testing.T) {
	t.Parallel()
	p := newProject(t, "4.16")
	names := strings.NewReplacer("webv1", "examplecomv1", "groups=web.example.com", "groups=example.com")
	for _, name := range []string{controllerFile, testFile} {
		p[name] = names.Replace(p[name])
	}
	p["config/samples/v1_website.yaml"] = p[sampleFile]
	p[typesFile] += "\n// Without +kubebuilder:resource:scope=Cluster, and not scope=Cluster.\n"
	options := website()
	options.Group = ""
	changes, err := scaffold.Run(p.read, options)
	require.NoError(t, err)
	require.Empty(t, changes.Kept)
	require.Contains(t, changes.Files[controllerFile], "examplecomv1.Website")
}

// What Run refuses, it leaves alone.
func TestRefuses(t *testing.T) {
	t.Parallel()
	replace := func(name, old, updated string) func(project, *scaffold.Options) {
		return func(p project, _ *scaffold.Options) { p[name] = strings.Replace(p[name], old, updated, 1) }
	}
	remove := func(name string) func(project, *scaffold.Options) {
		return func(p project, _ *scaffold.Options) { delete(p, name) }
	}
	for name, test := range map[string]struct {
		change func(project, *scaffold.Options)
		want   string
	}{
		"no project":           {remove("PROJECT"), "this is no project of kubebuilder"},
		"no repo":              {func(p project, _ *scaffold.Options) { p["PROJECT"] = "version: \"3\"\n" }, "PROJECT names no repo"},
		"no controller":        {remove(controllerFile), controllerFile + " is missing: run kubebuilder create api"},
		"another reconciler":   {func(p project, _ *scaffold.Options) { p[controllerFile] = "package controller\n" }, controllerFile + " is not as kubebuilder"},
		"an edited reconciler": {replace(controllerFile, "return ctrl.Result{}, nil", "return ctrl.Result{Requeue: true}, nil"), controllerFile + " is not as kubebuilder"},
		"another marker": {
			replace(controllerFile, "// Reconcile is", "// +kubebuilder:rbac:groups=apps,resources=jobs,verbs=get\n\n// Reconcile is"),
			controllerFile + " is not as kubebuilder",
		},
		"a comment of a person":   {replace(controllerFile, "// TODO(user): your logic here", "// TODO(user): my logic here"), controllerFile + " is not as kubebuilder"},
		"an edited test":          {replace(testFile, "test-resource", "my-resource"), testFile + " is not as kubebuilder wrote it"},
		"a field of another type": {replace(typesFile, "Foo *string", "Replicas int32"), "WebsiteSpec.Replicas has the type int32, and the operator needs *int32"},
		"a field of another name": {
			replace(typesFile, "Foo *string `json:\"foo", "Size *int32 `json:\"replicas"),
			"WebsiteSpec.Size has the JSON name replicas of the field Replicas",
		},
		"no status":               {replace(typesFile, "type WebsiteStatus struct", "type Other struct"), "there is no type WebsiteStatus"},
		"types that do not parse": {replace(typesFile, "package", "pack"), typesFile},
		"no types":                {remove(typesFile), "open " + typesFile},
		"no go.mod":               {remove("go.mod"), "open go.mod"},
		"a cluster-scoped kind":   {replace(typesFile, statusMarker, statusMarker+"\n// +kubebuilder:resource:scope=Cluster"), "a cluster-scoped Website has no namespace"},
		"a cluster scope in quotes": {
			replace(typesFile, statusMarker, statusMarker+"\n// +kubebuilder:resource:path=websites,scope=\"Cluster\""),
			"a cluster-scoped Website has no namespace",
		},
		"no status subresource": {replace(typesFile, statusMarker, "// without "+statusMarker), typesFile + " has no marker +kubebuilder:subresource:status"},
		"another group":         {func(_ project, o *scaffold.Options) { o.Group = "we" }, controllerFile + " is of web.example.com/v1"},
		"no group":              {func(_ project, o *scaffold.Options) { o.Group = "" }, controllerFile + " is of web.example.com/v1"},
		"another version":       {func(_ project, o *scaffold.Options) { o.Version = "v2" }, controllerFile + " is of web.example.com/v1"},
		"a kind of others":      {replace("PROJECT", "repo: example.com/website", "repo: example.com/other"), "example.com/website/api/v1 is not in this project"},
		"no version":            {func(_ project, o *scaffold.Options) { o.Library = "" }, "knows no version of the library"},
		"no kind":               {func(_ project, o *scaffold.Options) { o.Kind = "" }, "name the API with --group, --version and --kind"},
		"no children":           {func(_ project, o *scaffold.Options) { o.Children = nil }, "name at least one"},
		"another child":         {func(_ project, o *scaffold.Options) { o.Children = []string{"pod"} }, `"pod" is none of`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, options := newProject(t, "4.16"), website()
			test.change(p, &options)
			changes, err := scaffold.Run(p.read, options)
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "changed", "the plugin cannot say so")
			require.Empty(t, changes)
		})
	}
}

// TestOperatorsConverge runs the tests of operators with each choice of children, as kinds of one project. kubebuilder's names
// for the imports of some groups are those of other imports of the operators.
func TestOperatorsConverge(t *testing.T) {
	t.Parallel()
	all := []string{"deployment", "service", "configmap"}
	dir := t.TempDir()
	written := "package v1\n\nimport (\n\t\"encoding/json\"\n\n\t\"k8s.io/apimachinery/pkg/runtime\"\n)\n" + deepCopies
	for kind, o := range map[string]scaffold.Options{
		"Website": {Group: "web", Children: all[:1]},
		"Page":    {Group: "meta", Children: all, Finalizer: true},
		"Shop":    {Group: "apps", Children: all[:2]},
		"Front":   {Group: "core", Children: all[1:2], Finalizer: true},
		"Note":    {Group: "web", Children: all[2:]},
	} {
		o.Version, o.Kind, o.Library = "v1", kind, "v0.1.0"
		p := newProject(t, "4.16").renamed(o.Group, kind)
		changes, err := scaffold.Run(p.read, o)
		require.NoError(t, err)
		maps.Copy(p, changes.Files)
		for name, text := range p {
			path := filepath.Join(dir, filepath.FromSlash(name))
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
		written += strings.ReplaceAll(deepCopy, "KIND", kind)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "api", "v1", "zz_generated.deepcopy.go"), []byte(written), 0o644))
	useLibrary(t, dir)
	run(t, dir, "go", "test", "./...")
}

// useLibrary requires what the library of this checkout requires, and the library.
func useLibrary(t *testing.T, dir string) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	require.NoError(t, err)
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	run(t, dir, "go", "mod", "edit", "-module=example.com/website", "-require="+scaffold.Library+"@v0.1.0", "-replace="+scaffold.Library+"="+root)
}

func run(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir, command.Env = dir, append(os.Environ(), "GOWORK=off")
	printed, err := command.CombinedOutput()
	require.NoError(t, err, string(printed))
}

// What controller-gen writes, in short.
const (
	deepCopies = `
func deepCopy[T any](in *T) *T {
	text, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	out := new(T)
	if err := json.Unmarshal(text, out); err != nil {
		panic(err)
	}
	return out
}
`
	deepCopy = `
func (in *KIND) DeepCopyObject() runtime.Object     { return deepCopy(in) }
func (in *KINDList) DeepCopyObject() runtime.Object { return deepCopy(in) }
`
)
