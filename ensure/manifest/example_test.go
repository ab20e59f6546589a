package manifest_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure/manifest"
)

// The folder overrides one of the default files of the operator.
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
	folder := manifest.NewFolder(dir, defaults, scheme.Scheme).Optional()

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

// The error has the position of the mistake, and no objects are returned.
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
	if mistake, ok := errors.AsType[*manifest.Error](err); ok {
		fmt.Println(mistake.File, mistake.Line, mistake.Path)
	}
	// Output:
	// 0 config.yaml:6: data.title: YAML would not read the output of the action as one value: pipe free text through quote, with no quotes or other text around the action
	// config.yaml 6 data.title
}

// greetingManifest is the manifest of the examples below.
const greetingManifest = `apiVersion: v1
kind: ConfigMap
metadata:
  name: greeting
data:
  text: {{quote .Text}}
`

func ExampleNewRenderer() {
	files := fstest.MapFS{"greeting.yaml": {Data: []byte(greetingManifest)}} // in an operator: an embed.FS
	renderer := manifest.NewRenderer(files, scheme.Scheme)

	data := map[string]string{"Text": "hello"}
	greeting, err := manifest.Object[*corev1.ConfigMap](renderer, "greeting.yaml", "team-a", data)
	fmt.Println(greeting.Data["text"], err)

	// The next call reads a changed file.
	files["greeting.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(greetingManifest, "text:", "body:", 1))}
	greeting, err = manifest.Object[*corev1.ConfigMap](renderer, "greeting.yaml", "team-a", data)
	fmt.Println(greeting.Data["body"], err)
	// Output:
	// hello <nil>
	// hello <nil>
}

// A manifest may hold several objects, which are returned in order.
func ExampleRenderer_Objects() {
	files := fstest.MapFS{"web.yaml": {Data: []byte(`apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{.}}
---
apiVersion: v1
kind: Service
metadata:
  name: {{.}}
spec:
  ports:
  - port: 80
`)}}
	renderer := manifest.NewRenderer(files, scheme.Scheme)

	objects, err := renderer.Objects("web.yaml", "team-a", "web", &corev1.ServiceAccount{}, &corev1.Service{})
	for _, object := range objects {
		fmt.Printf("%T %s/%s\n", object, object.GetNamespace(), object.GetName())
	}
	fmt.Println(err)

	objects, err = renderer.Objects("web.yaml", "team-a", "web", &corev1.Service{}) // no ServiceAccount is allowed
	fmt.Println(len(objects), err)
	// Output:
	// *v1.ServiceAccount team-a/web
	// *v1.Service team-a/web
	// <nil>
	// 0 web.yaml:2: kind: is not one of the expected kinds: v1 Service
}

// The text decides a value of the object, and nothing else.
func ExampleObject() {
	files := fstest.MapFS{"greeting.yaml": {Data: []byte(greetingManifest)}}
	renderer := manifest.NewRenderer(files, scheme.Scheme)

	data := map[string]string{"Text": "hello\n---\nkind: Pod"}
	greeting, err := manifest.Object[*corev1.ConfigMap](renderer, "greeting.yaml", "team-a", data)
	fmt.Printf("%s %q %v\n", greeting.Name, greeting.Data["text"], err)

	_, err = manifest.Object[*corev1.Secret](renderer, "greeting.yaml", "team-a", data)
	fmt.Println(err)
	// Output:
	// greeting "hello\n---\nkind: Pod" <nil>
	// greeting.yaml:2: kind: is not one of the expected kinds: v1 Secret
}

// A file of the upper file system hides the file of the same name in the lower one.
func ExampleOverlay() {
	lower := fstest.MapFS{"a.yaml": {Data: []byte("lower a")}, "b.yaml": {Data: []byte("lower b")}}
	upper := fstest.MapFS{"b.yaml": {Data: []byte("upper b")}} // in an operator: os.DirFS of a folder

	files := manifest.Overlay(upper, lower)
	for _, name := range []string{"a.yaml", "b.yaml"} {
		text, err := fs.ReadFile(files, name)
		fmt.Println(name, string(text), err)
	}
	// Output:
	// a.yaml lower a <nil>
	// b.yaml upper b <nil>
}

// Without a folder, the defaults are used.
func ExampleNewFolder() {
	defaults := fstest.MapFS{"greeting.yaml": {Data: []byte(greetingManifest)}} // in an operator: an embed.FS
	folder := manifest.NewFolder("", defaults, scheme.Scheme)

	data := map[string]string{"Text": "hello"}
	greeting, err := manifest.Object[*corev1.ConfigMap](folder.Renderer(), "greeting.yaml", "team-a", data)
	fmt.Println(greeting.Data["text"], err)
	// Output: hello <nil>
}

// The children of an earlier process may have names from a folder that is missing now. So an operator does
// not start without the folder, unless somebody says that it is optional.
func ExampleFolder_Err() {
	defaults := fstest.MapFS{"greeting.yaml": {Data: []byte(greetingManifest)}}
	folder := manifest.NewFolder("/no/such/folder", defaults, scheme.Scheme)
	fmt.Println(folder.Err())
	_, err := manifest.Object[*corev1.ConfigMap](folder.Renderer(), "greeting.yaml", "team-a", nil)
	fmt.Println(err)
	// Output:
	// the folder: does not exist
	// the folder: does not exist
}

// An optional folder may be missing: the defaults are used until it has files.
func ExampleFolder_Optional() {
	defaults := fstest.MapFS{"greeting.yaml": {Data: []byte(greetingManifest)}}
	folder := manifest.NewFolder("/no/such/folder", defaults, scheme.Scheme).Optional()

	data := map[string]string{"Text": "hello"}
	greeting, err := manifest.Object[*corev1.ConfigMap](folder.Renderer(), "greeting.yaml", "team-a", data)
	fmt.Println(greeting.Name, err, folder.Err())
	// Output: greeting <nil> <nil>
}

// A file that overrides nothing is an error of every manifest. Children stay as they are until somebody
// corrects the name.
func ExampleFolder_Renderer() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a folder for temporary files
	fmt.Println(os.WriteFile(filepath.Join(dir, "greting.yaml"), []byte(greetingManifest), 0o600))
	defaults := fstest.MapFS{"greeting.yaml": {Data: []byte(greetingManifest)}}
	folder := manifest.NewFolder(dir, defaults, scheme.Scheme)

	renderer := folder.Renderer() // once in each reconcile
	data := map[string]string{"Text": "hello"}
	_, err = manifest.Object[*corev1.ConfigMap](renderer, "greeting.yaml", "team-a", data)
	fmt.Println(err)
	// Output:
	// <nil>
	// greting.yaml: overrides nothing: there are greeting.yaml, and *.tpl of any name
}

// A controller starts the source, which is an argument of WatchesRawSource, with a queue. After a change of the
// folder, the source puts every Service into that queue.
func ExampleFolder_Source() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a folder for temporary files
	folder := manifest.NewFolder(dir, fstest.MapFS{"greeting.yaml": {Data: []byte(greetingManifest)}}, scheme.Scheme).Optional()

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	reader := fake.NewFakeClient(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "web"}}) // a manager's cache
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	fmt.Println(folder.Source(reader, &corev1.ServiceList{}).Start(ctx, queue))

	overriding := strings.Replace(greetingManifest, "name: greeting", "name: acme-greeting", 1)
	fmt.Println(os.WriteFile(filepath.Join(dir, "greeting.yaml"), []byte(overriding), 0o600))
	request, _ := queue.Get() // waits for the source
	data := map[string]string{"Text": "hello"}
	greeting, err := manifest.Object[*corev1.ConfigMap](folder.Renderer(), "greeting.yaml", "team-a", data)
	fmt.Println(request, greeting.Name, err)
	// Output:
	// <nil>
	// <nil>
	// team-a/web acme-greeting <nil>
}
