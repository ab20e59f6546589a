package ensure

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/object"
)

// A kind holds the facts about a Go type or an API kind that ensuring an object requires.
type kind struct {
	gvk        schema.GroupVersionKind
	name       string // of gvk
	apiVersion string // of gvk
	scope      scope
	status     int // index of the field that JSON calls status, or -1
	// managed is set once a copy came with managed fields: the cache does not strip them.
	managed *atomic.Bool
	// fields reports whether a path leads to a field of a struct; nil as long as nobody asked.
	fields *atomic.Pointer[func(fieldpath.Path) bool]
}

// noKind is the kind of an object whose kind is not known yet.
var noKind = &kind{}

// A scope says whether objects of a kind are namespaced. The scope is unknown as long as the RESTMapper
// does not know the kind: its CRD is not installed yet, or, with the fake client, always.
type scope int

// kindOf finds out once per type; scheme and RESTMapper are slow to ask.
func (e *Ensurer) kindOf(obj client.Object) (*kind, error) {
	id := kindID(obj)
	if known, ok := e.kinds.Load(id); ok {
		if k, ok := known.(*kind); ok {
			return k, nil
		}
	}
	k, err := e.discover(obj)
	if err == nil && k.scope != unknownScope {
		e.kinds.Store(id, k)
	}
	return k, err
}

// kindID returns the key under which a kind is remembered.
func kindID(obj client.Object) any {
	if isDynamic(obj) {
		return obj.GetObjectKind().GroupVersionKind()
	}
	return reflect.TypeOf(obj)
}

func (e *Ensurer) discover(obj client.Object) (*kind, error) {
	k := &kind{status: -1, managed: &atomic.Bool{}, fields: &atomic.Pointer[func(fieldpath.Path) bool]{}}
	var err error
	if k.gvk, err = e.client.GroupVersionKindFor(obj); err != nil {
		return k, &noKindError{err}
	}
	k.name, k.apiVersion = k.gvk.String(), k.gvk.GroupVersion().String()
	if k.scope, err = e.scopeOf(obj); err != nil {
		return k, err
	}
	if isDynamic(obj) {
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

func (e *Ensurer) scopeOf(obj client.Object) (scope, error) {
	switch yes, err := e.client.IsObjectNamespaced(obj); {
	case meta.IsNoMatchError(err):
		return unknownScope, nil
	case err != nil:
		return unknownScope, err
	case yes:
		return namespaced, nil
	}
	return clusterScoped, nil
}

// A noKindError says that nothing tells the kind of an object.
type noKindError struct{ error }

// isReadable reports whether new objects of obj's type can be made to read into.
func (e *Ensurer) isReadable(obj client.Object) bool {
	t := reflect.TypeOf(obj)
	if _, known := e.readable.Load(t); known {
		return true
	}
	if !canBeMade(t) {
		return false
	}
	e.readable.Store(t, true)
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
	noKind.copyForStamping(original).SetName("copy")
	return original.GetName() == "original"
}

// isDynamic reports whether the object itself holds its kind, not its Go type.
func isDynamic(obj client.Object) bool {
	switch obj.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata:
		return true
	}
	return false
}

// empty returns a new object to read into.
func (k *kind) empty(like client.Object) client.Object {
	return object.New(like, k.apiVersion, k.gvk.Kind)
}

// copyForStamping returns a copy whose metadata can be set without changing obj. The two share their
// content, which is only read from here on.
func (k *kind) copyForStamping(obj client.Object) client.Object {
	if u, ok := obj.(runtime.Unstructured); ok {
		return shareContent(k, obj, u)
	}
	shallow := reflect.New(reflect.TypeOf(obj).Elem())
	shallow.Elem().Set(reflect.ValueOf(obj).Elem())
	copied, _ := reflect.TypeAssert[client.Object](shallow)
	return copied
}

func shareContent(k *kind, obj client.Object, u runtime.Unstructured) client.Object {
	content := u.UnstructuredContent()
	shallow := maps.Clone(content)
	if shallow == nil {
		shallow = map[string]any{}
	}
	if metadata, ok := content["metadata"].(map[string]any); ok {
		shallow["metadata"] = maps.Clone(metadata)
	}
	if _, ok := obj.(*unstructured.Unstructured); ok {
		return &unstructured.Unstructured{Object: shallow}
	}
	out := k.empty(obj)
	if target, ok := out.(runtime.Unstructured); ok {
		target.SetUnstructuredContent(shallow)
	}
	return out
}

// statusSet reports whether obj specifies a status, which ensure never writes.
func (k *kind) statusSet(obj client.Object) bool {
	if u, ok := obj.(runtime.Unstructured); ok {
		return isSpecified(reflect.ValueOf(u.UnstructuredContent()["status"]))
	}
	return k.status >= 0 && isSpecified(reflect.ValueOf(obj).Elem().Field(k.status))
}

// isSpecified reports whether a value has other values than zero values and empty lists. Tools that write a typed
// object as YAML write these into the status.
func isSpecified(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.Invalid:
		return false
	case reflect.Map:
		for _, key := range value.MapKeys() {
			if isSpecified(value.MapIndex(key)) {
				return true
			}
		}
		return false
	case reflect.Slice:
		return value.Len() > 0
	case reflect.Struct:
		for _, field := range value.Fields() {
			if isSpecified(field) {
				return true
			}
		}
		return false
	case reflect.Interface, reflect.Pointer:
		return isSpecified(value.Elem())
	}
	return !value.IsZero()
}

// isReset reports whether somebody emptied the managed fields of live. A cache strips them
// from all objects of a kind or from none.
func (k *kind) isReset(live client.Object) bool {
	return k.managed.Load() && !managedfields.HasAny(live)
}

// noteManaged remembers that copies of this kind come with managed fields.
func (k *kind) noteManaged(live client.Object) {
	if !k.managed.Load() && managedfields.HasAny(live) {
		k.managed.Store(true)
	}
}

// holdsMore are the kinds whose deletion destroys more than the object.
var holdsMore = []schema.GroupKind{
	{Kind: "Namespace"},
	{Kind: "PersistentVolume"},
	{Kind: "PersistentVolumeClaim"},
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
}

const (
	unknownScope scope = iota
	namespaced
	clusterScoped
)

func (k *kind) holdsMore() bool { return slices.Contains(holdsMore, k.gvk.GroupKind()) }

func (k *kind) isSecret() bool { return k.gvk.GroupKind() == schema.GroupKind{Kind: "Secret"} }

func (k *kind) isService() bool { return k.gvk.GroupKind() == schema.GroupKind{Kind: "Service"} }

// unreadableMetadata finds unstructured metadata that the accessors of unstructured.Unstructured treat
// as empty, so that setting a value would lose it: scrape: true among the annotations is enough.
func unreadableMetadata(obj client.Object) (path, problem string) {
	u, ok := obj.(runtime.Unstructured)
	if !ok {
		return "", ""
	}
	metadata, ok := u.UnstructuredContent()["metadata"].(map[string]any)
	if !ok {
		return "", ""
	}
	for _, wanted := range metadataShapes {
		if value := metadata[wanted.member]; value != nil && !wanted.fits(value) {
			return "metadata." + wanted.member, "is not " + wanted.name
		}
	}
	return "", ""
}

var metadataShapes = []struct {
	member, name string
	fits         func(any) bool
}{
	{"annotations", "a map of strings", isMapOf[string]},
	{"finalizers", "a list of strings", isListOf[string]},
	{"labels", "a map of strings", isMapOf[string]},
	{"ownerReferences", "a list of objects", isListOf[map[string]any]},
}

func isMapOf[T any](value any) bool {
	m, ok := value.(map[string]any)
	for _, v := range m {
		if _, fits := v.(T); !fits {
			return false
		}
	}
	return ok
}

func isListOf[T any](value any) bool {
	list, ok := value.([]any)
	for _, v := range list {
		if _, fits := v.(T); !fits {
			return false
		}
	}
	return ok
}

// A digestInput is a sequence of texts and booleans, separated by quotes.
type digestInput []byte

func (n *digestInput) add(texts ...string) {
	for _, text := range texts {
		*n = strconv.AppendQuote(*n, text)
	}
}

func (n *digestInput) addBool(value bool) { *n = strconv.AppendBool(*n, value) }

func (n *digestInput) addKeys(desired, live map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(desired)) {
		value, there := live[key]
		n.add(key, value)
		n.addBool(there)
	}
	n.add("")
}

// An item is a label, an annotation, a finalizer or an owner reference: several managers have such
// items beside each other. A list that did not exist before has no key.
type item struct{ member, key string }

// itemAt returns the item that path is in, such as metadata.labels[app] or
// metadata.ownerReferences[uid=x].name. Keys hold no brackets.
func itemAt(path string) (item, bool) {
	member, rest, _ := strings.Cut(path, "[")
	key, _, _ := strings.Cut(rest, "]")
	switch member {
	case "metadata.labels", "metadata.annotations", "metadata.finalizers":
	case "metadata.ownerReferences":
		key = strings.TrimPrefix(key, "uid=")
	default:
		return item{}, false
	}
	return item{member: strings.TrimPrefix(member, "metadata."), key: key}, true
}

func (i item) in(obj client.Object) bool {
	there := false
	switch i.member {
	case "labels":
		_, there = obj.GetLabels()[i.key]
	case "annotations":
		_, there = obj.GetAnnotations()[i.key]
	case "finalizers":
		there = slices.ContainsFunc(obj.GetFinalizers(), func(name string) bool { return i.key == "" || name == i.key })
	case "ownerReferences":
		there = slices.ContainsFunc(obj.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
			return i.key == "" || string(ref.UID) == i.key
		})
	}
	return there
}
