package trial

import (
	"encoding/base64"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

// foreign is the field manager of marks, of which the operators know nothing.
const foreign = "foreign"

// guard is a finalizer of users.
const guard = "example.org/guard"

// tally counts the marks on live objects, and names the lost ones.
func (j *journal) tally(s *state) (made int, lost []string) {
	for of, mark := range j.allMarks() {
		live := s.objects[of]
		if live == nil || live.GetUID() != mark.uid || live.GetDeletionTimestamp() != nil {
			continue
		}
		made++
		if missing := owners.Lacks(live.Object, mark.fields, ""); missing != "" {
			lost = append(lost, "the mark of "+of.String()+" is lost: "+missing)
		}
	}
	return made, lost
}

// markFor returns fields to add to an object: a label, an annotation, and fields that fit its kind beside the desired
// ones, such as another container, variable, port or key.
func markFor(want owners.Manifest, kind, value string) owners.Manifest {
	fields := owners.Manifest{"metadata": owners.Manifest{
		"labels":      owners.Manifest{"example.org/team": value},
		"annotations": owners.Manifest{"example.org/note": "what people add: " + value},
	}}
	switch kind {
	case "ConfigMap":
		fields["data"] = owners.Manifest{foreign: value}
	case "Secret":
		fields["data"] = owners.Manifest{foreign: base64.StdEncoding.EncodeToString([]byte(value))}
	case "Service":
		fields["spec"] = serviceMark(want)
	case "Deployment", "StatefulSet":
		fields["spec"] = owners.Manifest{"template": owners.Manifest{"spec": owners.Manifest{"containers": []any{
			owners.Manifest{"name": containerOf(want), "env": []any{owners.Manifest{"name": "FOREIGN", "value": value}}},
			owners.Manifest{"name": "sidecar", "image": "example.org/sidecar:1"},
		}}}}
	}
	return fields
}

// serviceMark has a port only beside one that has a name: two ports need names.
func serviceMark(want owners.Manifest) owners.Manifest {
	if portOf(want)["name"] == nil {
		return owners.Manifest{"sessionAffinity": "ClientIP"}
	}
	return owners.Manifest{
		"sessionAffinity": "ClientIP",
		"ports":           []any{owners.Manifest{"name": foreign, "port": int64(9100), "protocol": "TCP"}},
	}
}

func portOf(service owners.Manifest) owners.Manifest {
	ports, _, _ := unstructured.NestedSlice(service, "spec", "ports")
	return ports[0].(owners.Manifest)
}

// containerOf returns the name of the container that the operator specifies.
func containerOf(workload owners.Manifest) string {
	containers, _, _ := unstructured.NestedSlice(workload, "spec", "template", "spec", "containers")
	return owners.Text(containers[0].(owners.Manifest), "name")
}
