package ensure_test

import (
	"context"
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/testclock"
)

const (
	fieldOwner = "shop-operator"
	digestKey  = "spec-hash.trueup-go.github.io/" + fieldOwner
	digestPath = "metadata.annotations[" + digestKey + "]"
)

// Shop is a custom kind: the owner in most tests, a child in some.
type Shop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ShopSpec   `json:"spec"`
	Status ShopStatus `json:"status,omitempty"`
}

type ShopSpec struct {
	Size int32 `json:"size,omitempty"`
}

type ShopStatus struct {
	Open bool `json:"open,omitempty"`
}

func (s *Shop) DeepCopyObject() runtime.Object {
	out := *s
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// Kiosk is a custom kind whose metadata is not embedded in the struct itself.
type Kiosk struct {
	Base `json:",inline"` // for the fake client before controller-runtime v0.25

	Spec ShopSpec `json:"spec,omitempty"`
}

// Base is what the kinds of one group have in common.
type Base struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

func (k *Kiosk) DeepCopyObject() runtime.Object {
	out := *k
	k.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func kiosk() *Kiosk {
	k := &Kiosk{Spec: ShopSpec{Size: 1}}
	k.Namespace, k.Name, k.Labels = "default", "kiosk", map[string]string{"app": "shop"}
	return k
}

// newScheme knows the kinds of the tests, and no others: the fake client goes through all of them for each write.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme} {
		_ = add(scheme) // fails for no type of k8s.io/api
	}
	scheme.AddKnownTypes(schema.GroupVersion{Group: "example.com", Version: "v1"}, &Shop{}, &Kiosk{})
	return scheme
}

func newRESTMapper() meta.RESTMapper { return testrestmapper.TestOnlyStaticRESTMapper(newScheme()) }

// shop is the usual owner, as it was read.
func shop() *Shop {
	return &Shop{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "shop", UID: "uid-of-shop", ResourceVersion: "7", Generation: 1,
	}}
}

func shopRef() metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: "example.com/v1", Kind: "Shop", Name: "shop", UID: "uid-of-shop",
		Controller: new(true), BlockOwnerDeletion: new(true),
	}
}

func configMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "settings",
			Labels:      map[string]string{"app": "shop"},
			Annotations: map[string]string{"note": "ours"},
		},
		Data: map[string]string{"color": "blue", "shape": "round"},
	}
}

func unstructuredConfigMap() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata": map[string]any{
			"namespace": "default", "name": "settings",
			"labels": map[string]any{"app": "shop"},
		},
		"data": map[string]any{"color": "blue"},
	}}
}

func partialConfigMap() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings", Labels: map[string]string{"app": "shop"}},
	}
}

func namespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tenant", Labels: map[string]string{"app": "shop"}}}
}

func service() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "shop"},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80}},
		},
	}
}

func deployment() *appsv1.Deployment {
	labels := map[string]string{"app": "shop"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Labels: maps.Clone(labels)},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: maps.Clone(labels)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(labels)},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:1.29"}}},
			},
		},
	}
}

// newEnsurer is an operator just started, whose client answers reads as the server does.
func newEnsurer(s *apiServer, settings ...ensure.Setting) *ensure.Ensurer {
	return ensure.New(s, s, fieldOwner, settings...)
}

// mustEnsure is a pass that has to succeed.
func mustEnsure[T client.Object](t *testing.T, e *ensure.Ensurer, desired T, opts ...ensure.Option) ensure.Result[T] {
	t.Helper()
	result, err := ensure.Object(t.Context(), e, desired, opts...)
	require.NoError(t, err)
	return result
}

// A view is what a cache shows of an object that the server has, or has not (nil).
type view func(live client.Object) client.Object

// cached is a manager's client: reads cost no request and show what view says.
func (s *apiServer) cached(show view) client.Client {
	return interceptor.NewClient(s.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
			err := s.peek(ctx, key, obj)
			var shown client.Object
			switch {
			case err == nil:
				shown = show(obj)
			case apierrors.IsNotFound(err):
				shown = show(nil)
			default:
				return err
			}
			if shown == nil {
				return apierrors.NewNotFound(schema.GroupResource{Resource: "any"}, key.Name)
			}
			if shown != obj {
				reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(shown.DeepCopyObject()).Elem())
			}
			return nil
		},
	})
}

func faithful(live client.Object) client.Object { return live }

func hidden(client.Object) client.Object { return nil }

func withoutManagedFields(live client.Object) client.Object {
	if live != nil {
		live.SetManagedFields(nil)
	}
	return live
}

// frozen shows copy whatever happens to the object.
func frozen(stale client.Object) view {
	return func(client.Object) client.Object { return stale }
}

func withClock(c clock.PassiveClock) ensure.Setting { return testclock.With[ensure.Setting](c) }

func newClock() *clocktesting.FakePassiveClock {
	return clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
}

// created is desired on the server as a first pass of an earlier process left it.
func created[T client.Object](t *testing.T, s *apiServer, desired T, opts ...ensure.Option) T {
	t.Helper()
	result := mustEnsure(t, newEnsurer(s), desired, opts...)
	require.Equal(t, ensure.Created, result.Operation)
	s.take()
	return result.Live
}

// bareFake is controller-runtime's fake client with nothing but a scheme.
func bareFake() client.WithWatch {
	return fake.NewClientBuilder().WithScheme(newScheme()).Build()
}

// failingReads is a client whose reads are all answered with err.
func failingReads(s *apiServer, err error) client.Client {
	return interceptor.NewClient(s.WithWatch, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return err
		},
	})
}
