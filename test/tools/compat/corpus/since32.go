//go:build !before32

//nolint:lll // a case a line, as in the table of a test
package corpus

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

func since32() []Entry {
	return []Entry{
		{"core/v1/Pod/claims", &corev1.Pod{ObjectMeta: named("claims"), Spec: corev1.PodSpec{
			ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("gpu")}, {}},
			Resources:      &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2000m")}},
			Containers:     []corev1.Container{{Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu", Request: "big"}}}}},
			Volumes:        []corev1.Volume{{Name: "image", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{}}}},
		}}},
		{"core/v1/Pod/empty-resources", &corev1.Pod{ObjectMeta: named("empty"), Spec: corev1.PodSpec{
			Resources: &corev1.ResourceRequirements{}, ResourceClaims: []corev1.PodResourceClaim{},
			SecurityContext: &corev1.PodSecurityContext{SupplementalGroupsPolicy: new(corev1.SupplementalGroupsPolicyStrict)},
		}}},
		{"networking/v1beta1/ServiceCIDR/plain", &networkingv1beta1.ServiceCIDR{
			ObjectMeta: global("cidr"), Spec: networkingv1beta1.ServiceCIDRSpec{CIDRs: []string{}},
		}},
		{"networking/v1beta1/IPAddress/plain", &networkingv1beta1.IPAddress{ObjectMeta: global("192.0.2.1")}},
		{"storage/v1beta1/VolumeAttributesClass/gold", &storagev1beta1.VolumeAttributesClass{
			ObjectMeta: global("gold"), DriverName: "csi.example.org", Parameters: map[string]string{"iops": "1e3"},
		}},
		{"resource/v1beta1/ResourceClaim/gpu", &resourcev1beta1.ResourceClaim{ObjectMeta: named("gpu"), Spec: resourcev1beta1.ResourceClaimSpec{
			Devices: resourcev1beta1.DeviceClaim{
				Requests: []resourcev1beta1.DeviceRequest{{Name: "gpu", DeviceClassName: "gpu.example.org", AdminAccess: new(false)}},
				Config: []resourcev1beta1.DeviceClaimConfiguration{{DeviceConfiguration: resourcev1beta1.DeviceConfiguration{
					Opaque: &resourcev1beta1.OpaqueDeviceConfiguration{Driver: "d", Parameters: runtime.RawExtension{Raw: []byte(`{"b":1.0,"a":1}`)}},
				}}},
			},
		}}},
		{"resource/v1beta1/DeviceClass/empty", &resourcev1beta1.DeviceClass{ObjectMeta: global("empty")}},
	}
}
