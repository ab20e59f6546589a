package storage_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/storage"
)

func TestClaimGetsAVolumeThatGoesWithIt(t *testing.T) {
	f := newFixture(t)
	claim := f.bound("data")
	require.Equal(t, storage.ExpandableClass, *claim.Spec.StorageClassName)
	require.Equal(t, "2Gi", claim.Status.Capacity.Storage().String())
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName}}
	require.NoError(t, f.Get(f.ctx, client.ObjectKeyFromObject(volume), volume))
	require.Equal(t, volume.Name, volume.Spec.CSI.VolumeHandle, "by which failures name it")

	require.NoError(t, f.Delete(f.ctx, claim))
	f.awaitGone(volume)
}

func TestWhatTheServerRefuses(t *testing.T) {
	f := newFixture(t)
	fixed := f.claim("fixed", new(storage.FixedClass))
	f.await(fixed, func() bool { return fixed.Status.Phase == corev1.ClaimBound })
	const name = `persistentvolumeclaims "fixed" is forbidden: `
	require.EqualError(t, f.request(fixed, "3Gi"), name+"only dynamically provisioned pvc can be resized and "+
		"the storageclass that provisions the pvc must support resize")

	claim := f.bound("data")
	const field = `PersistentVolumeClaim "data" is invalid: spec.resources.requests.storage: Forbidden: `
	require.EqualError(t, f.request(claim, "1Gi"), field+"field can not be less than status.capacity")

	unbound := f.claim("unbound", new("none"))
	require.ErrorContains(t, f.request(unbound, "3Gi"), `PersistentVolumeClaim "unbound" is invalid: spec: Forbidden: spec is immutable `+
		"after creation except resources.requests and volumeAttributesClassName for bound claims\n")
}
