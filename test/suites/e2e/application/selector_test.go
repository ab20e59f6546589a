package application_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestSelectors has a pod of somebody else that has the label app of an Application's pods: it is not in
// the Service's EndpointSlices.
func TestSelectors(t *testing.T) {
	f := fixture{operator: start(t), namespace: shared.Namespace(t), name: "shop"}
	theirs := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "stranger", Labels: map[string]string{"app": "shop-microservice"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "database", Image: "database"}}},
	}
	require.NoError(t, admin(t).Create(t.Context(), theirs))
	eventually(t, func(context.Context) error {
		conditions := get(t, f, theirs.Name, &corev1.Pod{}).Status.Conditions
		isReady := slices.ContainsFunc(conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		return expect(isReady, "the stranger is not ready: %+v", conditions)
	})
	f.create(t)
	f.settle(t)
	own := f.podNames(t)
	require.Len(t, own, 2)
	eventually(t, func(context.Context) error { // the endpoints of own pods come later than a ready stranger's
		endpoints := f.endpoints(t)
		return expect(len(endpoints) >= len(own), "endpoints %v, pods %v", endpoints, own)
	})
	require.Empty(t, cmp.Diff(own, f.endpoints(t)))
}

// podNames returns the names of the pods that the Application's Deployment made, sorted.
func (f fixture) podNames(t *testing.T) (names []string) {
	t.Helper()
	for _, pod := range f.pods(t) {
		if metav1.GetControllerOf(&pod) != nil {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names
}

// endpoints returns the names of the pods in the EndpointSlices of the Application's Service, sorted.
func (f fixture) endpoints(t *testing.T) (names []string) {
	t.Helper()
	var slicesOf discoveryv1.EndpointSliceList
	require.NoError(t, admin(t).List(t.Context(), &slicesOf, client.InNamespace(f.namespace),
		client.MatchingLabels{discoveryv1.LabelServiceName: f.service(t).Name}))
	for _, slice := range slicesOf.Items {
		for _, endpoint := range slice.Endpoints {
			names = append(names, endpoint.TargetRef.Name)
		}
	}
	slices.Sort(names)
	return names
}
