package repair

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
	live, _, _ := unstructured.NestedSlice(r.live.Object, "spec", "ports")
	wanted, _, _ := unstructured.NestedSlice(desired.Object, "spec", "ports")
	for _, o := range obstacles {
		edited, _ := o.Value.(map[string]any)
		nodePort, isPort := edited["nodePort"].(int64)
		if !isPort || len(o.Path) != 3 {
			continue
		}
		isShared := slices.ContainsFunc(live, func(port any) bool {
			other, _ := port.(map[string]any)
			return other["nodePort"] == nodePort && other["name"] != edited["name"]
		})
		for _, port := range wanted {
			ours, _ := port.(map[string]any)
			if _, given := ours["nodePort"]; !isShared || given || ours["name"] != edited["name"] {
				continue
			}
			ours["nodePort"] = nodePort
			key := fieldpath.KeyByFields("port", ours["port"], "protocol", cmp.Or(stringOf(ours["protocol"]), string(corev1.ProtocolTCP)))
			kept = append(kept, fieldpath.Path{
				fieldpath.FieldNameElement("spec"), fieldpath.FieldNameElement("ports"), {Key: key}, fieldpath.FieldNameElement("nodePort"),
			})
		}
	}
	if len(kept) > 0 {
		_ = unstructured.SetNestedSlice(desired.Object, wanted, "spec", "ports") // desired has the list
	}
	return kept
}

// Cluster IPs and node ports belong to one Service, so that they can prevent the creation of another one.
// The Service that has them may be live itself. On kube-apiserver 1.36, a dry run finds taken node ports,
// one at a time and before all other faults, but never a taken cluster IP.

// mayBeNodePort reports whether path leads to a node port, or to a whole port.
func mayBeNodePort(path string) bool {
	return strings.HasSuffix(path, ".nodePort") || strings.HasPrefix(path, "spec.ports") && !strings.Contains(path, "].")
}

// dropNodePort removes one; false if field is none.
func dropNodePort(candidate *unstructured.Unstructured, field string) bool {
	var i int
	if _, err := fmt.Sscanf(field, "spec.ports[%d].nodePort", &i); err != nil {
		return false
	}
	spec, _ := candidate.Object["spec"].(map[string]any)
	ports, _ := spec["ports"].([]any)
	if i >= len(ports) {
		return false
	}
	port, _ := ports[i].(map[string]any)
	_, there := port["nodePort"]
	delete(port, "nodePort")
	return there
}

func stringOf(value any) string {
	text, _ := value.(string)
	return text
}
