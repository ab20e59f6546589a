package cluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/trueup-go/trueup/test/harness/storage"
)

// The probes are written here as kube-controller-manager would write claims, as
// kube-controller-manager may be dead.

// provisionerAtWork waits until a claim gets a volume.
func (c *Cluster) provisionerAtWork(ctx context.Context) error {
	claims := c.clients.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault)
	claim := probeClaim(Provisioner)
	claim.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": storage.Driver}
	created, err := claims.Create(ctx, claim, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("cannot create a claim: %w", err)
	}
	err = c.until(ctx, "a claim's volume", func(ctx context.Context) error {
		_, err := c.clients.CoreV1().PersistentVolumes().Get(ctx, "pvc-"+string(created.UID), metav1.GetOptions{})
		return err
	})
	return errors.Join(err, claims.Delete(context.WithoutCancel(ctx), created.Name, metav1.DeleteOptions{}))
}

// resizerAtWork waits until the resizer has written to a claim that wants to grow.
func (c *Cluster) resizerAtWork(ctx context.Context) error {
	claims := c.clients.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault)
	claim := probeClaim(Resizer)
	claim.Spec.VolumeName = claim.Name
	claim, err := claims.Create(ctx, claim, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("cannot create a claim: %w", err)
	}
	err = c.resizerTouches(ctx, claim)
	return errors.Join(err, claims.Delete(context.WithoutCancel(ctx), claim.Name, metav1.DeleteOptions{}))
}

// resizerTouches binds the claim to a volume smaller than the request.
func (c *Cluster) resizerTouches(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	claims, volumes := c.clients.CoreV1().PersistentVolumeClaims(claim.Namespace), c.clients.CoreV1().PersistentVolumes()
	volume, err := volumes.Create(ctx, smallVolume(claim), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("cannot create a volume: %w", err)
	}
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: volume.Spec.Capacity}
	claim.ResourceVersion = "" // kube-controller-manager may be alive, and writes the same
	_, err = claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	if err == nil {
		err = c.until(ctx, "a claim that wants to grow", func(ctx context.Context) error {
			live, err := claims.Get(ctx, claim.Name, metav1.GetOptions{})
			if err == nil && len(live.Status.AllocatedResources) == 0 {
				return errors.New("the resizer has not written to it yet")
			}
			return err
		})
	}
	return errors.Join(err, volumes.Delete(context.WithoutCancel(ctx), volume.Name, metav1.DeleteOptions{}))
}

func probeClaim(component Component) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: probe(component)}
	claim.Name = claim.GenerateName + rand.String(10)
	claim.Spec = corev1.PersistentVolumeClaimSpec{
		AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		StorageClassName: new(storage.ExpandableClass),
		Resources:        corev1.VolumeResourceRequirements{Requests: gibibytes(2)},
	}
	return claim
}

// smallVolume is a volume of the claim's name that has less than the claim wants.
func smallVolume(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: claim.Name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      gibibytes(1),
			AccessModes:                   claim.Spec.AccessModes,
			StorageClassName:              *claim.Spec.StorageClassName,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim",
				Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: storage.Driver, VolumeHandle: claim.Name},
			},
		},
	}
}

func gibibytes(count int64) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(count<<30, resource.BinarySI)}
}
