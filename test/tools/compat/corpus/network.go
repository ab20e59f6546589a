//nolint:lll // a case a line, as in the table of a test
package corpus

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func network() []Entry {
	return []Entry{
		{"networking/v1/NetworkPolicy/silent", policy(networkingv1.NetworkPolicySpec{})},
		{"networking/v1/NetworkPolicy/closed", policy(networkingv1.NetworkPolicySpec{
			Ingress: []networkingv1.NetworkPolicyIngressRule{}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		})},
		{"networking/v1/NetworkPolicy/open", policy(networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{}}})},
		{"networking/v1/NetworkPolicy/egress-closed", policy(networkingv1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{}})},
		{"networking/v1/NetworkPolicy/empty-from", policy(networkingv1.NetworkPolicySpec{
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{}, Ports: []networkingv1.NetworkPolicyPort{}}},
			PolicyTypes: []networkingv1.PolicyType{},
		})},
		{"networking/v1/NetworkPolicy/every-namespace", policy(networkingv1.NetworkPolicySpec{
			PodSelector: *selector(),
			Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{
				{NamespaceSelector: &metav1.LabelSelector{}}, {PodSelector: &metav1.LabelSelector{}}, {},
			}}},
		})},
		{"networking/v1/NetworkPolicy/ports", policy(networkingv1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{{
			To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0", Except: []string{}}}},
			Ports: []networkingv1.NetworkPolicyPort{
				{Port: new(intstr.FromString("http")), Protocol: new(corev1.ProtocolTCP)},
				{Port: new(intstr.FromInt32(1024)), EndPort: new(int32(65535))},
				{Port: new(intstr.FromInt32(0))},
				{},
			},
		}}})},
		{"networking/v1/Ingress/tls", ingress()},
		{"networking/v1/Ingress/default-backend", &networkingv1.Ingress{ObjectMeta: named("fallback"), Spec: networkingv1.IngressSpec{
			DefaultBackend: &networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{Kind: "Bucket", Name: "static"}},
			Rules:          []networkingv1.IngressRule{}, TLS: []networkingv1.IngressTLS{{}},
		}}},
		{"networking/v1/IngressClass/plain", &networkingv1.IngressClass{ObjectMeta: global("shop"), Spec: networkingv1.IngressClassSpec{
			Controller: "example.org/ingress", Parameters: &networkingv1.IngressClassParametersReference{Kind: "Params", Name: "x", Namespace: new("")},
		}}},
		{"networking/v1beta1/Ingress/plain", &networkingv1beta1.Ingress{ObjectMeta: named("old"), Spec: networkingv1beta1.IngressSpec{
			Backend: &networkingv1beta1.IngressBackend{ServiceName: "shop", ServicePort: intstr.FromString("http")},
			Rules: []networkingv1beta1.IngressRule{{IngressRuleValue: networkingv1beta1.IngressRuleValue{HTTP: &networkingv1beta1.HTTPIngressRuleValue{
				Paths: []networkingv1beta1.HTTPIngressPath{{}},
			}}}},
		}}},
		{"discovery/v1/EndpointSlice/external", endpointSlice()},
		{"discovery/v1/EndpointSlice/empty", &discoveryv1.EndpointSlice{
			ObjectMeta: named("none"), AddressType: discoveryv1.AddressTypeIPv6, Endpoints: []discoveryv1.Endpoint{}, Ports: []discoveryv1.EndpointPort{},
		}},
		{"discovery/v1/EndpointSlice/nil-endpoints", &discoveryv1.EndpointSlice{ObjectMeta: named("none"), AddressType: discoveryv1.AddressTypeFQDN}},
	}
}

func policy(spec networkingv1.NetworkPolicySpec) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{ObjectMeta: named("policy"), Spec: spec}
}

func ingress() *networkingv1.Ingress {
	backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
		Name: "shop", Port: networkingv1.ServiceBackendPort{Name: "http"},
	}}
	return &networkingv1.Ingress{ObjectMeta: named("shop"), Spec: networkingv1.IngressSpec{
		IngressClassName: new("nginx"),
		TLS:              []networkingv1.IngressTLS{{Hosts: []string{"shop.example.org"}, SecretName: "shop-tls"}, {Hosts: []string{}}},
		Rules: []networkingv1.IngressRule{
			{Host: "*.example.org"},
			{Host: "münchen.example.org", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{
					{Path: "/", PathType: new(networkingv1.PathTypePrefix), Backend: backend},
					{Path: "/a%20b?c=<d>&e", PathType: new(networkingv1.PathTypeExact), Backend: networkingv1.IngressBackend{
						Service: &networkingv1.IngressServiceBackend{Name: "shop", Port: networkingv1.ServiceBackendPort{Number: 80}},
					}},
					{Backend: networkingv1.IngressBackend{}},
				},
			}}},
			{IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{}}},
		},
	}}
}

func endpointSlice() *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: named("external"), AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{
			{
				Addresses: []string{"192.0.2.1"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true), Serving: new(false)},
				DeprecatedTopology: map[string]string{}, Zone: new(""), Hints: &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "a"}}},
				TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "shop"},
			},
			{},
		},
		Ports: []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(0)), Protocol: new(corev1.ProtocolUDP)}, {}},
	}
}
