// Package manifest makes objects from manifests in files, so that whoever runs an operator
// changes labels, names or resources of its children without a rebuild:
//
//	//go:embed templates
//	var embedded embed.FS
//
//	defaults, _ := fs.Sub(embedded, "templates")
//	if folder != "" { // of a flag
//		defaults = manifest.Overlay(os.DirFS(folder), defaults)
//	}
//	renderer := manifest.NewRenderer(defaults, scheme) // once
//
//	deployment, err := manifest.Object[*appsv1.Deployment](renderer, "deployment.yaml", app.Namespace, data)
//	if err != nil {
//		return ctrl.Result{}, r.reject(ctx, app, err) // a condition; children stay as they are
//	}
//	res, err := ensure.Object(ctx, r.ensure, deployment, ensure.ControlledBy(app))
//
// A manifest is YAML with the actions of text/template:
//
//	apiVersion: apps/v1
//	kind: Deployment
//	metadata:
//	  name: {{template "name" .}}
//	  annotations:
//	    title: {{quote .Title}}
//	spec:
//	  replicas: {{.Replicas}}
//
// Files ending in .tpl at the top of the file system, hidden ones excepted, hold definitions
// that all manifests may use, such as that of "name". Two files must not define the same.
//
// # What data cannot do
//
// Data often comes from people who may create the owner and nothing else, while what
// is made is made with the operator's rights. So structure is the manifest's alone: no value
// adds, removes or moves a document, a key, an item or a kind. What an action yields is one
// scalar, and has to be read as that scalar where it stands: a title of
//
//	x
//	---
//	kind: Pod
//
// is an error that names file, line and path, and so is one of "yes", "1.0" or nothing at
// all, which YAML would not read as text. Text that may be anything goes through quote, which
// makes a double-quoted scalar of it, whatever it holds:
//
//	title: {{quote .Title}}
//	greeting: {{printf "Hello, %s" .Title | quote}}
//
// No quotes and no other text belong around that. Without quote other text may: --port={{.Port}}.
// Numbers and booleans need no quote. What a value is goes by its JSON: a resource.Quantity is
// text, an intstr.IntOrString what it holds, a list or an object is an error. So is an action
// in a key, or in the apiVersion or kind of a document. What may be missing from a map of texts
// is read with index, which makes the empty one of it: {{quote (index .Labels "team")}}.
//
// Which parts there are may depend on data, where the manifest says so with if, with and
// range: over up to 1,000,000 items in all, so that a large number in the data keeps nobody
// busy for long.
//
// # When files change
//
// Files are read at each call, so that a pass makes what they say then. Nobody is told of a
// change: the operator's own clock or a source that watches the folder wakes its objects, see
// examples/internal/operator/templates_source.go, which also takes up a folder as a whole,
// once it has come to rest, and refuses files that override nothing.
//
// # What is refused
//
// What the caller has not asked for: other kinds, and another namespace. What would
// be lost: an unknown field, a value of a wrong type, a duplicate key, a
// missing key of a map, a nil. What is easily misread: words that YAML 1.1 and 1.2 read
// differently (yes, no, on, off), keys that are no text, anchors, aliases and tags. And more
// than 3 MiB, which no API server takes.
//
// # Where it is used
//
// Names and labels are the manifest's, so that what selects by them has to look at the
// object that came out, and a name that changes leaves the object of the old name
// behind, unless ensure.Set prunes it.
package manifest
