package conformance_test

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func service() kindCase {
	return kindCase{
		name: "Service",
		desired: func() client.Object {
			return &corev1.Service{
				ObjectMeta: named("service"),
				Spec: corev1.ServiceSpec{
					Type:     corev1.ServiceTypeNodePort,
					Selector: map[string]string{"app": "web"},
					Ports: []corev1.ServicePort{
						{Name: "tcp", Port: 53, TargetPort: intstr.FromString("dns-tcp")},
						{Name: "udp", Port: 53, TargetPort: intstr.FromString("dns-udp"), Protocol: corev1.ProtocolUDP},
					},
				},
			}
		},
		edits: []edit{
			on("a selector's value", func(s *corev1.Service) { s.Spec.Selector["app"] = "other" }),
			on("a selector key more", func(s *corev1.Service) { s.Spec.Selector["track"] = "canary" }),
			on("a target port", func(s *corev1.Service) { s.Spec.Ports[1].TargetPort = intstr.FromInt32(9999) }),
		},
		additions: []edit{
			on("a port", func(s *corev1.Service) {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "theirs", Port: 99})
			}),
			on("session affinity", func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP }),
		},
		next: then(func(s *corev1.Service) { s.Spec.Ports = s.Spec.Ports[:1] }),
		gone: is(func(s *corev1.Service) bool {
			return !slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == "udp" })
		}),
	}
}

func clusterIPService() kindCase {
	return kindCase{
		name: "Service of type ClusterIP",
		desired: func() client.Object {
			return &corev1.Service{
				ObjectMeta: named("inside"),
				Spec: corev1.ServiceSpec{
					Selector: map[string]string{"app": "web", "tier": ""},
					Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("http"), AppProtocol: new("kubernetes.io/h2c")}},
				},
			}
		},
		edits: []edit{
			on("a selector's value", func(s *corev1.Service) { s.Spec.Selector["tier"] = "edited" }),
			on("a selector key more", func(s *corev1.Service) { s.Spec.Selector["track"] = "canary" }),
			on("no selector", func(s *corev1.Service) { s.Spec.Selector = nil }),
			on("a target port", func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(9999) }),
			on("an application protocol", func(s *corev1.Service) { s.Spec.Ports[0].AppProtocol = nil }),
		},
		additions: []edit{
			on("a traffic policy", func(s *corev1.Service) { s.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal) }),
			on("another type", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }),
		},
		next: then(func(s *corev1.Service) { delete(s.Spec.Selector, "tier"); s.Spec.Ports[0].AppProtocol = nil }),
		gone: is(func(s *corev1.Service) bool { return len(s.Spec.Selector) == 1 && s.Spec.Ports[0].AppProtocol == nil }),
	}
}

func headlessService() kindCase {
	return kindCase{
		name: "headless Service",
		desired: func() client.Object {
			return &corev1.Service{
				ObjectMeta: named("peers"),
				Spec: corev1.ServiceSpec{
					ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true,
					Selector: map[string]string{"app": "db"},
				},
			}
		},
		edits: []edit{
			on("what is published", func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = false }),
			on("a selector key more", func(s *corev1.Service) { s.Spec.Selector["track"] = "canary" }),
		},
		additions: []edit{on("a port", func(s *corev1.Service) { s.Spec.Ports = []corev1.ServicePort{{Name: "theirs", Port: 99}} })},
		next:      then(func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = false }),
		gone:      is(func(s *corev1.Service) bool { return !s.Spec.PublishNotReadyAddresses }),
	}
}

func loadBalancer() kindCase {
	return kindCase{
		name: "Service of type LoadBalancer",
		desired: func() client.Object {
			return &corev1.Service{
				ObjectMeta: named("outside"),
				Spec: corev1.ServiceSpec{
					Type: corev1.ServiceTypeLoadBalancer, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
					Selector:                 map[string]string{"app": "web"},
					LoadBalancerSourceRanges: []string{"10.0.0.0/8", "2001:db8::/32"},
					ExternalIPs:              []string{},
					Ports: []corev1.ServicePort{
						{Name: "https", Port: 443, TargetPort: intstr.FromInt32(8443)},
						{Name: "quic", Port: 443, TargetPort: intstr.FromInt32(8443), Protocol: corev1.ProtocolUDP},
					},
				},
			}
		},
		edits: []edit{
			on("a selector key more", func(s *corev1.Service) { s.Spec.Selector["track"] = "canary" }),
			on("a source range more", func(s *corev1.Service) {
				s.Spec.LoadBalancerSourceRanges = append(s.Spec.LoadBalancerSourceRanges, "0.0.0.0/0")
			}),
			on("no source ranges", func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = nil }),
			on("an external address", func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"192.0.2.1"} }),
		},
		additions: []edit{on("affinity", func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP })},
		next:      then(func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges, s.Spec.Ports = nil, s.Spec.Ports[1:] }),
		gone:      is(func(s *corev1.Service) bool { return s.Spec.LoadBalancerSourceRanges == nil && len(s.Spec.Ports) == 1 }),
	}
}

func externalName() kindCase {
	return kindCase{
		name: "Service of type ExternalName",
		desired: func() client.Object {
			return &corev1.Service{
				ObjectMeta: named("elsewhere"),
				Spec: corev1.ServiceSpec{
					Type: corev1.ServiceTypeExternalName, ExternalName: "db.example.com",
					Ports: []corev1.ServicePort{{Port: 5432}},
				},
			}
		},
		edits: []edit{
			on("the name", func(s *corev1.Service) { s.Spec.ExternalName = "db.example.org" }),
			on("no ports", func(s *corev1.Service) { s.Spec.Ports = nil }),
		},
		additions: []edit{on("a selector", func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "theirs"} })},
		next:      then(func(s *corev1.Service) { s.Spec.Ports = nil }),
		gone:      is(func(s *corev1.Service) bool { return s.Spec.Ports == nil }),
	}
}

func endpointSlice() kindCase {
	return kindCase{
		name: "EndpointSlice",
		desired: func() client.Object {
			obj := &discoveryv1.EndpointSlice{
				ObjectMeta:  named("outside"),
				AddressType: discoveryv1.AddressTypeIPv4,
				Endpoints: []discoveryv1.Endpoint{
					{Addresses: []string{"192.0.2.1"}},
					{Addresses: []string{"192.0.2.2"}, Conditions: discoveryv1.EndpointConditions{Ready: new(false)}},
				},
				Ports: []discoveryv1.EndpointPort{
					{Name: new(""), Port: ptr.To[int32](53)},
					{Name: new("udp"), Port: ptr.To[int32](53), Protocol: new(corev1.ProtocolUDP)},
				},
			}
			obj.Labels[discoveryv1.LabelServiceName] = "outside"
			return obj
		},
		edits: []edit{
			on("an address", func(e *discoveryv1.EndpointSlice) { e.Endpoints[0].Addresses[0] = "192.0.2.66" }),
			on("an endpoint more", func(e *discoveryv1.EndpointSlice) {
				e.Endpoints = append(e.Endpoints, discoveryv1.Endpoint{Addresses: []string{"192.0.2.66"}})
			}),
			on("a condition beside ours", func(e *discoveryv1.EndpointSlice) { e.Endpoints[1].Conditions.Serving = new(true) }),
			on("reordered endpoints", func(e *discoveryv1.EndpointSlice) { slices.Reverse(e.Endpoints) }),
			on("a port", func(e *discoveryv1.EndpointSlice) { e.Ports[0].Port = ptr.To[int32](54) }),
			on("no ports", func(e *discoveryv1.EndpointSlice) { e.Ports = nil }),
		},
		next: then(func(e *discoveryv1.EndpointSlice) { e.Endpoints, e.Ports = []discoveryv1.Endpoint{}, e.Ports[:1] }),
		gone: is(func(e *discoveryv1.EndpointSlice) bool { return len(e.Endpoints) == 0 && len(e.Ports) == 1 }),
	}
}
