package repair

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/obstacle"
)

// keepNodePorts adds the node ports of edited ports, which are among the obstacles, to desired, and
// returns their paths. The API server keeps a node port for another port of the same name, except for a
// node port that it gave to the ports of two protocols.
func (r *Repair) keepNodePorts(desired *unstructured.Unstructured, obstacles []obstacle.Obstacle) []fieldpath.Path {
	if !r.child.Kind.IsService() {
		return nil
	}
	var kept []fieldpath.Path
	for _, o := range obstacles {
		edited, isPort := o.Value.(map[string]any)
		isShared := isPort && slices.ContainsFunc(portsOf(r.live), func(other map[string]any) bool {
			return other["nodePort"] != nil && other["nodePort"] == edited["nodePort"] && other["name"] != edited["name"]
		})
		for _, ours := range portsOf(desired) {
			if !isShared || ours["nodePort"] != nil || ours["name"] != edited["name"] {
				continue
			}
			ours["nodePort"] = edited["nodePort"]
			key := fieldpath.KeyByFields("port", ours["port"], "protocol", cmp.Or(ours["protocol"], any(string(corev1.ProtocolTCP))))
			kept = append(kept, fieldpath.Path{
				fieldpath.FieldNameElement("spec"), fieldpath.FieldNameElement("ports"), {Key: key}, fieldpath.FieldNameElement("nodePort"),
			})
		}
	}
	return kept
}

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
