//nolint:lll // a case a line, as in the table of a test
package corpus

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagev1alpha1 "k8s.io/api/storage/v1alpha1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func storage() []Entry {
	return []Entry{
		{"core/v1/PersistentVolumeClaim/plain", claim("10Gi")},
		{"core/v1/PersistentVolumeClaim/half", claim("0.5Gi")},
		{"core/v1/PersistentVolumeClaim/no-class", noClassClaim()},
		{"core/v1/PersistentVolumeClaim/restored", restoredClaim()},
		{"core/v1/PersistentVolume/csi", csiVolume()},
		{"core/v1/PersistentVolume/local", localVolume()},
		{"storage/v1/StorageClass/fast", &storagev1.StorageClass{
			ObjectMeta: global("fast"), Provisioner: "csi.example.org", Parameters: map[string]string{"type": "ssd", "encrypted": "true", "empty": ""},
			ReclaimPolicy: new(corev1.PersistentVolumeReclaimRetain), MountOptions: []string{}, AllowVolumeExpansion: new(true),
			VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
			AllowedTopologies: []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{
				Key: "topology.kubernetes.io/zone", Values: []string{"a", "b"},
			}}}, {}},
		}},
		{"storage/v1/CSIDriver/plain", &storagev1.CSIDriver{ObjectMeta: global("csi.example.org"), Spec: storagev1.CSIDriverSpec{
			AttachRequired: new(false), PodInfoOnMount: new(true), RequiresRepublish: new(false), StorageCapacity: new(true),
			FSGroupPolicy: new(storagev1.FileFSGroupPolicy), VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{},
			TokenRequests: []storagev1.TokenRequest{{Audience: "", ExpirationSeconds: new(int64(600))}},
		}}},
		{"storage/v1/CSINode/plain", &storagev1.CSINode{ObjectMeta: global("node-1"), Spec: storagev1.CSINodeSpec{
			Drivers: []storagev1.CSINodeDriver{{Name: "csi.example.org", NodeID: "1", TopologyKeys: []string{}, Allocatable: &storagev1.VolumeNodeResources{}}},
		}}},
		{"storage/v1/CSINode/no-drivers", &storagev1.CSINode{ObjectMeta: global("node-2")}},
		{"storage/v1/CSIStorageCapacity/plain", &storagev1.CSIStorageCapacity{
			ObjectMeta: named("capacity"), NodeTopology: &metav1.LabelSelector{}, StorageClassName: "fast", Capacity: new(resource.MustParse("1Ti")),
		}},
		{"storage/v1/VolumeAttachment/inline", &storagev1.VolumeAttachment{ObjectMeta: global("attached"), Spec: storagev1.VolumeAttachmentSpec{
			Attacher: "csi.example.org", NodeName: "node-1", Source: storagev1.VolumeAttachmentSource{InlineVolumeSpec: &localVolume().Spec},
		}}},
		{"storage/v1/VolumeAttachment/no-source", &storagev1.VolumeAttachment{ObjectMeta: global("attached")}},
		{"storage/v1beta1/StorageClass/plain", &storagev1beta1.StorageClass{ObjectMeta: global("old"), Provisioner: "example.org/old"}},
		{"storage/v1alpha1/VolumeAttachment/plain", &storagev1alpha1.VolumeAttachment{ObjectMeta: global("older"), Spec: storagev1alpha1.VolumeAttachmentSpec{
			Source: storagev1alpha1.VolumeAttachmentSource{PersistentVolumeName: new("")},
		}}},
	}
}

// noClassClaim wants no class, which is not the same as the default class.
func noClassClaim() *corev1.PersistentVolumeClaim {
	c := claim("1")
	c.Spec.StorageClassName = new("")
	c.Spec.Selector = &metav1.LabelSelector{}
	c.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
	return c
}

func restoredClaim() *corev1.PersistentVolumeClaim {
	c := claim("1Gi")
	c.Spec.Resources.Limits = corev1.ResourceList{}
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{}
	c.Spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: new("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: "monday"}
	c.Spec.DataSourceRef = &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "other", Namespace: new("")}
	c.Spec.VolumeAttributesClassName = new("gold")
	return c
}

func csiVolume() *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: global("pv-1"), Spec: corev1.PersistentVolumeSpec{
		Capacity:    corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(5<<30, resource.BinarySI)},
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		ClaimRef: &corev1.ObjectReference{}, MountOptions: []string{"noatime"}, StorageClassName: "fast",
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
			Driver: "csi.example.org", VolumeHandle: "1", ReadOnly: true, VolumeAttributes: map[string]string{},
			NodeStageSecretRef: &corev1.SecretReference{Name: "stage"},
		}},
	}}
}

func localVolume() *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: global("pv-2"), Spec: corev1.PersistentVolumeSpec{
		Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("100G")},
		PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/mnt", FSType: new("")}},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpGt, Values: []string{"1"}}},
		}}}},
	}}
}
