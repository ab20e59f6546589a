package bookstore_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/storage"
)

// outOfRange is an answer of the driver's that the resizer takes for final.
const outOfRange = codes.OutOfRange

func size(quantity string) resource.Quantity { return resource.MustParse(quantity) }

func retaining(retain bool) func(*v1alpha1.BookStore) {
	return func(store *v1alpha1.BookStore) { store.Spec.BookDB.Retain = &retain }
}

func (f fixture) claimSpec(quantity string) corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: size(quantity)},
		},
	}
}

// listen returns a function that waits for the last change of VolumeResized and returns the reasons
// since listen was called, in their order.
func (f fixture) listen(t *testing.T) func() []string {
	t.Helper()
	watcher, err := admin(t).Watch(t.Context(), &v1alpha1.BookStoreList{}, client.InNamespace(f.namespace))
	require.NoError(t, err)
	t.Cleanup(watcher.Stop)
	return func() []string {
		var reasons []string
		last := f.store(t).ResourceVersion
		for event := range watcher.ResultChan() {
			store, ok := event.Object.(*v1alpha1.BookStore)
			require.True(t, ok, "%+v", event)
			reasons = append(reasons, condition(store, v1alpha1.VolumeResizedCondition).Reason)
			if store.ResourceVersion == last {
				break
			}
		}
		return slices.Compact(reasons)
	}
}

// simulateNodes resizes the file systems of both claims as the nodes do, once VolumeResized asks for
// this.
func (f fixture) simulateNodes(t *testing.T) {
	t.Helper()
	for ordinal := range 2 {
		eventually(t, func(context.Context) error {
			return expect(storage.Pending(f.claim(t, ordinal)), "nothing is to be done on the node")
		})
	}
	f.waitForReason(t, v1alpha1.VolumeResizedCondition, v1alpha1.ReasonFileSystemResizePending)
	for ordinal := range 2 {
		require.NoError(t, storage.FinishResize(t.Context(), admin(t), client.ObjectKeyFromObject(f.claim(t, ordinal))))
	}
}

// waitForMessage waits until VolumeResized is False for this reason and its message contains the
// text.
func (f fixture) waitForMessage(t *testing.T, reason, text string) metav1.Condition {
	t.Helper()
	var is metav1.Condition
	eventually(t, func(context.Context) error {
		is = f.waitForReason(t, v1alpha1.VolumeResizedCondition, reason)
		return expect(strings.Contains(is.Message, text), "expected a message about %s, seen %+v", text, is)
	})
	return is
}

// settleFor waits until all is rolled out, VolumeResized is False for this reason, and the
// operator has nothing left to do.
func (f fixture) settleFor(t *testing.T, reason string) {
	t.Helper()
	tests.Settle(t, f.operator, f.named(), func(ctx context.Context) error {
		store, err := f.rolledOut(ctx)
		if err != nil {
			return err
		}
		is := condition(store, v1alpha1.VolumeResizedCondition)
		return expect(is.Reason == reason && is.ObservedGeneration == store.Generation, "expected %s, seen %+v", reason, is)
	})
}
