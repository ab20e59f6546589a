// Package kinds knows what ensuring an object takes to know about its Go type and its kind.
package kinds

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// A Kind holds the facts about a kind, or about its Go type.
type Kind struct {
	GVK        schema.GroupVersionKind
	Name       string // of GVK
	APIVersion string // of GVK
	Scope      Scope
	// IsSensitive means that messages and values of the objects are not shown.
	IsSensitive bool

	status    int         // index of the field that JSON calls status, or -1
	isManaged atomic.Bool // a copy came with managed fields: the cache does not strip them
	fields    atomic.Pointer[func(fieldpath.Path) bool]
}

// None is the kind of an object whose kind is not known.
var None = &Kind{IsSensitive: true}

// A Scope says whether objects of a kind are namespaced. The scope is unknown as long as the RESTMapper
// does not know the kind: its CRD is not installed yet, or, with the fake client, always.
type Scope int

// The scopes.
const (
	Unknown Scope = iota
	Namespaced
	ClusterScoped
)

// A Registry finds out the kinds of objects, once for each Go type, as scheme and RESTMapper are slow to ask. It is safe for
// concurrent use.
type Registry struct {
	Client    client.Client
	Sensitive []schema.GroupKind // beside Secret

	kinds    sync.Map // reflect.Type or schema.GroupVersionKind to *Kind
	readable sync.Map // the reflect.Types that IsReadable has looked at and found good
}

// A NoKindError says that nothing tells the kind of an object.
type NoKindError struct{ error }

// Unwrap returns the error of the scheme.
func (e *NoKindError) Unwrap() error { return e.error }

// Of returns the kind of obj. A kind with an error is what is known of it. The error is a *NoKindError, or the RESTMapper's.
func (r *Registry) Of(obj client.Object) (*Kind, error) {
	id := idOf(obj)
	if known, ok := r.kinds.Load(id); ok {
		if k, ok := known.(*Kind); ok {
			return k, nil
		}
	}
	k, err := r.discover(obj)
	if err == nil && k.Scope != Unknown {
		r.kinds.Store(id, k)
	}
	return k, err
}

// idOf returns the key under which a kind is remembered.
func idOf(obj client.Object) any {
	if IsDynamic(obj) {
		return obj.GetObjectKind().GroupVersionKind()
	}
	return reflect.TypeOf(obj)
}

func (r *Registry) discover(obj client.Object) (*Kind, error) {
	k := &Kind{status: -1, IsSensitive: true}
	var err error
	if k.GVK, err = r.Client.GroupVersionKindFor(obj); err != nil {
		return k, &NoKindError{err}
	}
	k.Name, k.APIVersion = k.GVK.String(), k.GVK.GroupVersion().String()
	k.IsSensitive = r.IsSensitive(k.GVK.GroupKind())
	if k.Scope, err = r.scopeOf(obj); err != nil {
		return k, err
	}
	if IsDynamic(obj) {
		return k, nil // known by its GroupVersionKind, as several kinds share the Go type
	}
	goType := reflect.TypeOf(obj).Elem()
	for i := range goType.NumField() {
		if name, _, _ := strings.Cut(goType.Field(i).Tag.Get("json"), ","); name == "status" {
			k.status = i
		}
	}
	return k, nil
}

func (r *Registry) scopeOf(obj client.Object) (Scope, error) {
	switch yes, err := r.Client.IsObjectNamespaced(obj); {
	case meta.IsNoMatchError(err):
		return Unknown, nil
	case err != nil:
		return Unknown, err
	case yes:
		return Namespaced, nil
	}
	return ClusterScoped, nil
}

// IsSensitive reports whether the API server's messages about a kind are not to be shown.
func (r *Registry) IsSensitive(kind schema.GroupKind) bool {
	return answer.IsSensitive(kind) || slices.Contains(r.Sensitive, kind)
}

// IsReadable reports whether new objects of obj's type can be made to read into.
func (r *Registry) IsReadable(obj client.Object) bool {
	t := reflect.TypeOf(obj)
	if _, known := r.readable.Load(t); known {
		return true
	}
	if !canBeMade(t) {
		return false
	}
	r.readable.Store(t, true)
	return true
}

// canBeMade reports whether an object of type t and a copy can be made. The methods of some types panic
// while an embedded pointer is nil, and those of others would change the original with the copy.
func canBeMade(t reflect.Type) (ok bool) {
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return false
	}
	defer func() { ok = recover() == nil && ok }()
	original, _ := reflect.TypeAssert[client.Object](reflect.New(t.Elem()))
	original.SetName("original")
	None.ShallowCopy(original).SetName("copy")
	return original.GetName() == "original"
}

// IsDynamic reports whether the object itself holds its kind, not its Go type.
func IsDynamic(obj client.Object) bool {
	switch obj.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata:
		return true
	}
	return false
}

// IsReset reports whether somebody emptied the managed fields of live. A cache strips them
// from all objects of a kind or from none.
func (k *Kind) IsReset(live client.Object) bool {
	return k.isManaged.Load() && !managedfields.HasAny(live)
}

// NoteManaged remembers that copies of this kind come with managed fields.
func (k *Kind) NoteManaged(live client.Object) {
	if !k.isManaged.Load() && managedfields.HasAny(live) {
		k.isManaged.Store(true)
	}
}

// KnowsFields reports whether SetFields was called.
func (k *Kind) KnowsFields() bool { return k.fields.Load() != nil }

// SetFields sets the function that reports whether a path leads to a field of a struct.
func (k *Kind) SetFields(isField func(fieldpath.Path) bool) { k.fields.Store(&isField) }

// IsField reports whether a path is known to lead to a field of a struct.
func (k *Kind) IsField(path fieldpath.Path) bool {
	isField := k.fields.Load()
	return isField != nil && (*isField)(path)
}

// holdsMore are the kinds whose deletion destroys more than the object.
var holdsMore = []schema.GroupKind{
	{Kind: "Namespace"},
	{Kind: "PersistentVolume"},
	{Kind: "PersistentVolumeClaim"},
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
}

// HoldsMore reports whether the deletion of an object destroys more than the object.
func (k *Kind) HoldsMore() bool { return slices.Contains(holdsMore, k.GVK.GroupKind()) }

// IsSecret reports whether the kind is Secret.
func (k *Kind) IsSecret() bool { return k.GVK.GroupKind() == schema.GroupKind{Kind: "Secret"} }

// IsService reports whether the kind is Service.
func (k *Kind) IsService() bool { return k.GVK.GroupKind() == schema.GroupKind{Kind: "Service"} }
