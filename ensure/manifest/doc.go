// Package manifest renders objects from manifests in files. The people who run an operator can change
// labels, names or resources of its children without a rebuild:
//
//	//go:embed *.yaml *.tpl
//	var defaults embed.FS
//
//	folder := manifest.NewFolder(dir, defaults, scheme) // once; dir is the value of a flag
//
//	renderer := folder.Renderer() // in each reconcile
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
// All manifests may use the definitions, such as "name", of files that end in .tpl at the top of
// the file system, except for hidden files. Two files must not define the same name.
//
// # Values cannot change the structure
//
// Data often comes from people who may create only the owner. The children, however, are created
// with the permissions of the operator. So only the manifest decides the structure: no value adds,
// removes or moves a document, a key, an item or a kind. The result of an action must be one
// scalar, and YAML must read it as that scalar in its place. A title of
//
//	x
//	---
//	kind: Pod
//
// is an error that names file, line and path. A title of "yes" or "1.0" and an empty title are
// errors, too: YAML would not read them as text. The function quote turns any text into a
// double-quoted scalar:
//
//	title: {{quote .Title}}
//	greeting: {{printf "Hello, %s" .Title | quote}}
//
// Do not add quotes or other text around an action with quote. An action without quote may have
// text around it: --port={{.Port}}. Numbers and booleans need no quote. The JSON form of a value
// decides its type: a resource.Quantity is text, an intstr.IntOrString is a number or text, and a
// list or an object is an error. An action in a key, or in the apiVersion or kind of a document, is
// an error, too. The function index returns an empty text for a key that a map of strings lacks:
// {{quote (index .Labels "team")}}.
//
// Parts of a manifest can depend on data by if, with and range. All ranges of a manifest together
// run over at most 1,000,000 items, so that a large number in the data cannot keep the operator
// busy.
//
// # Changes of files
//
// A changed file has to trigger a reconcile of the objects. Pass the source of the Folder to the
// controller:
//
//	ctrl.NewControllerManagedBy(mgr).
//		For(&v1.Website{}).
//		WatchesRawSource(folder.Source(mgr.GetCache(), &v1.WebsiteList{})).
//		Complete(r)
//
// The source reads the folder as a whole once the folder stops changing, and enqueues every Website.
// A file that overrides nothing, such as one with a mistyped name, is an error of every manifest. The
// folder is often a mounted ConfigMap.
//
// NewRenderer renders the files of any file system, and reads them at each call, so each reconcile
// uses their current content. A change triggers no reconcile.
//
// # Errors
//
// These are errors:
//
//   - an object of another kind or in another namespace than requested;
//   - everything that would be lost: an unknown field, a value of a wrong type, a duplicate key, a
//     missing key of a map, and nil;
//   - everything that is easily misread: words that YAML 1.1 and 1.2 read differently (yes, no, on,
//     off), keys that are not text, anchors, aliases and tags;
//   - a manifest of more than 3 MiB, the limit of the API server.
//
// # Names and labels
//
// The manifest decides names and labels. So code that selects by names or labels has to read them
// from the rendered object. If a name changes, the object with the old name stays, unless
// ensure.Set prunes it.
package manifest
