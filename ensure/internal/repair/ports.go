package repair

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// dropNodePorts removes the node ports that live has, too, from candidate, as they would prevent its creation. On
// kube-apiserver 1.36, a dry run finds taken node ports, but never a taken cluster IP.
func dropNodePorts(candidate, live *unstructured.Unstructured) {
	for _, ours := range portsOf(candidate) {
		if slices.ContainsFunc(portsOf(live), func(other map[string]any) bool { return other["nodePort"] == ours["nodePort"] }) {
			delete(ours, "nodePort")
		}
	}
}

// portsOf returns the ports of a Service, and not copies of them.
func portsOf(service *unstructured.Unstructured) (ports []map[string]any) {
	spec, _ := service.Object["spec"].(map[string]any)
	items, _ := spec["ports"].([]any)
	for _, item := range items {
		if port, ok := item.(map[string]any); ok {
			ports = append(ports, port)
		}
	}
	return ports
}

// wantsAnotherIP reports whether candidate names a cluster IP that live does not have.
func wantsAnotherIP(candidate, live *unstructured.Unstructured) bool {
	known := append(clusterIPsOf(live), corev1.ClusterIPNone, "")
	return slices.ContainsFunc(clusterIPsOf(candidate), func(ip string) bool { return !slices.Contains(known, ip) })
}

func clusterIPsOf(service *unstructured.Unstructured) []string {
	ip, _, _ := unstructured.NestedString(service.Object, "spec", "clusterIP")
	ips, _, _ := unstructured.NestedStringSlice(service.Object, "spec", "clusterIPs")
	return append(ips, ip)
}
