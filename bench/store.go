package main

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// A store is a client that holds objects of one kind and answers reads with a deep copy, like the cache
// of a manager. A write is an error, because no measured pass writes.
type store struct {
	client.Client // nil: no other method is called

	objects       map[client.ObjectKey]client.Object
	scheme        *runtime.Scheme
	mapper        apimeta.RESTMapper
	acceptsWrites bool // takes applies
}

var errWrite = errors.New("wrote, though there was nothing to do")

func newStore(objects ...client.Object) (*store, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	scheme.AddKnownTypes(schema.GroupVersion{Group: "shop.example.com", Version: "v1"}, &Shop{})
	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.Add(databaseGVK, apimeta.RESTScopeNamespace)
	for gvk := range scheme.AllKnownTypes() {
		mapper.Add(gvk, apimeta.RESTScopeNamespace)
	}
	s := &store{objects: make(map[client.ObjectKey]client.Object, len(objects)), scheme: scheme, mapper: mapper}
	for _, object := range objects {
		s.objects[client.ObjectKeyFromObject(object)] = object
	}
	return s, nil
}

// live is the live object, with defaults and managed fields.
func (c objectCase) live() client.Object {
	object, desired := c.empty(), c.desired()
	object.SetNamespace(desired.GetNamespace())
	object.SetName(desired.GetName())
	object.SetUID("3f0c5a52-6f8e-4d8f-9a39-0d6a1f8f6a11")
	object.SetResourceVersion("4711")
	object.SetGeneration(1)
	c.mutate(object)
	written := metav1.NewTime(time.Unix(1_800_000_000, 0))
	object.SetManagedFields([]metav1.ManagedFieldsEntry{
		{
			Manager: fieldOwner, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", Time: &written,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:app.kubernetes.io/name":{}}}}`),
		},
		{
			Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status",
			APIVersion: "v1", Time: &written,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:replicas":{}}}`),
		},
	})
	return object
}

func (s *store) Get(_ context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if owner, ok := into.(*metav1.PartialObjectMetadata); ok { // nothing else is read so
		owner.ObjectMeta = shop().ObjectMeta
		return nil
	}
	object, found := s.objects[key]
	if !found {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	var options client.GetOptions
	options.ApplyOptions(opts)
	if options.UnsafeDisableDeepCopy != nil && *options.UnsafeDisableDeepCopy {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(object).Elem())
		return nil
	}
	copyInto(into, object)
	return nil
}

func copyInto(into, object client.Object) {
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(object.DeepCopyObject()).Elem())
}

// Patch stores the metadata of an apply. The content is the result of the merge already, and stays.
func (s *store) Patch(_ context.Context, into client.Object, patch client.Patch, _ ...client.PatchOption) error {
	if !s.acceptsWrites {
		return errWrite
	}
	data, err := patch.Data(into)
	if err != nil {
		return err
	}
	var applied unstructured.Unstructured
	if err := json.Unmarshal(data, &applied.Object); err != nil {
		return err
	}
	fields, err := fieldsOf(applied.Object)
	if err != nil {
		return err
	}
	object, found := s.objects[client.ObjectKeyFromObject(into)]
	if !found {
		return apierrors.NewNotFound(schema.GroupResource{}, into.GetName())
	}
	object.SetLabels(applied.GetLabels())
	object.SetAnnotations(applied.GetAnnotations())
	object.SetOwnerReferences(applied.GetOwnerReferences())
	entries := object.GetManagedFields()
	entries[0].FieldsV1 = metav1.NewFieldsV1(fields)
	object.SetManagedFields(entries)
	copyInto(into, object)
	return nil
}

// fieldsOf returns all fields of content in the form of managed fields. Lists count as atomic.
func fieldsOf(content map[string]any) (string, error) {
	value, err := typed.DeducedParseableType.FromUnstructured(content)
	if err != nil {
		return "", err
	}
	fields, err := value.ToFieldSet()
	if err != nil {
		return "", err
	}
	text, err := fields.ToJSON()
	return string(text), err
}

func (s *store) Create(context.Context, client.Object, ...client.CreateOption) error { return errWrite }

func (s *store) Update(context.Context, client.Object, ...client.UpdateOption) error { return errWrite }

func (s *store) Scheme() *runtime.Scheme { return s.scheme }

func (s *store) RESTMapper() apimeta.RESTMapper { return s.mapper }

func (s *store) GroupVersionKindFor(object runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(object, s.scheme)
}

func (s *store) IsObjectNamespaced(object runtime.Object) (bool, error) {
	return apiutil.IsObjectNamespaced(object, s.scheme, s.mapper)
}
