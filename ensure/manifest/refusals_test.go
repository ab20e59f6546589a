package manifest_test

import (
	"errors"
	"iter"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/trueup-go/trueup/ensure/manifest"
)

const service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n"

// Every mistake names the line in the file as it is written, whatever actions came before.
func TestBrokenManifests(t *testing.T) {
	data := map[string]any{
		"Name": "web", "Nil": nil, "List": []string{"a"}, "Func": func() string { return "x" }, "Inf": math.Inf(1),
	}
	const before = "{{- /* three\nlines\nbefore */ -}}\n{{range .List}}{{end}}" // so that lines of text and file differ
	for _, c := range []struct {
		name, manifest string
		line           int
		path, problem  string
	}{
		{"action not closed", service + "spec: {{.Name", 5, "", "unclosed action"},
		{"end without if", service + "{{end}}", 5, "", "unexpected {{end}}"},
		{"unknown function", service + "spec: {{toYaml .Name}}", 5, "", `function "toYaml" not defined`},
		{"unknown key", service + "spec:\n  clusterIP: {{.Title}}", 6, "", `map has no entry for key "Title"`},
		{"field of a scalar", service + "spec:\n  clusterIP: {{.Name.First}}", 6, "", "can't evaluate field First in type interface {}"},
		{"unknown definition", service + "spec: {{template \"nothing\"}}", 5, "", `template "nothing" not defined`},
		{"missing value", service + "spec:\n  clusterIP: {{.Nil}}", 6, "", "yields no value"},
		{"missing value, quoted", service + "spec:\n  clusterIP: {{quote .Nil}}", 6, "", "yields no value"},
		{"list", service + "spec:\n  externalIPs: {{.List}}", 6, "", "yields a []string, but must yield a string, a number or a boolean"},
		{"function", service + "spec:\n  clusterIP: {{.Func}}", 6, "", "yields a func() string, which cannot be encoded as JSON"},
		{"no JSON", service + "spec:\n  clusterIP: {{.Inf}}", 6, "", "yields a float64, which cannot be encoded as JSON"},
		{"recursion", `{{define "x"}}{{template "x"}}{{end}}` + service + `{{template "x"}}`, 1, "", "exceeded maximum template depth"},
		{"no YAML", service + "spec:\n  a: b\n c: d\n", 7, "", "is not valid YAML: did not find expected key"},
		{"no YAML in a value", service + "spec:\n  a: }\n", 6, "", "is not valid YAML: did not find expected node content"},
		{"list in an object", service + "spec:\n  a: b\n  - c\n", 6, "", "is not valid YAML: did not find expected key"}, // where the object begins
		{"more after quotes", service + "spec:\n  a: 'b' c\n", 6, "", "is not valid YAML: did not find expected key"},
		{"list without an end", service + "spec:\n  a: [b\n  c: d\n", 6, "", "is not valid YAML: did not find expected ',' or ']'"},
		{"text without an end", service + "spec:\n  a: \"b\n  c: d\n", 6, "", "is not valid YAML: found unexpected end of stream"},
		{"directive", service + "---\n%YAML 2.0\n---\n", 6, "", "is not valid YAML: "},
		{"alias of nothing", service + "spec:\n  type: *x\n", 6, "", "anchors, aliases and tags"},
		{"after lines that only YAML counts", service + "# \r#\u0085#\u2028#\u2029#\nsepc: {}\n", 6, "sepc", "is not a field of this kind"},
		{"tab", service + "spec:\n\ta: b\n", 6, "", "is not valid YAML: "},
		{"tab among others", service + "spec:\n  a: b\n\tc: d\n", 7, "", "is not valid YAML: found a tab character"},
		{"no object", "- a\n- b\n", 1, "", "a document is an object"},
		{"only text", "text", 1, "", "a document is an object"},
		{"no kind", "apiVersion: v1\nmetadata:\n  name: web\n", 1, "kind", "is not one of the expected kinds"},
		{"kind of another group", "apiVersion: x/v1\nkind: Service\n", 2, "kind", "is not one of the expected kinds"},
		{"kind from an action", "apiVersion: v1\nkind: {{.Name}}\n", 2, "kind", "must not come from an action"},
		{"apiVersion from an action", "apiVersion: {{.Name}}\nkind: Service\n", 1, "apiVersion", "must not come from an action"},
		{"key from an action", service + "spec:\n  selector:\n    {{.Name}}: x\n", 7, "spec.selector", "a key must not come from an action"},
		{"part of a key", service + "spec:\n  selector: {a{{.Name}}: x}\n", 6, "spec.selector", "a key must not come from an action"},
		{"key twice", service + "spec:\n  type: A\n  clusterIP: B\n  type: A\n", 8, "spec.type", "is a duplicate key"},
		{"number for a key", service + "spec:\n  selector:\n    1: x\n", 7, "spec.selector.1", "does not read this key as a string"},
		{"old word for a key", service + "spec:\n  selector:\n    y: x\n", 7, "spec.selector.y", "does not read this key as a string"},
		{"merge key", service + "spec:\n  <<: {type: A}\n", 6, "spec[<<]", "does not read this key as a string"},
		{"list for a key", service + "spec:\n  ? [a]\n  : b\n", 6, "spec", "a key must be a plain scalar"},
		{"anchor", service + "spec: &x\n  type: A\n", 5, "spec", "anchors, aliases and tags"},
		{"alias", service + "spec:\n  selector: &x {}\n  type: *x\n", 6, "spec.selector", "anchors, aliases and tags"},
		{"tag", service + "spec:\n  type: !!str A\n", 6, "spec.type", "anchors, aliases and tags"},
		{"old boolean", service + "spec:\n  publishNotReadyAddresses: yes\n", 6, "spec.publishNotReadyAddresses", "differently"},
		{"no number", service + "spec:\n  healthCheckNodePort: .nan\n", 6, "spec.healthCheckNodePort", "JSON has no such value"},
		{"unknown field", service + "spec:\n  clusterip: x\n", 6, "spec.clusterip", "is not a field of this kind"},
		{"unknown field at the top", service + "sepc: {}\n", 5, "sepc", "is not a field of this kind"},
		{"unknown field in a list", service + "spec:\n  ports:\n  - port: 80\n  - port: 81\n    Port: 1\n", 9, "spec.ports[1].Port", "is not a field of this kind"},
		{"second of two mistakes", service + "spec:\n  clusterip: x\n  ports: 1\n", 6, "spec.clusterip", "is not a field of this kind"},
		{"text for a number", service + "spec:\n  ports:\n  - port: \"80\"\n", 7, "spec.ports[0].port", "is of type string, but must be of type int32"},
		{"number for text", service + "  labels:\n    version: 1.0\n", 6, "metadata.labels.version", "is of type number, but must be of type string"},
		{"key with a dot", service + "  labels:\n    a.b/c: 1.0\n", 6, "metadata.labels[a.b/c]", "is of type number, but must be of type string"},
		{"key of two lines", service + "  labels:\n    \"a\\nb\": 1.0\n", 6, `metadata.labels[a\nb]`, "is of type number, but must be of type string"},
		{"object for a list", service + "spec:\n  ports:\n    port: 80\n", 6, "spec.ports", "is of type object, but must be of type []v1.ServicePort"},
		{"too large for its type", service + "spec:\n  ports:\n  - port: 80000000000\n", 7, "spec.ports[0].port", "is of type number, but must be of type int32"},
		{"no date", service + "  creationTimestamp: tomorrow\n", 5, "metadata.creationTimestamp", "is not a value of its type"},
		{"function of our own", service + "spec:\n  clusterIP: {{_yield 1000 2}}", 6, "", "calls a function that is reserved for this package"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for lines, manifest := range map[int]string{0: c.manifest, 3: before + c.manifest} {
				found := fault(t, manifest, data)
				require.Equal(t, "manifest.yaml", found.File)
				require.Contains(t, found.Problem, c.problem)
				require.Equal(t, c.path, found.Path)
				require.Equal(t, c.line+lines, found.Line, found.Error())
				require.NotContains(t, found.Error(), "\n")
			}
		})
	}
}

func TestDefinitionsAreThereOnce(t *testing.T) {
	renderer := manifest.NewRenderer(folder(map[string]string{
		".a.tpl":        `{{define "name"}}hidden{{end}}`,
		"folder.tpl/a":  `{{define "name"}}deeper{{end}}`,
		"a.tpl":         `{{define "name"}}a{{end}}`,
		"b.tpl":         "\n\n" + `{{define "name"}}b{{end}}`,
		"manifest.yaml": configMap,
	}), scheme.Scheme)
	_, err := renderer.Objects("manifest.yaml", "team-a", nil)
	require.EqualError(t, err, `b.tpl: defines "name", which a.tpl also defines`)
}

// What is wrong in a shared file is told of that file.
func TestFaultsOfSharedFiles(t *testing.T) {
	for shared, want := range map[string]string{
		"\n{{define":                               "names.tpl:2: ",
		"\n{{define \"name\"}}{{end":               "names.tpl:2: ",
		"\n{{define \"name\"}}{{.X}}{{end}}":       `names.tpl:2: map has no entry for key "X"`,
		"\n{{define \"name\"}}\n    {{.Y}}{{end}}": "names.tpl:3: data.key: YAML would not read the output of the action",
		"{{define \"name\"}}\n    @x{{end}}":       "names.tpl:2: is not valid YAML",
	} {
		renderer := manifest.NewRenderer(folder(map[string]string{
			"names.tpl": shared, "manifest.yaml": configMap + "  key: {{template \"name\" .}}\n",
		}), scheme.Scheme)
		_, err := renderer.Objects("manifest.yaml", "team-a", map[string]string{"Y": "a: b"})
		require.ErrorContains(t, err, want)
	}
}

func TestTooLarge(t *testing.T) {
	require.Equal(t, "yields more than 3 MiB",
		fault(t, configMap+"  key: {{.}}\n", strings.Repeat("a", 3<<20)).Problem)
	require.Contains(t, fault(t, configMap+"  key: |\n{{range .}}    "+strings.Repeat("a", 1<<10)+"\n{{end}}", 3<<10).Problem,
		"yields more than 3 MiB")
}

// No number makes a manifest go on for hours, not even where nothing comes of it.
func TestTooLong(t *testing.T) {
	for name, manifest := range map[string]string{
		"empty":         configMap + "  key: a\n{{range .}}{{end}}\n",
		"never true":    configMap + "  key: a\n{{range .}}{{if false}}x{{end}}{{end}}\n",
		"in each other": configMap + "  key: a\n{{range $i := .}}{{range 1000}}{{end}}{{end}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && name != "never true" {
				t.Skip("counting to a million takes seconds")
			}
			require.Equal(t, "manifest.yaml:7: ranges over more than 1,000,000 items", fault(t, manifest, 1<<40).Error())
		})
	}
	if testing.Short() {
		return
	}
	_, err := render(configMap+"  key: a\n{{range .}}{{end}}\n", 1_000_000)
	require.NoError(t, err)
}

// A manifest may hold secrets, too, and an error ends up in conditions and logs.
func TestErrorsQuoteNoValue(t *testing.T) {
	const secret = "hunter2" // ten characters are what text/template shows of a word
	data := map[string]any{
		"Secret": secret, "Map": map[string]string{"a": secret}, "List": []string{secret}, "Number": 424242,
		"Struct": struct{ Field string }{secret}, "Panics": panics{secret}, "Fails": func() (string, error) { return "", errors.New(secret) },
		"Sequence": iter.Seq[string](func(func(string) bool) { panic(secret) }),
	}
	for _, manifest := range []string{
		configMap + "  key: {{index .Map \"hunter2\" \"hunter2\"}}\n",
		configMap + "  key: {{\"hunter2\" \"hunter2\"}}\n",
		configMap + "  key: {{`hunter2` .Map}}\n",
		configMap + "  key: {{printf \"hunter2\" \"hunter2}}\n",
		configMap + "  key: {{.Map \"hunter2\"}}\n",
		configMap + "  key: {{eq .Secret .Map}}\n",
		configMap + "  key: {{slice .Secret 9}}\n",
		configMap + "{{if .Map}}{{end \"hunter2\"}}",
		configMap + "{{if .Map}}{{end \"hunter2 and more\"}}",
		configMap + "{{if .Map}}{{end \"\\\"hunter2\"}}",
		configMap + "{{if .Map}}{{end `hunter2`}}",
		configMap + "{{if .Map}}{{end `\\hunter2`}}",
		configMap + "{{\"hunter2\".Field}}",
		configMap + "{{'hunter2'}}",
		configMap + "{{range .Secret}}{{end}}",
		configMap + "{{range .Struct}}{{end}}",
		configMap + "{{range .Sequence}}{{end}}",
		configMap + "{{if eq .List .List}}{{end}}",
		configMap + "{{if eq .Map .Map}}{{end}}",
		configMap + "{{if lt .Secret 3}}{{end}}",
		configMap + "  key: {{index .List .Number}}\n",
		configMap + "  key: {{index .List .Secret}}\n",
		configMap + "  key: {{call .Fails}}\n",
		configMap + "  key: {{.Panics}}\n",
		configMap + "  key: {{quote .Panics}}\n",
		configMap + "  key: {{.Panics.Method}}\n",
		configMap + "  key: {{\"a>: hunter2\" 3}}\n",
		configMap + "  key: {{len 3 .Secret}}\n",
		configMap + "  key: {{.Secret}}: {{.Secret}}\n",
		configMap + "  key: *hunter2\n",
		configMap + "  key: !hunter2 x\n",
		configMap + "  key: hunter2: x\n",
		configMap + "  key: 'hunter2\n",
		configMap + "  key: [hunter2\n",
		configMap + "  key: [hunter2]\n",
		configMap + "  key: {a: {{.Secret}}}\n",
		service + "  creationTimestamp: hunter2\n",
		service + "  creationTimestamp: {{.Secret}}\n",
		service + "  namespace: {{.Secret}}\n",
		service + "spec:\n  ports: {{.Secret}}\n",
		service + "spec:\n  ports: [{port: hunter2}]\n",
		service + "spec: hunter2\n",
		"apiVersion: v1\nkind: hunter2\n",
		"hunter2",
	} {
		found := fault(t, manifest, data)
		require.NotContains(t, found.Error(), secret, manifest)
		require.NotContains(t, found.Error(), "424242", manifest)
		require.NotZero(t, found.Line, manifest)
	}
}

type panics struct{ secret string }

func (p panics) MarshalJSON() ([]byte, error) { panic(p.secret) }

func (p panics) Method() string { panic(p.secret) }

// What is wrong with a manifest and its data is told, where it tells no value.
func TestProblemsOfExecution(t *testing.T) {
	data := map[string]any{"Name": "web", "List": []string{"a"}, "Nil": (*struct{ Field string })(nil)}
	for manifest, problem := range map[string]string{
		"{{range .Name}}{{end}}":        "range can't iterate over",
		"{{.Nil.Field}}":                "nil pointer evaluating interface {}.Field",
		"{{index .List 9}}":             "error calling index: index out of range",
		"{{index .Name \"a\" \"b\"}}":   "error calling index: cannot index slice/array with type string",
		"{{len 3}}":                     "error calling len: len of type int",
		"{{eq .List .List}}":            "error calling eq: non-comparable type",
		"{{lt .Name 1}}":                "error calling lt: incompatible types for comparison",
		"{{quote .Name .Name}}":         "wrong number of args for quote: want 1 got 2",
		"{{\"a\" 1}}":                   "can't give argument to non-function",
		"{{template \"x\"}}":            `template "x" not defined`,
		"{{define \"y\"}}{{end}}{{.Z}}": `map has no entry for key "Z"`,
		"{{slice .Name 9}}":             "error calling slice: index out of range",
		"{{call .Name}}":                "cannot be executed with this data",
	} {
		require.Equal(t, problem, fault(t, configMap+"  key: "+manifest, data).Problem, manifest)
	}
}
