package storage_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/storage"
)

// The states of a claim of 2Gi that is to have 3Gi.
const (
	asked      = "2Gi/0"
	resizing   = "2Gi/3Gi ControllerResizeInProgress Resizing"
	pending    = "2Gi/3Gi NodeResizePending FileSystemResizePending+Resizing"
	nodeAtWork = "2Gi/3Gi NodeResizeInProgress FileSystemResizePending+Resizing"
	grown      = "3Gi/3Gi"
)

func TestGrowsOnline(t *testing.T) {
	f := newFixture(t)
	claim := f.mounted()
	growth := f.grow(claim, "3Gi")
	require.Empty(t, cmp.Diff([]string{asked, resizing, pending, nodeAtWork, grown}, growth.until(grown)))
	volume := &corev1.PersistentVolume{}
	require.NoError(t, f.Get(f.ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, volume))
	require.Equal(t, "3Gi", volume.Spec.Capacity.Storage().String())
}

func TestGrowsOfflineWhenThePodIsRestarted(t *testing.T) {
	f := newFixture(t)
	storage.Settings{Nodes: storage.Offline}.Use(t, shared.Dir())
	claim, other := f.mounted(), f.bound("other")
	growth, otherGrowth := f.grow(claim, "3Gi"), f.grow(other, "3Gi")
	growth.until(nodeAtWork)

	// The nodes have something to do in the meantime: a pod that comes later.
	otherGrowth.until(pending)
	f.startPod("other")
	require.Empty(t, cmp.Diff([]string{asked, resizing, pending, nodeAtWork, grown}, otherGrowth.until(grown)))
	require.NoError(t, f.Get(f.ctx, client.ObjectKeyFromObject(claim), claim))
	require.Equal(t, nodeAtWork, stateOf(claim))

	f.stopPod("data")
	f.startPod("data")
	require.Empty(t, cmp.Diff([]string{asked, resizing, pending, nodeAtWork, grown}, growth.until(grown)))
}

func TestNodesDoNothingWhenATestPlaysThem(t *testing.T) {
	f := newFixture(t)
	storage.Settings{Nodes: storage.Off}.Use(t, shared.Dir())
	claim := f.mounted()
	key := client.ObjectKeyFromObject(claim)
	require.ErrorContains(t, storage.FinishResize(f.ctx, f, key), "nothing is to be done on a node")
	growth := f.grow(claim, "3Gi")
	growth.until(pending)
	require.NoError(t, storage.StartResize(f.ctx, f, key))
	growth.until(nodeAtWork)
	require.NoError(t, storage.FinishResize(f.ctx, f, key))
	require.Empty(t, cmp.Diff([]string{asked, resizing, pending, nodeAtWork, grown}, growth.until(grown)))
}

// TestResizerDiesInTheMidst kills the resizer during a request to the driver, which the restarted
// resizer repeats.
func TestResizerDiesInTheMidst(t *testing.T) {
	f := newFixture(t)
	claim := f.mounted()
	storage.Settings{Failures: []storage.Failure{{Volume: claim.Spec.VolumeName, Hang: true}}}.Use(t, shared.Dir())
	growth := f.grow(claim, "3Gi")
	growth.until(resizing)
	require.NoError(t, shared.Kill(cluster.Resizer))
	require.NoError(t, storage.Settings{}.Write(shared.Dir()))
	require.NoError(t, shared.Restart(t.Context(), cluster.Resizer))
	require.Empty(t, cmp.Diff([]string{asked, resizing, pending, nodeAtWork, grown}, growth.until(grown)))
}

func TestStorageGoesOnWhenTheDriverIsBack(t *testing.T) {
	f := newFixture(t)
	claim := f.mounted()
	require.NoError(t, shared.Kill(cluster.StorageDriver))
	growth := f.grow(claim, "3Gi")
	require.NoError(t, shared.Restart(t.Context(), cluster.StorageDriver))
	require.Empty(t, cmp.Diff([]string{asked, resizing, pending, nodeAtWork, grown}, growth.until(grown)))
	f.bound("another")
}
