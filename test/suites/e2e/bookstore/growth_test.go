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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/harness/storage"
)

// TestGrow resizes every claim and recreates the set without restarting its pods.
func TestGrow(t *testing.T) {
	process := start(t)
	for name, retain := range map[string]bool{"claims are retained": true, "claims go with the set": false} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, process, retaining(retain))
			storage.Settings{Nodes: storage.Off}.Use(t, shared.Dir())
			before, set := f.uids(t), f.set(t)
			require.Equal(t, "2Gi", template(set))
			told := f.listen(t)

			f.grow(t, "3Gi")
			f.simulateNodes(t)
			f.settle(t)
			require.Empty(t, cmp.Diff(before, f.uids(t)), "no pod and no claim was made anew")
			for ordinal := range 2 {
				require.Equal(t, "3Gi", has(f.claim(t, ordinal)))
			}
			anew := f.set(t)
			require.Equal(t, "3Gi", template(anew))
			require.NotEqual(t, set.UID, anew.UID)
			require.True(t, metav1.IsControlledBy(f.pod(t, 0), anew), "the pod has the new set for its controller")
			f.eventuallyOwned(t, anew, retain)
			require.Equal(t, []string{
				v1alpha1.ReasonDone, v1alpha1.ReasonResizing, v1alpha1.ReasonFileSystemResizePending, v1alpha1.ReasonDone,
			}, told())

			f.change(t, `{"bookDB":{"replicas":3}}`)
			f.settle(t)
			require.Equal(t, "3Gi", asks(f.claim(t, 2)), "a new replica has the new size")
		})
	}
}

// TestGrowCosts counts the requests of a resize: one for each claim, and four for the set: the
// refused change, the dry run that shows the reason, the deletion and the creation.
func TestGrowCosts(t *testing.T) {
	f := newFixture(t, start(t))
	mark := shared.Mark()
	f.grow(t, "3Gi")
	f.settle(t)
	counts := f.requests(t, mark)
	require.Equal(t, 2, counts["patch persistentvolumeclaims"], "%v", counts)
	require.Equal(t, 1, counts["delete statefulsets"], "%v", counts)
	require.LessOrEqual(t, counts["patch statefulsets"], 4, "%v", counts) // the change, the dry run, and the creation, which may meet the old one
	require.Zero(t, counts["delete pods"]+counts["patch deployments"]+counts["patch services"], "%v", counts)
}

func TestGrowTwiceInARow(t *testing.T) {
	longform.Only(t)
	f := newFixture(t, start(t))
	before := f.uids(t)
	f.grow(t, "3Gi")
	f.grow(t, "4Gi")
	f.settle(t)
	require.Empty(t, cmp.Diff(before, f.uids(t)))
	require.Equal(t, "4Gi", template(f.set(t)))
	require.Equal(t, "4Gi", has(f.claim(t, 0)))
	require.Equal(t, "4Gi", has(f.claim(t, 1)))
}

// TestPodComesBack: a pod returns with the same claim, before and after a resize.
func TestPodComesBack(t *testing.T) {
	f := newFixture(t, start(t))
	claim := f.claim(t, 0).UID
	for _, size := range []string{"2Gi", "3Gi"} {
		f.grow(t, size)
		f.settle(t)
		old := f.pod(t, 0)
		require.NoError(t, admin(t).Delete(t.Context(), old))
		f.waitForAnotherPod(t, 0, old.UID)
		f.settle(t)
		require.Equal(t, claim, f.claim(t, 0).UID)
		require.Equal(t, size, has(f.claim(t, 0)))
	}
}

// TestHandGrown leaves a claim alone that somebody made larger than asked for.
func TestHandGrown(t *testing.T) {
	f := newFixture(t, start(t))
	f.patch(t, f.claim(t, 0), `{"spec":{"resources":{"requests":{"storage":"5Gi"}}}}`)
	eventually(t, func(context.Context) error { return expect(has(f.claim(t, 0)) == "5Gi", "it does not grow") })
	f.settle(t)
	f.grow(t, "3Gi")
	f.settle(t)
	require.Equal(t, "5Gi", asks(f.claim(t, 0)))
	require.Equal(t, "3Gi", has(f.claim(t, 1)))
}

// eventuallyOwned waits until the set owns the claims, or does not, as the policy demands.
func (f fixture) eventuallyOwned(t *testing.T, set *appsv1.StatefulSet, retain bool) {
	t.Helper()
	eventually(t, func(context.Context) error {
		for ordinal := range int(*set.Spec.Replicas) {
			owners := f.claim(t, ordinal).OwnerReferences
			if retain && len(owners) != 0 || !retain && (len(owners) != 1 || owners[0].UID != set.UID) {
				return fmt.Errorf("the owners of claim %d are %v", ordinal, owners)
			}
		}
		return nil
	})
}

func (f fixture) waitForAnotherPod(t *testing.T, ordinal int, than types.UID) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		var pod corev1.Pod
		key := client.ObjectKey{Namespace: f.namespace, Name: f.podName(ordinal)}
		if err := admin(t).Get(ctx, key, &pod); err != nil {
			return err
		}
		return expect(pod.UID != than && pod.Status.Phase == corev1.PodRunning, "pod %s does not run anew", pod.Name)
	})
}
