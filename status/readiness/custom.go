package readiness

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// commonStatus has the fields that the statuses of many custom kinds share.
type commonStatus struct {
	ObservedGeneration *int64      `json:"observedGeneration"`
	Conditions         []condition `json:"conditions"`
}

type condition struct {
	Type               string                 `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	ObservedGeneration int64                  `json:"observedGeneration"`
	Reason             string                 `json:"reason"`
	Message            string                 `json:"message"`
}

// isOutdated reports whether the condition's observedGeneration is an earlier generation.
func (c condition) isOutdated(generation int64) bool {
	return c.ObservedGeneration != 0 && c.ObservedGeneration < generation
}

func (c condition) outdated(generation int64) Readiness {
	return inProgress("its condition %s is of generation %d, and not of %d yet", c.Type, c.ObservedGeneration, generation)
}

// custom returns the readiness of an object by its conditions Stalled, Reconciling and Ready.
func custom(obj client.Object) Readiness {
	status, err := statusOf(obj)
	if err != nil {
		return inProgress("its status has no conditions of the usual form")
	}
	generation := obj.GetGeneration()
	if observed := status.ObservedGeneration; observed != nil {
		if readiness, ok := outdated(obj, *observed); ok {
			return readiness
		}
	}
	if c := status.find("Stalled"); c.Status == metav1.ConditionTrue {
		if c.isOutdated(generation) {
			return c.outdated(generation)
		}
		return failed("it is stalled").because(c.Reason, c.Message)
	}
	if c := status.find("Reconciling"); c.Status == metav1.ConditionTrue {
		return inProgress("it is being reconciled").because(c.Reason, c.Message)
	}
	switch c := status.find("Ready"); {
	case c.Type == "":
		return ready("it has no condition Ready")
	case c.isOutdated(generation):
		return c.outdated(generation)
	case c.Status == metav1.ConditionTrue:
		return ready("its condition Ready is True")
	default:
		return inProgress("its condition Ready is %s", c.Status).because(c.Reason, c.Message)
	}
}

// find returns the condition of that type, or the zero condition.
func (s commonStatus) find(conditionType string) condition {
	for _, c := range s.Conditions {
		if c.Type == conditionType {
			return c
		}
	}
	return condition{}
}

// statusOf returns the status of obj. The status of a Go type is read from its JSON form: encoding/json
// knows about embedded structs, pointers and field names, which reflection would have to handle here.
func statusOf(obj client.Object) (commonStatus, error) {
	var out struct {
		Status commonStatus `json:"status"`
	}
	if u, ok := obj.(runtime.Unstructured); ok {
		content := map[string]any{"status": u.UnstructuredContent()["status"]}
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &out)
		return out.Status, err
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return commonStatus{}, err
	}
	err = json.Unmarshal(data, &out)
	return out.Status, err
}
