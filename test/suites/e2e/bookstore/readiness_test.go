package bookstore_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// TestReadiness has pods be held and deleted. Nobody changes the BookStore meanwhile, except where
// the test is about its spec.
func TestReadiness(t *testing.T) {
	process := start(t)
	for name, test := range map[string]func(*testing.T, *operator.Process){
		"the database is not ready":          testHeldDatabase,
		"the app is not ready":               testHeldApp,
		"ready comes and goes with the pods": testReadyFollowsPods,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, process)
		})
	}
}

// testHeldDatabase holds the first database pod. The app does not wait for this pod.
func testHeldDatabase(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	f.create(t, func(store *v1alpha1.BookStore) { store.Spec.BookDB.Tag = "pending" })
	database := f.waitForReason(t, v1alpha1.DatabaseReadyCondition, "InProgress")
	require.Contains(t, database.Message, `StatefulSet "shop-mongodb": `)
	eventually(t, func(context.Context) error { return isTrue(f.store(t), v1alpha1.AppReadyCondition) })
	require.Contains(t, f.waitForReason(t, v1alpha1.ReadyCondition, "InProgress").Message, "DatabaseReady")
	f.waitForMessage(t, v1alpha1.ReasonProvisioning, "1 of 2 claims do not exist yet")

	// A set waits for its existing pod before it creates an updated one.
	f.change(t, `{"bookDB":{"tag":"latest"}}`)
	f.waitForReason(t, v1alpha1.DatabaseReadyCondition, "InProgress")
	eventually(t, func(context.Context) error {
		set := f.set(t)
		return expect(set.Status.ObservedGeneration == set.Generation, "its controller would make the pod as it was")
	})
	require.NoError(t, admin(t).Delete(t.Context(), f.pod(t, 0)))
	f.settle(t)
}

func testHeldApp(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	f.create(t, func(store *v1alpha1.BookStore) { store.Spec.BookApp.Tag = "pending" })
	require.Contains(t, f.waitForReason(t, v1alpha1.AppReadyCondition, "InProgress").Message, `Deployment "shop-app": `)
	eventually(t, func(context.Context) error {
		for _, kind := range []string{v1alpha1.DatabaseReadyCondition, v1alpha1.VolumeResizedCondition} {
			if err := isTrue(f.store(t), kind); err != nil {
				return err
			}
		}
		return nil
	})
	require.Contains(t, f.waitForReason(t, v1alpha1.ReadyCondition, "InProgress").Message, "AppReady")
	f.change(t, `{"bookApp":{"tag":"latest"}}`)
	f.settle(t)

	// Old pods that still serve do not make the BookStore ready.
	f.change(t, `{"bookApp":{"tag":"pending"}}`)
	f.waitForReason(t, v1alpha1.ReadyCondition, "InProgress")
	eventually(t, func(context.Context) error {
		status := f.app(t).Status
		return expect(status.UpdatedReplicas == 1 && status.AvailableReplicas == 2, "not one new pod beside two old ones: %+v", status)
	})
	f.reconcile(t)
	f.waitForReason(t, v1alpha1.AppReadyCondition, "InProgress")
	f.change(t, `{"bookApp":{"tag":"latest"}}`)
	f.settle(t)
}

func testReadyFollowsPods(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	mark := shared.Mark()
	f.setReady(t, f.pod(t, 1), corev1.ConditionFalse)
	f.waitForReason(t, v1alpha1.DatabaseReadyCondition, "InProgress")
	f.waitForReason(t, v1alpha1.ReadyCondition, "InProgress")
	f.setReady(t, f.pod(t, 1), corev1.ConditionTrue)
	f.settle(t)
	require.Empty(t, f.requests(t, mark), "nothing but the status was written")
}

// setReady writes a pod's readiness into its status, as its kubelet would.
func (f fixture) setReady(t *testing.T, pod *corev1.Pod, status corev1.ConditionStatus) {
	t.Helper()
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.Now()}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []corev1.PodCondition{ready}}})
	require.NoError(t, err)
	require.NoError(t, admin(t).Status().Patch(t.Context(), pod, client.RawPatch(types.StrategicMergePatchType, patch)))
}
