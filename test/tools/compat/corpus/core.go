//nolint:lll // a case a line, as in the table of a test
package corpus

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func core() []Entry {
	return []Entry{
		{"core/v1/Service/plain", service()},
		{"core/v1/Service/twin-ports", samePortService()},
		{"core/v1/Service/headless", &corev1.Service{ObjectMeta: named("database"), Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, ClusterIPs: []string{corev1.ClusterIPNone}, Selector: labels(), PublishNotReadyAddresses: true,
		}}},
		{"core/v1/Service/load-balancer", loadBalancer()},
		{"core/v1/Service/external-name", &corev1.Service{ObjectMeta: named("out"), Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeExternalName, ExternalName: "db.example.org", Selector: map[string]string{}, Ports: []corev1.ServicePort{},
		}}},
		{"core/v1/Service/target-ports", &corev1.Service{ObjectMeta: named("targets"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
			{Port: 1, TargetPort: intstr.FromInt32(0)},
			{Port: 2, TargetPort: intstr.FromString("")},
			{Port: 3, TargetPort: intstr.FromString("8080")},
			{Port: 4, TargetPort: intstr.FromInt32(8080)},
			{Port: 5, AppProtocol: new("")},
			{Port: 6, TargetPort: intstr.Parse("7")},
		}}}},
		{"core/v1/Namespace/team", &corev1.Namespace{ObjectMeta: global("team"), Spec: corev1.NamespaceSpec{
			Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes},
		}}},
		{"core/v1/Namespace/empty-finalizers", &corev1.Namespace{ObjectMeta: global("team"), Spec: corev1.NamespaceSpec{
			Finalizers: []corev1.FinalizerName{},
		}}},
		{"core/v1/Node/tainted", &corev1.Node{ObjectMeta: global("node-1"), Spec: corev1.NodeSpec{
			Unschedulable: true, PodCIDRs: []string{"10.0.0.0/24", "fd00::/64"}, ProviderID: "kind://node-1",
			Taints: []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoExecute, TimeAdded: new(moment())}, {Key: "a", Value: ""}},
		}}},
		{"core/v1/ServiceAccount/plain", &corev1.ServiceAccount{
			ObjectMeta: named("shop"), AutomountServiceAccountToken: new(false), Secrets: []corev1.ObjectReference{},
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}},
		}},
		//nolint:staticcheck // operators still write them
		{"core/v1/Endpoints/external", &corev1.Endpoints{ObjectMeta: named("out"), Subsets: []corev1.EndpointSubset{{
			Addresses: []corev1.EndpointAddress{{IP: "192.0.2.1", NodeName: new("")}}, NotReadyAddresses: []corev1.EndpointAddress{},
			Ports: []corev1.EndpointPort{{Port: 5432}},
		}, {}}}},
		{"core/v1/LimitRange/defaults", limitRange()},
		{"core/v1/ResourceQuota/compute", resourceQuota()},
		{"core/v1/Event/legacy", &corev1.Event{
			ObjectMeta: named("shop.17"), InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "shop"}, Reason: "Pulled",
			Message: "tab\tand\nline", FirstTimestamp: moment(), EventTime: microMoment(), Count: 1<<31 - 1, Series: &corev1.EventSeries{},
		}},
		{"core/v1/Binding/plain", &corev1.Binding{ObjectMeta: named("shop"), Target: corev1.ObjectReference{Kind: "Node", Name: "node-1"}}},
		{"core/v1/ComponentStatus/plain", &corev1.ComponentStatus{ObjectMeta: global("etcd-0"), Conditions: []corev1.ComponentCondition{}}},
	}
}

func service() *corev1.Service {
	return &corev1.Service{ObjectMeta: named("shop"), Spec: corev1.ServiceSpec{
		Selector: labels(),
		Ports: []corev1.ServicePort{
			{Name: "http", Port: 80, TargetPort: intstr.FromString("http")},
			{Name: "metrics", Port: 9090, TargetPort: intstr.FromInt32(9090)},
		},
	}}
}

func samePortService() *corev1.Service {
	return &corev1.Service{ObjectMeta: named("dns"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
		{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP},
		{Name: "dns-tcp", Port: 53, Protocol: corev1.ProtocolTCP, NodePort: 30053},
	}}}
}

func loadBalancer() *corev1.Service {
	s := service()
	s.Spec.Type = corev1.ServiceTypeLoadBalancer
	s.Spec.LoadBalancerSourceRanges = []string{}
	s.Spec.LoadBalancerClass = new("example.org/lb")
	s.Spec.AllocateLoadBalancerNodePorts = new(false)
	s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	s.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyCluster)
	s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}
	s.Spec.IPFamilyPolicy = new(corev1.IPFamilyPolicyPreferDualStack)
	s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: new(int32(0))}}
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	return s
}

func limitRange() *corev1.LimitRange {
	return &corev1.LimitRange{ObjectMeta: named("limits"), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{
		{
			Type: corev1.LimitTypeContainer, Default: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.5")},
			Min: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0")}, Max: corev1.ResourceList{},
		},
		{},
	}}}
}

func resourceQuota() *corev1.ResourceQuota {
	return &corev1.ResourceQuota{ObjectMeta: named("quota"), Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{"requests.cpu": resource.MustParse("1e3"), "pods": resource.MustParse("0"), "limits.memory": resource.MustParse("1024Mi")},
		ScopeSelector: &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
			{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"high"}},
		}},
		Scopes: []corev1.ResourceQuotaScope{},
	}}
}

func claim(size string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
		},
	}
}
