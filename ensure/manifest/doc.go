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
// Do not add quotes or other text around an action with quote. Numbers and booleans need no quote.
// [manifest.md] has all rules for values, and lists the mistakes in a manifest that are errors.
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
// The folder is often a mounted ConfigMap. A Renderer of NewRenderer reads its files at each call, and
// a change triggers no reconcile.
//
// A folder without files is ignored, unless it has the entry ..data of a volume: the last good snapshot stays in
// use, and Folder.Err says why. So no child is pruned because a volume is unmounted while the operator runs. Do
// not start the operator while Err returns an error, and report Err in each reconcile. [manifest.md] has the details.
//
// # Names and labels
//
// The manifest decides names and labels. So code that selects by names or labels has to read them
// from the rendered object. If a name changes, the object with the old name stays, unless
// ensure.Set prunes it.
//
// [manifest.md]: https://github.com/trueup-go/trueup/blob/main/docs/manifest.md
package manifest
