package conformance_test

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func claim() kindCase {
	return kindCase{
		name: "PersistentVolumeClaim",
		desired: func() client.Object {
			return &corev1.PersistentVolumeClaim{
				ObjectMeta: named("claim"),
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1.5Gi")},
					},
				},
			}
		},
		settled: is(func(p *corev1.PersistentVolumeClaim) bool { return p.Status.Phase == corev1.ClaimPending }),
		edits: []edit{
			on("a label", func(p *corev1.PersistentVolumeClaim) { p.Labels[ours] = "edited" }),
			on("no annotation", func(p *corev1.PersistentVolumeClaim) { delete(p.Annotations, ours) }),
		},
		next: then(func(p *corev1.PersistentVolumeClaim) { delete(p.Labels, ours) }),
		gone: is(func(p *corev1.PersistentVolumeClaim) bool {
			_, ok := p.Labels[ours]
			return !ok
		}),
	}
}

func volume() kindCase {
	return kindCase{
		name:   "PersistentVolume",
		rename: bySuffix,
		desired: func() client.Object {
			return &corev1.PersistentVolume{
				ObjectMeta: named("volume"),
				Spec: corev1.PersistentVolumeSpec{
					Capacity:         corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10240Mi")},
					AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
					StorageClassName: "by-hand",
					MountOptions:     []string{"hard", "nfsvers=4.1"},
					PersistentVolumeSource: corev1.PersistentVolumeSource{
						NFS: &corev1.NFSVolumeSource{Server: "nfs.example.com", Path: "/export"},
					},
				},
			}
		},
		settled: is(func(v *corev1.PersistentVolume) bool { return v.Status.Phase == corev1.VolumeAvailable }),
		edits: []edit{
			on("the capacity", func(v *corev1.PersistentVolume) { v.Spec.Capacity[corev1.ResourceStorage] = resource.MustParse("1Ti") }),
			on("an access mode more", func(v *corev1.PersistentVolume) {
				v.Spec.AccessModes = append(v.Spec.AccessModes, corev1.ReadOnlyMany)
			}),
			on("reordered options", func(v *corev1.PersistentVolume) { slices.Reverse(v.Spec.MountOptions) }),
			on("no options", func(v *corev1.PersistentVolume) { v.Spec.MountOptions = nil }),
			on("the class", func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = "edited" }),
		},
		additions: []edit{on("a reclaim policy", func(v *corev1.PersistentVolume) {
			v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRecycle
		})},
		next: then(func(v *corev1.PersistentVolume) { v.Spec.MountOptions, v.Spec.StorageClassName = nil, "" }),
		gone: is(func(v *corev1.PersistentVolume) bool {
			return v.Spec.MountOptions == nil && v.Spec.StorageClassName == ""
		}),
	}
}

func storageClass() kindCase {
	return kindCase{
		name:   "StorageClass",
		rename: bySuffix,
		desired: func() client.Object {
			return &storagev1.StorageClass{
				ObjectMeta:           named("fast"),
				Provisioner:          "csi.example.com",
				Parameters:           map[string]string{"type": "", "iops": "0.5"},
				AllowVolumeExpansion: new(true),
				MountOptions:         []string{"noatime"},
			}
		},
		edits: []edit{
			on("no expansion", func(s *storagev1.StorageClass) { s.AllowVolumeExpansion = new(false) }),
			on("a mount option more", func(s *storagev1.StorageClass) { s.MountOptions = append(s.MountOptions, "ro") }),
			on("no mount options", func(s *storagev1.StorageClass) { s.MountOptions = nil }),
		},
		additions: []edit{on("topologies", func(s *storagev1.StorageClass) {
			zone := corev1.TopologySelectorLabelRequirement{Key: corev1.LabelTopologyZone, Values: []string{"a"}}
			s.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{zone}}}
		})},
		next: then(func(s *storagev1.StorageClass) { s.AllowVolumeExpansion, s.MountOptions = nil, nil }),
		gone: is(func(s *storagev1.StorageClass) bool { return s.AllowVolumeExpansion == nil && s.MountOptions == nil }),
	}
}

func csiDriver() kindCase {
	return kindCase{
		name:   "CSIDriver",
		rename: bySuffix,
		desired: func() client.Object {
			return &storagev1.CSIDriver{
				ObjectMeta: named("csi.example.com"),
				Spec: storagev1.CSIDriverSpec{
					AttachRequired: new(false), PodInfoOnMount: new(true),
					TokenRequests: []storagev1.TokenRequest{{Audience: ""}, {Audience: "vault", ExpirationSeconds: ptr.To[int64](3600)}},
				},
			}
		},
		edits: []edit{
			on("no pod information", func(d *storagev1.CSIDriver) { d.Spec.PodInfoOnMount = new(false) }),
			on("an audience", func(d *storagev1.CSIDriver) { d.Spec.TokenRequests[1].Audience = "edited" }),
			on("a token less", func(d *storagev1.CSIDriver) { d.Spec.TokenRequests = d.Spec.TokenRequests[1:] }),
		},
		additions: []edit{on("republishing", func(d *storagev1.CSIDriver) { d.Spec.RequiresRepublish = new(true) })},
		next:      then(func(d *storagev1.CSIDriver) { d.Spec.TokenRequests = nil }),
		gone:      is(func(d *storagev1.CSIDriver) bool { return d.Spec.TokenRequests == nil }),
	}
}
