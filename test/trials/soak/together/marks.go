package together

import (
	"encoding/base64"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// foreign is who applies marks, of whom the operators know nothing.
const foreign = "foreign"

// marks are the latest additions of people to objects.
type marks struct {
	mu sync.Mutex
	of map[ref]mark
}

// A mark is on the object with this UID, and is deleted with the object.
type mark struct {
	uid  types.UID
	body manifest
}

func (m *marks) set(of ref, is mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of[of] = is
}

// erase records that an action of the caller removes a part of a mark.
func (m *marks) erase(of ref, fields ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	unstructured.RemoveNestedField(m.of[of].body, fields...)
}

func (m *marks) all() map[ref]mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.of)
}

// A Tally is how many marks there are.
type Tally struct {
	// Made counts the marks on live objects, and Lost counts the incomplete ones among them.
	Made, Lost int
}

// tally reads all marks and names the lost ones.
func (m *marks) tally(s *clusterState) (t Tally, lost map[ref]string) {
	lost = map[ref]string{}
	for of, mark := range m.all() {
		live := s.objects[of]
		if live == nil || live.GetUID() != mark.uid {
			continue
		}
		t.Made++
		if missing := lacks(live.Object, mark.body, ""); missing != "" {
			t.Lost++
			lost[of] = missing
		}
	}
	return t, lost
}

// bodyOf returns a mark for an object: a label, an annotation, and fields that fit its kind besides
// the specified ones: another container and another variable, another port, another key.
func bodyOf(want manifest, kind, value string) manifest {
	body := manifest{"metadata": manifest{
		"labels":      manifest{"example.org/team": value},
		"annotations": manifest{"example.org/note": "what people add: " + value},
	}}
	switch kind {
	case "Secret":
		body["data"] = manifest{"foreign": base64.StdEncoding.EncodeToString([]byte(value))}
	case "Service":
		body["spec"] = serviceMark(want)
	case "Deployment", "StatefulSet":
		body["spec"] = manifest{"template": manifest{"spec": manifest{"containers": []any{
			manifest{"name": containerOf(want), "env": []any{manifest{"name": "FOREIGN", "value": value}}},
			manifest{"name": "sidecar", "image": "example.org/sidecar:1"},
		}}}}
	}
	return body
}

// serviceMark is a port only beside one that has a name, as all need one then.
func serviceMark(want manifest) manifest {
	if portOf(want)["name"] == nil {
		return manifest{"sessionAffinity": "ClientIP"}
	}
	return manifest{
		"sessionAffinity": "ClientIP",
		"ports":           []any{manifest{"name": foreign, "port": int64(9100), "protocol": "TCP"}},
	}
}

func portOf(service manifest) manifest {
	ports, _, _ := unstructured.NestedSlice(service, "spec", "ports")
	return ports[0].(manifest)
}

// containerOf is the name of the container that the operator specifies.
func containerOf(workload manifest) string {
	containers, _, _ := unstructured.NestedSlice(workload, "spec", "template", "spec", "containers")
	return text(containers[0].(manifest), "name")
}
