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
	b := newBench(t)
	claim := b.mounted()
	growth := b.grow(claim, "3Gi")
	require.Empty(t, cmp.Diff([]string{asked, resizing, pending, nodeAtWork, grown}, growth.until(grown)))
	volume := &corev1.PersistentVolume{}
	require.NoError(t, b.Get(b.ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, volume))
	require.Equal(t, "3Gi", volume.Spec.Capacity.Storage().String())
}

func TestGrowsOfflineWhenThePodIsRestarted(t *testing.T) {
	b := newBench(t)
	storage.Settings{Nodes: storage.Offline}.Use(t, shared.Dir())
	claim, other := b.mounted(), b.bound("other")
	growth, otherGrowth := b.grow(claim, "3Gi"), b.grow(other, "3Gi")
	growth.until(nodeAtWork)

	// The nodes have something to do in the meantime: a pod that comes later.
	otherGrowth.until(pending)
	b.startPod("other")
	require.Empty(t, cmp.Diff([]string{asked, resizing, pending, nodeAtWork, grown}, otherGrowth.until(grown)))
	require.NoError(t, b.Get(b.ctx, client.ObjectKeyFromObject(claim), claim))
	require.Equal(t, nodeAtWork, stateOf(claim))

	b.stopPod("data")
	b.startPod("data")
	require.Empty(t, cmp.Diff([]string{asked, resizing, pending, nodeAtWork, grown}, growth.until(grown)))
}

func TestNodesDoNothingWhenATestPlaysThem(t *testing.T) {
	b := newBench(t)
	storage.Settings{Nodes: storage.Off}.Use(t, shared.Dir())
	claim := b.mounted()
	key := client.ObjectKeyFromObject(claim)
	require.ErrorContains(t, storage.FinishResize(b.ctx, b, key), "nothing is to be done on a node")
	growth := b.grow(claim, "3Gi")
	growth.until(pending)
	require.NoError(t, storage.StartResize(b.ctx, b, key))
	growth.until(nodeAtWork)
	require.NoError(t, storage.FinishResize(b.ctx, b, key))
	require.Empty(t, cmp.Diff([]string{asked, resizing, pending, nodeAtWork, grown}, growth.until(grown)))
}

// TestResizerDiesInTheMidst kills the resizer during a request to the driver, which the restarted
// resizer repeats.
func TestResizerDiesInTheMidst(t *testing.T) {
	b := newBench(t)
	claim := b.mounted()
	storage.Settings{Failures: []storage.Failure{{Volume: claim.Spec.VolumeName, Hang: true}}}.Use(t, shared.Dir())
	growth := b.grow(claim, "3Gi")
	growth.until(resizing)
	require.NoError(t, shared.Kill(cluster.Resizer))
	require.NoError(t, storage.Settings{}.Write(shared.Dir()))
	require.NoError(t, shared.Restart(t.Context(), cluster.Resizer))
	require.Empty(t, cmp.Diff([]string{asked, resizing, pending, nodeAtWork, grown}, growth.until(grown)))
}

func TestStorageGoesOnWhenTheDriverIsBack(t *testing.T) {
	b := newBench(t)
	claim := b.mounted()
	require.NoError(t, shared.Kill(cluster.StorageDriver))
	growth := b.grow(claim, "3Gi")
	require.NoError(t, shared.Restart(t.Context(), cluster.StorageDriver))
	require.Empty(t, cmp.Diff([]string{asked, resizing, pending, nodeAtWork, grown}, growth.until(grown)))
	b.bound("another")
}
