package bookstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/longform"
)

// TestKilledAtEveryWrite kills the operator (SIGKILL) right after the first write of a resize, of
// the next resize after the second write, and so on until a resize has fewer writes. Each time, the
// next operator completes the work.
func TestKilledAtEveryWrite(t *testing.T) {
	o := installed(t)
	first := startWith(t, o)
	f := newFixture(t, first, retaining(false))
	require.NoError(t, first.Stop())
	before := f.uids(t)

	step := 1
	if testing.Short() {
		step = 8
	}
	for writes, killed := 1, true; killed; writes += step {
		mortal, finger := startBehindKillingProxy(t, o)
		finger.killAfter(writes, mortal)
		want := fmt.Sprintf("%dGi", 2+writes)
		f.grow(t, want)
		f.operator = mortal
		killed = f.isKilled(t, finger)
		if killed {
			f.operator = startWith(t, o)
		}
		f.settle(t)

		text := fmt.Sprintf("killed after %d writes, the last of them %s", writes, finger.lastRequest())
		require.Empty(t, cmp.Diff(before, f.uids(t)), text)
		set := f.set(t)
		require.Equal(t, want, template(set), text)
		for ordinal := range 2 {
			require.Equal(t, want, has(f.claim(t, ordinal)), text)
			require.True(t, metav1.IsControlledBy(f.pod(t, ordinal), set), text)
		}
		f.eventuallyOwned(t, set, false)
		require.NoError(t, f.operator.Stop(), text)
		require.Less(t, writes, 40, "a growth does not take so many")
		if !killed {
			require.Greater(t, writes, 5, "a growth takes more: %s", text)
		}
	}
}

// isKilled waits until the operator is killed, or has nothing left to do.
func (f fixture) isKilled(t *testing.T, finger *killingProxy) bool {
	t.Helper()
	killed := false
	eventually(t, func(ctx context.Context) error {
		select {
		case <-finger.killed:
			killed = true
			return nil
		default:
			if err := f.isAtRest(ctx); err != nil {
				return err
			}
			// The operator may still write an event, which must not be the fatal write.
			return expect(finger.disarm(), "the write that brought all to rest was its last")
		}
	})
	return killed
}

// TestDeletedInTheMidst deletes a BookStore while its set is deleted and not yet recreated: its
// pods, which have no owner then, are deleted, and its claims follow its policy.
func TestDeletedInTheMidst(t *testing.T) {
	longform.Only(t)
	for name, retain := range map[string]bool{"claims are retained": true, "claims go": false} {
		t.Run(name, func(t *testing.T) {
			process := startWith(t, installed(t))
			f := newFixture(t, process, retaining(retain))
			require.NoError(t, process.Stop())
			set := f.set(t)
			require.NoError(t, admin(t).Delete(t.Context(), set, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
			f.waitUntilGone(t, set.Name, &appsv1.StatefulSet{})
			require.Empty(t, f.pod(t, 0).OwnerReferences)
			f.delete(t)

			startWith(t, installed(t))
			f.waitUntilGone(t, f.name, f.named())
			for ordinal := range 2 {
				f.waitUntilGone(t, f.podName(ordinal), &corev1.Pod{})
				if retain {
					require.Nil(t, f.claim(t, ordinal).DeletionTimestamp)
				} else {
					f.waitUntilGone(t, f.claimName(ordinal), &corev1.PersistentVolumeClaim{})
				}
			}
		})
	}
}
