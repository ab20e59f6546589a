// Package manifest renders objects from manifests in files. The people who run an operator can change
// labels, names or resources of its children without a rebuild:
//
//	//go:embed *.yaml *.tpl
//	var defaults embed.FS
//
//	folder := manifest.NewFolder(dir, defaults, scheme) // once; dir is the value of a flag
//	if err := folder.Err(); err != nil {
//		return err // the folder is missing, for example
//	}
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
// # A folder that goes away
//
// The names of children may be in the folder, so the built-in manifests must not take its place when a volume
// is unmounted: ensure.Set would prune the children. The rule: a folder without files says nothing, unless it
// has the entry ..data of a volume, so the last good snapshot stays in use; without one, it is an error. A
// reconcile reports that:
//
//	results, err := ensure.Set(...) // of children from the last good snapshot
//	if problem := folder.Err(); problem != nil {
//		... // the same condition as for a mistake in a manifest
//	}
//
// With the volume of a ConfigMap that is empty, or optional and missing, the built-in manifests are used. To use
// them without a volume, leave out dir, or call Optional.
//
// A volume is updated in one step. Elsewhere, a program that pauses for more than 100 ms while it writes has
// to write another file and rename it.
//
// # Names and labels
//
// The manifest decides names and labels. So code that selects by names or labels has to read them
// from the rendered object. If a name changes, the object with the old name stays, unless
// ensure.Set prunes it.
//
// [manifest.md]: https://github.com/trueup-go/trueup/blob/main/docs/manifest.md
package manifest
