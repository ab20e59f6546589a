package readiness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// commonStatus has the fields that the statuses of many custom kinds share. A custom kind may have other types there, so that
// each field is read by itself, and only if it decides.
type commonStatus struct {
	observedGeneration any
	conditions         []any
}

type condition struct {
	Type               string
	Status             metav1.ConditionStatus
	ObservedGeneration int64
	Reason             string
	Message            string
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
	r, err := customOf(obj)
	if err != nil {
		return inProgress("%s", err)
	}
	return r
}

func customOf(obj client.Object) (Readiness, error) {
	status, err := statusOf(obj)
	if err != nil {
		return Readiness{}, err
	}
	generation := obj.GetGeneration()
	if status.observedGeneration != nil {
		observed, ok := number(status.observedGeneration)
		if !ok {
			return Readiness{}, errorAt("observedGeneration", "is not a number")
		}
		if readiness, ok := outdated(obj, observed); ok {
			return readiness, nil
		}
	}
	stalled, err := status.find("Stalled")
	switch {
	case err != nil:
		return Readiness{}, err
	case stalled.Status != metav1.ConditionTrue:
	case stalled.isOutdated(generation):
		return stalled.outdated(generation), nil
	default:
		return failed("it is stalled").because(stalled.Reason, stalled.Message), nil
	}
	reconciling, err := status.find("Reconciling")
	switch {
	case err != nil:
		return Readiness{}, err
	case reconciling.Status == metav1.ConditionTrue:
		return inProgress("it is being reconciled").because(reconciling.Reason, reconciling.Message), nil
	}
	return status.byReady(generation)
}

// byReady returns the readiness by the condition Ready.
func (s commonStatus) byReady(generation int64) (Readiness, error) {
	switch c, err := s.find("Ready"); {
	case err != nil:
		return Readiness{}, err
	case c.Type == "":
		return ready("it has no condition Ready"), s.findNameless()
	case c.isOutdated(generation):
		return c.outdated(generation), nil
	case c.Status == metav1.ConditionTrue:
		return ready("its condition Ready is True"), nil
	default:
		return inProgress("its condition Ready is %s", c.Status).because(c.Reason, c.Message), nil
	}
}

// find returns the condition of that type, or the zero condition.
func (s commonStatus) find(conditionType string) (condition, error) {
	for _, each := range s.conditions {
		fields, _ := each.(map[string]any)
		if fields["type"] != conditionType {
			continue
		}
		status, isText := fields["status"].(string)
		if !isText {
			return condition{}, errorAt("conditions[type="+conditionType+"].status", "is not a string")
		}
		var observed int64
		if given := fields["observedGeneration"]; given != nil {
			var isNumber bool
			if observed, isNumber = number(given); !isNumber {
				return condition{}, errorAt("conditions[type="+conditionType+"].observedGeneration", "is not a number")
			}
		}
		reason, _ := fields["reason"].(string)
		message, _ := fields["message"].(string)
		return condition{conditionType, metav1.ConditionStatus(status), observed, reason, message}, nil
	}
	return condition{}, nil
}

// findNameless returns an error for the first condition without a type: it may be the one that is missing.
func (s commonStatus) findNameless() error {
	for i, each := range s.conditions {
		fields, _ := each.(map[string]any)
		if _, ok := fields["type"].(string); !ok {
			return errorAt(fmt.Sprintf("conditions[%d]", i), "has no type")
		}
	}
	return nil
}

// An unreadableError says which field of the status is not as it is in other kinds.
type unreadableError string

func (e unreadableError) Error() string { return "its status" + string(e) }

func errorAt(field, problem string) error { return unreadableError("." + field + " " + problem) }

// number returns an integer. Some kinds, such as the Rollout of Argo Rollouts, have it as a string.
func number(value any) (int64, bool) {
	switch v := value.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), v == math.Trunc(v) && math.Abs(v) < 1<<53
	case json.Number:
		return number(v.String())
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	}
	return 0, false
}

// statusOf returns the status of obj. The status of a Go type is read from its JSON form: encoding/json
// knows about embedded structs, pointers and field names, which reflection would have to handle here.
func statusOf(obj client.Object) (commonStatus, error) {
	content, err := contentOf(obj)
	if err != nil || content["status"] == nil {
		return commonStatus{}, err
	}
	status, isObject := content["status"].(map[string]any)
	if !isObject {
		return commonStatus{}, unreadableError(" is not an object")
	}
	conditions, isList := status["conditions"].([]any)
	if !isList && status["conditions"] != nil {
		return commonStatus{}, errorAt("conditions", "is not a list")
	}
	return commonStatus{observedGeneration: status["observedGeneration"], conditions: conditions}, nil
}

func contentOf(obj client.Object) (map[string]any, error) {
	if u, ok := obj.(runtime.Unstructured); ok {
		return u.UnstructuredContent(), nil
	}
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, unreadableError(" cannot be read, as the object cannot be written as JSON")
	}
	var content struct {
		Status any `json:"status"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&content); err != nil {
		return nil, unreadableError(" cannot be read, as the object is not a JSON object")
	}
	return map[string]any{"status": content.Status}, nil
}
