package ensure_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trueup-go/trueup/ensure"
)

// A storeClient answers reads from memory with a deep copy, as a manager's cache
// does. A write fails the benchmark.
type storeClient struct {
	client.Client // scheme and REST mappings
	objects       map[types.NamespacedName]client.Object
	writable      bool
}

var errWrite = errors.New("the benchmark is of passes that write nothing")

func (c *storeClient) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	stored, ok := c.objects[key]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(stored.DeepCopyObject()).Elem())
	return nil
}

func (c *storeClient) Create(context.Context, client.Object, ...client.CreateOption) error {
	return errWrite
}

func (c *storeClient) Update(context.Context, client.Object, ...client.UpdateOption) error {
	return errWrite
}

// Patch takes over the metadata of an apply; the content stays, as it is what a
// server would make of it.
func (c *storeClient) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	if !c.writable {
		return errWrite
	}
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	var applied metav1.PartialObjectMetadata
	if err := json.Unmarshal(data, &applied); err != nil {
		return err
	}
	stored := c.objects[client.ObjectKeyFromObject(obj)]
	stored.SetLabels(applied.Labels)
	stored.SetAnnotations(applied.Annotations)
	stored.SetOwnerReferences(applied.OwnerReferences)
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(stored.DeepCopyObject()).Elem())
	return nil
}

// A benchCase is one child as each of the two ways wants it written down.
type benchCase struct {
	name    string
	desired func() client.Object     // what matters, for ensure
	spell   func(into client.Object) // everything, defaults too, for CreateOrUpdate
	empty   func() client.Object
}

func benchCases() []benchCase {
	return []benchCase{
		{
			"Deployment/full", func() client.Object { return fullDeployment() },
			func(into client.Object) {
				spelled := withDeploymentDefaults(fullDeployment())
				into.(*appsv1.Deployment).Spec = spelled.Spec
				into.SetLabels(spelled.Labels)
			},
			func() client.Object { return &appsv1.Deployment{} },
		},
		{
			"Deployment/minimal", func() client.Object { return deployment() },
			func(into client.Object) {
				spelled := withDeploymentDefaults(deployment())
				into.(*appsv1.Deployment).Spec = spelled.Spec
				into.SetLabels(spelled.Labels)
			},
			func() client.Object { return &appsv1.Deployment{} },
		},
		{
			"ConfigMap", func() client.Object { return configMap() },
			func(into client.Object) {
				desired := configMap()
				into.(*corev1.ConfigMap).Data = desired.Data
				into.SetLabels(desired.Labels)
				metav1.SetMetaDataAnnotation(&into.(*corev1.ConfigMap).ObjectMeta, "note", desired.Annotations["note"])
			},
			func() client.Object { return &corev1.ConfigMap{} },
		},
		{
			"Service", func() client.Object { return service() },
			func(into client.Object) { into.(*corev1.Service).Spec = withServiceDefaults(service()).Spec },
			func() client.Object { return &corev1.Service{} },
		},
	}
}

// live is the child as the server has it: with defaults and managed fields.
func (bc benchCase) live() client.Object {
	obj := bc.empty()
	key := client.ObjectKeyFromObject(bc.desired())
	obj.SetNamespace(key.Namespace)
	obj.SetName(key.Name)
	obj.SetUID("3f0c5a52-6f8e-4d8f-9a39-0d6a1f8f6a11")
	obj.SetResourceVersion("4711")
	obj.SetGeneration(1)
	bc.spell(obj)
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{
		{
			Manager: fieldOwner, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
			Time: new(metav1.NewTime(time.Unix(2e9, 0))), FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:app":{}}}}`),
		},
		{
			Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", APIVersion: "v1",
			FieldsType: "FieldsV1", Time: new(metav1.NewTime(time.Unix(2e9, 0))),
			FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:replicas":{}}}`),
		},
	})
	return obj
}

// BenchmarkNothingToDo compares passes that find everything as it should be. Each
// builds what it wants anew, as a reconciler does; deep copy is what reading from a
// cache costs either of them.
func BenchmarkNothingToDo(b *testing.B) {
	for _, bc := range benchCases() {
		b.Run(bc.name, func(b *testing.B) {
			b.Run("ensure", func(b *testing.B) { benchmarkEnsure(b, bc) })
			b.Run("CreateOrUpdate", func(b *testing.B) { benchmarkCreateOrUpdate(b, bc) })
			b.Run("deepcopy", func(b *testing.B) {
				live := bc.live()
				b.ReportAllocs()
				for b.Loop() {
					_ = live.DeepCopyObject()
				}
			})
		})
	}
}

func newStoreClient(bc benchCase) *storeClient {
	live := bc.live()
	return &storeClient{
		Client:  fake.NewClientBuilder().WithScheme(newScheme()).WithRESTMapper(newRESTMapper()).Build(),
		objects: map[types.NamespacedName]client.Object{client.ObjectKeyFromObject(live): live},
	}
}

func benchmarkEnsure(b *testing.B, bc benchCase) {
	b.Helper()
	c := newStoreClient(bc)
	e := ensure.New(c, c, fieldOwner)
	owner := shop()
	c.writable = true
	if _, err := ensure.Object(b.Context(), e, bc.desired(), ensure.ControlledBy(owner), ensure.Adopt()); err != nil {
		b.Fatal(err)
	}
	c.writable = false
	b.ReportAllocs()
	for b.Loop() {
		result, err := ensure.Object(b.Context(), e, bc.desired(), ensure.ControlledBy(owner))
		if err != nil || result.Operation != ensure.Unchanged {
			b.Fatal(result.Operation, err)
		}
	}
}

func benchmarkCreateOrUpdate(b *testing.B, bc benchCase) {
	b.Helper()
	c := newStoreClient(bc)
	for _, stored := range c.objects {
		if err := controllerutil.SetControllerReference(shop(), stored, c.Scheme()); err != nil {
			b.Fatal(err)
		}
	}
	owner := shop()
	key := client.ObjectKeyFromObject(bc.desired())
	b.ReportAllocs()
	for b.Loop() {
		obj := bc.empty()
		obj.SetNamespace(key.Namespace)
		obj.SetName(key.Name)
		operation, err := controllerutil.CreateOrUpdate(b.Context(), c, obj, func() error {
			bc.spell(obj)
			return controllerutil.SetControllerReference(owner, obj, c.Scheme())
		})
		if err != nil || operation != controllerutil.OperationResultNone {
			b.Fatal(operation, err)
		}
	}
}
