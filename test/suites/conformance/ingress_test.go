package conformance_test

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func ingress() kindCase {
	path := func(path string) networkingv1.HTTPIngressPath {
		return networkingv1.HTTPIngressPath{
			Path: path, PathType: new(networkingv1.PathTypePrefix),
			Backend: networkingv1.IngressBackend{
				Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Name: "http"}},
			},
		}
	}
	return kindCase{
		name: "Ingress",
		desired: func() client.Object {
			return &networkingv1.Ingress{
				ObjectMeta: named("front"),
				Spec: networkingv1.IngressSpec{
					IngressClassName: new("nginx"),
					TLS:              []networkingv1.IngressTLS{{Hosts: []string{"a.example.com", "*.example.com"}, SecretName: "cert"}, {}},
					Rules: []networkingv1.IngressRule{
						{Host: "a.example.com", IngressRuleValue: networkingv1.IngressRuleValue{
							HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{path("/"), path("/api")}},
						}},
						{Host: "*.example.com"},
					},
				},
			}
		},
		edits: []edit{
			on("a host", func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "b.example.com" }),
			on("a rule more", func(i *networkingv1.Ingress) {
				i.Spec.Rules = append(i.Spec.Rules, networkingv1.IngressRule{Host: "b.example.com"})
			}),
			on("a path more", func(i *networkingv1.Ingress) {
				http := i.Spec.Rules[0].HTTP
				http.Paths = append(http.Paths, path("/admin"))
			}),
			on("reordered paths", func(i *networkingv1.Ingress) { slices.Reverse(i.Spec.Rules[0].HTTP.Paths) }),
			on("a backend's port", func(i *networkingv1.Ingress) {
				i.Spec.Rules[0].HTTP.Paths[1].Backend.Service.Port = networkingv1.ServiceBackendPort{Number: 8080}
			}),
			on("no TLS", func(i *networkingv1.Ingress) { i.Spec.TLS = nil }),
			on("the class", func(i *networkingv1.Ingress) { i.Spec.IngressClassName = new("other") }),
		},
		additions: []edit{on("a default backend", func(i *networkingv1.Ingress) {
			i.Spec.DefaultBackend = new(path("/").Backend)
		})},
		next: then(func(i *networkingv1.Ingress) { i.Spec.TLS, i.Spec.IngressClassName = nil, nil }),
		gone: is(func(i *networkingv1.Ingress) bool { return i.Spec.TLS == nil && i.Spec.IngressClassName == nil }),
	}
}

func ingressClass() kindCase {
	return kindCase{
		name:   "IngressClass",
		rename: bySuffix,
		desired: func() client.Object {
			return &networkingv1.IngressClass{
				ObjectMeta: named("class"),
				Spec: networkingv1.IngressClassSpec{
					Controller: "example.com/ingress",
					Parameters: &networkingv1.IngressClassParametersReference{APIGroup: new("example.com"), Kind: "Settings", Name: "all"},
				},
			}
		},
		edits: []edit{
			on("the parameters", func(i *networkingv1.IngressClass) { i.Spec.Parameters.Name = "other" }),
			on("no group", func(i *networkingv1.IngressClass) { i.Spec.Parameters.APIGroup = nil }),
			on("no parameters", func(i *networkingv1.IngressClass) { i.Spec.Parameters = nil }),
		},
		next: then(func(i *networkingv1.IngressClass) { i.Spec.Parameters.APIGroup = nil }),
		gone: is(func(i *networkingv1.IngressClass) bool { return i.Spec.Parameters.APIGroup == nil }),
	}
}

var (
	openIngress = on("opened", func(p *networkingv1.NetworkPolicy) {
		p.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{}}
	})
	closedIngress = on("closed", func(p *networkingv1.NetworkPolicy) { p.Spec.Ingress = nil })
)

func allNamespaces() []networkingv1.NetworkPolicyPeer {
	return []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}}
}

func networkPolicy() kindCase {
	return kindCase{
		name: "NetworkPolicy",
		desired: func() client.Object {
			return &networkingv1.NetworkPolicy{
				ObjectMeta: named("policy"),
				Spec: networkingv1.NetworkPolicySpec{
					PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
					Ingress: []networkingv1.NetworkPolicyIngressRule{{
						From: allNamespaces(),
						Ports: []networkingv1.NetworkPolicyPort{
							{Port: new(intstr.FromString("http"))},
							{Port: new(intstr.FromInt32(8000)), EndPort: ptr.To[int32](8999), Protocol: new(corev1.ProtocolUDP)},
						},
					}},
					Egress: []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{
						{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8", Except: []string{"10.1.0.0/16"}}},
						{PodSelector: &metav1.LabelSelector{}, NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": ""}}},
					}}},
				},
			}
		},
		edits: []edit{
			openIngress, closedIngress,
			on("narrowed to its namespace", func(p *networkingv1.NetworkPolicy) {
				p.Spec.Ingress[0].From[0] = networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{}}
			}),
			on("narrowed to some namespaces", func(p *networkingv1.NetworkPolicy) {
				p.Spec.Ingress[0].From[0].NamespaceSelector.MatchLabels = map[string]string{"team": "other"}
			}),
			on("a peer more", func(p *networkingv1.NetworkPolicy) {
				p.Spec.Ingress[0].From = append(p.Spec.Ingress[0].From, networkingv1.NetworkPolicyPeer{
					IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0"},
				})
			}),
			on("no exception", func(p *networkingv1.NetworkPolicy) { p.Spec.Egress[0].To[0].IPBlock.Except = nil }),
			on("a port less", func(p *networkingv1.NetworkPolicy) { p.Spec.Ingress[0].Ports = p.Spec.Ingress[0].Ports[:1] }),
			on("a selector key more", func(p *networkingv1.NetworkPolicy) { p.Spec.PodSelector.MatchLabels["track"] = "canary" }),
		},
		next: then(func(p *networkingv1.NetworkPolicy) { p.Spec.PodSelector, p.Spec.Egress = metav1.LabelSelector{}, nil }),
		gone: is(func(p *networkingv1.NetworkPolicy) bool {
			return p.Spec.PodSelector.MatchLabels == nil && p.Spec.Egress == nil
		}),
	}
}

// closingNetworkPolicy permits no traffic: its lists are present and empty.
func closingNetworkPolicy() kindCase {
	return kindCase{
		name: "NetworkPolicy that closes",
		desired: func() client.Object {
			return &networkingv1.NetworkPolicy{
				ObjectMeta: named("closed"),
				Spec: networkingv1.NetworkPolicySpec{
					PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
					Ingress:     []networkingv1.NetworkPolicyIngressRule{},
					Egress:      []networkingv1.NetworkPolicyEgressRule{},
				},
			}
		},
		edits: []edit{
			openIngress,
			on("opened to the outside", func(p *networkingv1.NetworkPolicy) { p.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{}} }),
			on("a type less", func(p *networkingv1.NetworkPolicy) { p.Spec.PolicyTypes = p.Spec.PolicyTypes[:1] }),
			on("some pods only", func(p *networkingv1.NetworkPolicy) { p.Spec.PodSelector.MatchLabels = map[string]string{"app": "web"} }),
		},
		next: then(func(p *networkingv1.NetworkPolicy) { p.Spec.PolicyTypes = p.Spec.PolicyTypes[:1] }),
		gone: is(func(p *networkingv1.NetworkPolicy) bool { return len(p.Spec.PolicyTypes) == 1 }),
	}
}

func openingNetworkPolicy() kindCase {
	return kindCase{
		name: "NetworkPolicy that opens",
		desired: func() client.Object {
			return &networkingv1.NetworkPolicy{
				ObjectMeta: named("open"),
				Spec:       networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{}}},
			}
		},
		edits: []edit{
			closedIngress,
			on("narrowed to namespaces", func(p *networkingv1.NetworkPolicy) { p.Spec.Ingress[0].From = allNamespaces() }),
			on("narrowed to a port", func(p *networkingv1.NetworkPolicy) {
				p.Spec.Ingress[0].Ports = []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(80))}}
			}),
		},
		next: then(func(p *networkingv1.NetworkPolicy) { p.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{} }),
		gone: is(func(p *networkingv1.NetworkPolicy) bool { return len(p.Spec.Ingress) == 0 }),
	}
}
