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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// A store is a client that holds one object and answers reads with a deep copy, like the cache of
// a manager. A write is an error, because no measured pass writes.
type store struct {
	client.Client // nil: no other method is called

	object        client.Object
	scheme        *runtime.Scheme
	mapper        apimeta.RESTMapper
	acceptsWrites bool // takes applies
}

var errWrite = errors.New("wrote, though there was nothing to do")

func newStore(s objectCase) (*store, error) {
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
	return &store{object: s.live(), scheme: scheme, mapper: mapper}, nil
}

// live is the live object, with defaults and managed fields.
func (s objectCase) live() client.Object {
	object, desired := s.empty(), s.desired()
	object.SetNamespace(desired.GetNamespace())
	object.SetName(desired.GetName())
	object.SetUID("3f0c5a52-6f8e-4d8f-9a39-0d6a1f8f6a11")
	object.SetResourceVersion("4711")
	object.SetGeneration(1)
	s.mutate(object)
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

func (s *store) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if key != client.ObjectKeyFromObject(s.object) {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	copyInto(into, s.object)
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
	var applied metav1.PartialObjectMetadata
	if err := json.Unmarshal(data, &applied); err != nil {
		return err
	}
	s.object.SetLabels(applied.Labels)
	s.object.SetAnnotations(applied.Annotations)
	s.object.SetOwnerReferences(applied.OwnerReferences)
	copyInto(into, s.object)
	return nil
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
