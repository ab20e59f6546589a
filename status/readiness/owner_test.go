package readiness_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/status/readiness"
)

func TestOwnerOf(t *testing.T) {
	scheme := newScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&appsv1.Deployment{ObjectMeta: controlledBy("front", "example.com/v1", "Shop", "corner")},
		&appsv1.ReplicaSet{ObjectMeta: controlledBy("front-7d", "apps/v1", "Deployment", "front")},
		&appsv1.StatefulSet{ObjectMeta: controlledBy("db", "example.com/v1beta1", "Shop", "corner")},
		&appsv1.StatefulSet{ObjectMeta: controlledBy("theirs", "example.org/v1", "Shop", "corner")},
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "free"}},
		&appsv1.ReplicaSet{ObjectMeta: controlledBy("cycle", "apps/v1", "ReplicaSet", "cycle")},
	).Build()
	about := eventAbout("any", "event", "", longAgo)
	about.InvolvedObject.Name = "db"
	corner := []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "default", Name: "corner"}}}
	for _, test := range []struct {
		name string
		obj  client.Object
		want []reconcile.Request
	}{
		{"a pod of a Deployment", podControlledBy("apps/v1", "ReplicaSet", "front-7d"), corner},
		{"a pod of a StatefulSet", podControlledBy("apps/v1", "StatefulSet", "db"), corner},
		{"a pod of the owner", podControlledBy("example.com/v1", "Shop", "corner"), corner},
		{"a ReplicaSet", &metav1.PartialObjectMetadata{ObjectMeta: controlledBy("front-7d", "apps/v1", "Deployment", "front")}, corner},
		{"an event", about, corner},
		{"an event about a set that is not there", eventAbout("any", "event", "", longAgo), nil},
		{"a pod of a workload that is not there", podControlledBy("apps/v1", "StatefulSet", "gone"), nil},
		{"a pod of a kind that does not count", podControlledBy("apps/v1", "DaemonSet", "db"), nil},
		{"a pod of another owner", podControlledBy("apps/v1", "StatefulSet", "theirs"), nil},
		{"a pod of a workload without an owner", podControlledBy("apps/v1", "StatefulSet", "free"), nil},
		{"a pod without a controller", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod"}}, nil},
		{"a cycle", podControlledBy("apps/v1", "ReplicaSet", "cycle"), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			ownerOf := readiness.OwnerOf(c, &Shop{}, &appsv1.StatefulSet{}, &appsv1.Deployment{})
			require.Empty(t, cmp.Diff(test.want, ownerOf(t.Context(), test.obj)))
		})
	}
}

// TestOwnerOfReads reads only the kinds that the caller names: reading another kind from a cache would
// start a watch.
func TestOwnerOfReads(t *testing.T) {
	scheme := newScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	var reads int
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			reads++
			return errors.New("out of reach")
		},
	})
	ofFront, ofDB := podControlledBy("apps/v1", "ReplicaSet", "front-7d"), podControlledBy("apps/v1", "StatefulSet", "db")
	require.Empty(t, readiness.OwnerOf(c, &Shop{}, &appsv1.DaemonSet{})(t.Context(), ofFront))
	require.Empty(t, readiness.OwnerOf(c, &Shop{}, &appsv1.DaemonSet{})(t.Context(), ofDB))
	require.Zero(t, reads)
	require.Empty(t, readiness.OwnerOf(c, &Shop{}, &appsv1.StatefulSet{})(t.Context(), ofDB))
	require.Equal(t, 1, reads)
}

func TestOwnerOfUnknownKinds(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(newScheme()).Build()
	pod := podControlledBy("example.com/v1", "Shop", "corner")
	require.NotEmpty(t, readiness.OwnerOf(c, &Shop{})(t.Context(), pod))
	require.Empty(t, readiness.OwnerOf(c, &Shop{}, &appsv1.StatefulSet{})(t.Context(), pod))
	require.Empty(t, readiness.OwnerOf(c, &appsv1.StatefulSet{})(t.Context(), pod))
	var none *appsv1.StatefulSet
	for _, nothing := range []client.Object{nil, none} {
		require.Empty(t, readiness.OwnerOf(c, &Shop{}, nothing)(t.Context(), pod))
		require.Empty(t, readiness.OwnerOf(c, nothing)(t.Context(), pod))
	}
}

func TestOwnerOfAClusterScopedOwner(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(shopGVK, meta.RESTScopeRoot)
	c := fake.NewClientBuilder().WithScheme(newScheme()).WithRESTMapper(mapper).Build()
	require.Equal(t, []reconcile.Request{{NamespacedName: types.NamespacedName{Name: "corner"}}},
		readiness.OwnerOf(c, &Shop{})(t.Context(), podControlledBy("example.com/v1", "Shop", "corner")))
}

func controlledBy(name, apiVersion, kind, owner string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "another", UID: "another"},
		{APIVersion: apiVersion, Kind: kind, Name: owner, UID: types.UID(owner), Controller: new(true)},
	}}
}

func podControlledBy(apiVersion, kind, owner string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: controlledBy("pod", apiVersion, kind, owner)}
}

func TestTrimPod(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "shop", Labels: map[string]string{"app": "shop"}, Annotations: map[string]string{"a": "b"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		},
		Spec:   corev1.PodSpec{NodeName: "node", Volumes: []corev1.Volume{{Name: "data"}}, Containers: []corev1.Container{{Name: "web"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"},
	}
	got, err := readiness.TrimPod(pod)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"app": "shop"}},
		Spec:       corev1.PodSpec{Volumes: []corev1.Volume{{Name: "data"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"},
	}, got))

	other, err := readiness.TrimPod(&appsv1.StatefulSet{})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(&appsv1.StatefulSet{}, other))
}
