//go:build !before37

//nolint:lll // a case a line, as in the table of a test
package corpus

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func since37() []Entry {
	return []Entry{
		{"core/v1/Pod/newest", &corev1.Pod{ObjectMeta: named("newest"), Spec: corev1.PodSpec{
			SchedulingGroup:    &corev1.PodSchedulingGroup{PodGroupName: new("group")},
			EvictionResponders: []corev1.EvictionResponder{{Name: "example.org/drain", Priority: new(int32(0))}, {}},
			Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{DefaultUser: new(int64(0))},
			}}},
		}}},
		{"scheduling/v1beta1/Workload/gang", &schedulingv1beta1.Workload{ObjectMeta: named("gang"), Spec: schedulingv1beta1.WorkloadSpec{
			PodGroupTemplates: []schedulingv1beta1.PodGroupTemplate{
				{Name: "workers", SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 4}}},
				{Name: "leader", SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}}},
				{},
			},
		}}},
		{"scheduling/v1beta1/PodGroup/nothing", &schedulingv1beta1.PodGroup{ObjectMeta: named("nothing")}},
		{"storagemigration/v1/StorageVersionMigration/plain", &storagemigrationv1.StorageVersionMigration{
			ObjectMeta: global("pods"), Spec: storagemigrationv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Resource: "pods"}},
		}},
		{"certificates/v1/ClusterTrustBundle/plain", &certificatesv1.ClusterTrustBundle{
			ObjectMeta: global("ca"), Spec: certificatesv1.ClusterTrustBundleSpec{SignerName: "example.org/ca"},
		}},
		{"certificates/v1/PodCertificateRequest/nil-request", &certificatesv1.PodCertificateRequest{ObjectMeta: named("shop")}},
		{"resource/v1/DeviceTaintRule/plain", &resourcev1.DeviceTaintRule{ObjectMeta: global("broken"), Spec: resourcev1.DeviceTaintRuleSpec{
			DeviceSelector: &resourcev1.DeviceTaintSelector{}, Taint: resourcev1.DeviceTaint{Key: "broken"},
		}}},
		{"lifecycle/v1alpha1/EvictionRequest/nothing", &lifecyclev1alpha1.EvictionRequest{ObjectMeta: named("shop")}},
	}
}
