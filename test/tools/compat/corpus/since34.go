//go:build !before34

//nolint:lll // a case a line, as in the table of a test
package corpus

import (
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func since34() []Entry {
	return []Entry{
		{"core/v1/Pod/newer", newerPod()},
		{"autoscaling/v2/HorizontalPodAutoscaler/tolerance", tolerantAutoscaler()},
		{"networking/v1/ServiceCIDR/plain", &networkingv1.ServiceCIDR{
			ObjectMeta: global("cidr"), Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.0.0.0/24", "fd00::/64"}},
		}},
		{"networking/v1/IPAddress/plain", &networkingv1.IPAddress{
			ObjectMeta: global("192.0.2.1"), Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{}},
		}},
		{"storage/v1/VolumeAttributesClass/empty", &storagev1.VolumeAttributesClass{ObjectMeta: global("gold"), Parameters: map[string]string{}}},
		{"certificates/v1beta1/ClusterTrustBundle/plain", &certificatesv1beta1.ClusterTrustBundle{
			ObjectMeta: global("ca"), Spec: certificatesv1beta1.ClusterTrustBundleSpec{TrustBundle: "-----BEGIN CERTIFICATE-----\r\n"},
		}},
		{"coordination/v1beta1/LeaseCandidate/plain", &coordinationv1beta1.LeaseCandidate{
			ObjectMeta: named("shop-0"), Spec: coordinationv1beta1.LeaseCandidateSpec{LeaseName: "leader", PingTime: new(microMoment())},
		}},
		{"admissionregistration/v1beta1/MutatingAdmissionPolicy/plain", &admissionregistrationv1beta1.MutatingAdmissionPolicy{
			ObjectMeta: global("team"), Spec: admissionregistrationv1beta1.MutatingAdmissionPolicySpec{
				Mutations: []admissionregistrationv1beta1.Mutation{{ApplyConfiguration: &admissionregistrationv1beta1.ApplyConfiguration{}}, {}},
			},
		}},
		{"resource/v1/ResourceClaim/gpu", gpuClaim()},
		{"resource/v1/ResourceClaim/nothing", &resourcev1.ResourceClaim{ObjectMeta: named("nothing")}},
		{"resource/v1/ResourceClaimTemplate/gpu", &resourcev1.ResourceClaimTemplate{
			ObjectMeta: named("gpu"), Spec: resourcev1.ResourceClaimTemplateSpec{Spec: gpuClaim().Spec},
		}},
		{"resource/v1/DeviceClass/gpu", &resourcev1.DeviceClass{ObjectMeta: global("gpu"), Spec: resourcev1.DeviceClassSpec{
			Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: "device.driver == \"gpu\" && 1 < 2"}}, {}},
			Config:    []resourcev1.DeviceClassConfiguration{}, ExtendedResourceName: new("example.org/gpu"),
		}}},
		{"resource/v1/ResourceSlice/node", resourceSlice()},
		{"resource/v1/ResourceSlice/no-devices", &resourcev1.ResourceSlice{ObjectMeta: global("none"), Spec: resourcev1.ResourceSliceSpec{
			Devices: []resourcev1.Device{}, AllNodes: new(true),
		}}},
	}
}

func newerPod() *corev1.Pod {
	app := container("app")
	app.Env = []corev1.EnvVar{{Name: "FILE", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{Path: "env", Key: "A"}}}}
	app.Lifecycle = &corev1.Lifecycle{StopSignal: new(corev1.SIGUSR1)}
	app.RestartPolicyRules = []corev1.ContainerRestartRule{{
		Action: corev1.ContainerRestartRuleActionRestart, ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Values: []int32{}},
	}}
	return &corev1.Pod{ObjectMeta: named("newer"), Spec: corev1.PodSpec{
		HostnameOverride: new(""), Containers: []corev1.Container{app},
		Volumes: []corev1.Volume{{Name: "identity", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{PodCertificate: &corev1.PodCertificateProjection{SignerName: "example.org/ca"}}},
		}}}},
	}}
}

func tolerantAutoscaler() *autoscalingv2.HorizontalPodAutoscaler {
	a := behavedAutoscaler()
	a.Spec.Behavior.ScaleUp.Tolerance = new(resource.MustParse("0.05"))
	a.Spec.Behavior.ScaleDown.Tolerance = &resource.Quantity{}
	return a
}

func gpuClaim() *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{ObjectMeta: named("gpu"), Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
		Requests: []resourcev1.DeviceRequest{
			{Name: "one", Exactly: &resourcev1.ExactDeviceRequest{
				DeviceClassName: "gpu", Count: 1<<63 - 1, Tolerations: []resourcev1.DeviceToleration{{}},
				Capacity: &resourcev1.CapacityRequirements{
					Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("0.5Gi"), "zero": {}},
				},
			}},
			{Name: "any", FirstAvailable: []resourcev1.DeviceSubRequest{{Name: "big", DeviceClassName: "gpu"}, {}}},
			{Name: "none", FirstAvailable: []resourcev1.DeviceSubRequest{}},
		},
		Constraints: []resourcev1.DeviceConstraint{{Requests: []string{}, MatchAttribute: new(resourcev1.FullyQualifiedName("example.org/numa"))}},
	}}}
}

func resourceSlice() *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{ObjectMeta: global("node-1"), Spec: resourcev1.ResourceSliceSpec{
		Driver: "gpu.example.org", NodeName: new("node-1"), Pool: resourcev1.ResourcePool{Name: "node-1", ResourceSliceCount: 1},
		Devices: []resourcev1.Device{
			{
				Name: "gpu-0", Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("80Gi")}, "zero": {}},
				Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"index": {IntValue: new(int64(0))}, "nothing": {}},
				Taints:     []resourcev1.DeviceTaint{{Key: "broken", Effect: resourcev1.DeviceTaintEffectNoExecute, TimeAdded: new(moment())}},
			},
			{},
		},
		SharedCounters: []resourcev1.CounterSet{{Name: "c", Counters: map[string]resourcev1.Counter{"a": {Value: resource.MustParse("1e3")}, "b": {}}}},
	}}
}
