package application_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSelectors has a pod of somebody else that has the label app of an Application's pods: it is not in
// the Service's EndpointSlices.
func TestSelectors(t *testing.T) {
	f := fixture{operator: start(t), namespace: shared.Namespace(t), name: "shop"}
	tests.CreateStranger(t, f.namespace, "stranger", "shop-microservice")
	f.create(t)
	f.settle(t)
	own := f.podNames(t)
	require.Len(t, own, 2)
	eventually(t, func(context.Context) error { // the endpoints of own pods come later than a ready stranger's
		endpoints := tests.Endpoints(t, f.namespace, f.service(t).Name)
		return expect(len(endpoints) >= len(own), "endpoints %v, pods %v", endpoints, own)
	})
	require.Empty(t, cmp.Diff(own, tests.Endpoints(t, f.namespace, f.service(t).Name)))
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
