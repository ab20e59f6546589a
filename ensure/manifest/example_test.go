package manifest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/trueup-go/trueup/ensure/manifest"
)

// The defaults of an operator, which often are embedded, and a folder with another version
// of one of them.
func Example() {
	defaults := fstest.MapFS{
		"names.tpl": {Data: []byte(`{{define "name"}}{{.Name}}-greeting{{end}}`)},
		"greeting.yaml": {Data: []byte(`apiVersion: v1
kind: ConfigMap
metadata:
  name: {{template "name" .}}
data:
  greeting: {{printf "Hello, %s" .Title | quote}}
`)},
	}
	folder := fstest.MapFS{
		"names.tpl": {Data: []byte(`{{define "name"}}acme-{{.Name}}{{end}}`)},
	}
	renderer := manifest.NewRenderer(manifest.Overlay(folder, defaults), scheme.Scheme)

	greeting, err := manifest.Object[*corev1.ConfigMap](renderer, "greeting.yaml", "team-a", map[string]string{
		"Name": "web", "Title": "\"you\"\n---\nkind: Pod",
	})
	fmt.Println(greeting.Namespace, greeting.Name, err)
	fmt.Printf("%q\n", greeting.Data)
	// Output:
	// team-a acme-web <nil>
	// map["greeting":"Hello, \"you\"\n---\nkind: Pod"]
}

// A file in the folder overrides the default of the same name. In an operator, the defaults are often
// embedded, and the folder is the value of a flag.
func ExampleFolder() {
	defaults := fstest.MapFS{
		"names.tpl":   {Data: []byte(`{{define "name"}}{{.}}-config{{end}}`)},
		"config.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{template \"name\" .}}\n")},
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a folder for temporary files
	folder := manifest.NewFolder(dir, defaults, scheme.Scheme)

	config, err := manifest.Object[*corev1.ConfigMap](folder.Renderer(), "config.yaml", "team-a", "web")
	fmt.Println(config.Name, err)

	// Without a controller that watches folder.Source, only a new Folder reads the file.
	err = os.WriteFile(filepath.Join(dir, "names.tpl"), []byte(`{{define "name"}}acme-{{.}}{{end}}`), 0o600)
	fmt.Println(err)
	folder = manifest.NewFolder(dir, defaults, scheme.Scheme)
	config, err = manifest.Object[*corev1.ConfigMap](folder.Renderer(), "config.yaml", "team-a", "web")
	fmt.Println(config.Name, err)
	// Output:
	// web-config <nil>
	// <nil>
	// acme-web <nil>
}

// What is wrong has a place; nothing comes out.
func ExampleError() {
	files := fstest.MapFS{"config.yaml": {Data: []byte(`apiVersion: v1
kind: ConfigMap
metadata:
  name: {{.Name}}
data:
  title: {{.Title}}
`)}}
	renderer := manifest.NewRenderer(files, scheme.Scheme)

	objects, err := renderer.Objects("config.yaml", "team-a",
		map[string]string{"Name": "web", "Title": "x\n---\nkind: Pod"}, &corev1.ConfigMap{})
	fmt.Println(len(objects), err)
	// Output:
	// 0 config.yaml:6: data.title: YAML would not read the output of the action as one value: pipe free text through quote, with no quotes or other text around the action
}
