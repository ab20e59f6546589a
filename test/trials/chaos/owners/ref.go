package owners

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Ref names an object.
type Ref struct{ Kind, Namespace, Name string }

func (r Ref) String() string { return fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name) }

// RefTo returns the name of a child in a namespace.
func RefTo(want Manifest, namespace string) Ref {
	return Ref{Kind: Text(want, "kind"), Namespace: namespace, Name: Text(want, "metadata", "name")}
}

// Claim is the kind of claims, which may outlive their owners.
const Claim = "PersistentVolumeClaim"

// Kinds lists the kinds of owners and children, and of the objects that Kubernetes creates for them.
var Kinds = map[string]schema.GroupVersionKind{
	"ConfigMap":       {Version: "v1", Kind: "ConfigMap"},
	"Secret":          {Version: "v1", Kind: "Secret"},
	"Service":         {Version: "v1", Kind: "Service"},
	"Pod":             {Version: "v1", Kind: "Pod"},
	"Deployment":      {Group: "apps", Version: "v1", Kind: "Deployment"},
	"ReplicaSet":      {Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	"StatefulSet":     {Group: "apps", Version: "v1", Kind: "StatefulSet"},
	"Ingress":         {Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
	Claim:             {Version: "v1", Kind: Claim},
	"Application":     {Group: "application.sample.ibm.com", Version: "v1alpha1", Kind: "Application"},
	"ReverseWordsApp": {Group: "apps.linuxera.org", Version: "v1alpha1", Kind: "ReverseWordsApp"},
	"Site":            {Group: "web.example.com", Version: "v1", Kind: "Site"},
	"BookStore":       {Group: "blog.velotio.com", Version: "v1alpha1", Kind: "BookStore"},
	"PostgresWriter":  {Group: "demo.yash.com", Version: "v1", Kind: "PostgresWriter"},
}

// Resource returns the name of a kind in requests.
func Resource(kind string) string {
	if kind == "Ingress" {
		return "ingresses"
	}
	return strings.ToLower(kind) + "s"
}

// Object returns an empty object of this kind and name.
func (r Ref) Object() *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(Kinds[r.Kind])
	obj.SetNamespace(r.Namespace)
	obj.SetName(r.Name)
	return obj
}

// kindOf returns the kind of an owner, which its Go type is named after.
func kindOf(owner client.Object) string { return reflect.TypeOf(owner).Elem().Name() }
