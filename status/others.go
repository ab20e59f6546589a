package status

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func claim(c *corev1.PersistentVolumeClaim) Readiness {
	switch c.Status.Phase {
	case corev1.ClaimBound:
		return boundClaim(c)
	case corev1.ClaimLost:
		return failed("it has lost its volume")
	default:
		return inProgress("it is not bound yet")
	}
}

// boundClaim also waits for a volume that grows.
func boundClaim(c *corev1.PersistentVolumeClaim) Readiness {
	wanted, capacity := c.Spec.Resources.Requests.Storage(), c.Status.Capacity.Storage()
	if capacity.Cmp(*wanted) >= 0 {
		return ready("it is bound")
	}
	parts := []string{"it has " + capacity.String() + " of " + wanted.String()}
	for _, condition := range c.Status.Conditions {
		if condition.Status == corev1.ConditionTrue {
			parts = append(parts, because(string(condition.Type), condition.Reason, condition.Message))
		}
	}
	return inProgress("%s", strings.Join(parts, "; "))
}

func service(s *corev1.Service) Readiness {
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.ClusterIP == "" {
		return inProgress("it has no cluster IP yet")
	}
	return ready("it is there")
}

func definition(d *apiextensionsv1.CustomResourceDefinition) Readiness {
	if observed := d.Status.ObservedGeneration; observed != 0 {
		if answer, is := outdated(d, observed); is {
			return answer
		}
	}
	answer := inProgress("it is not established yet")
	for _, c := range d.Status.Conditions {
		switch {
		case c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionFalse:
			return failed("%s", because("its names are not accepted", c.Reason, c.Message))
		case c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue:
			answer = ready("it is established")
		case c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionFalse && c.Reason != "Installing":
			answer = failed("%s", because("it is not established", c.Reason, c.Message))
		}
	}
	return answer
}

// observed is what custom kinds have in common, as far as they have it.
type observed struct {
	ObservedGeneration *int64              `json:"observedGeneration"`
	Conditions         []observedCondition `json:"conditions"`
}

type observedCondition struct {
	Type               string                 `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	ObservedGeneration int64                  `json:"observedGeneration"`
	Reason             string                 `json:"reason"`
	Message            string                 `json:"message"`
}

// isOutdated tells of a condition that says that it is of an earlier generation.
func (c observedCondition) isOutdated(generation int64) bool {
	return c.ObservedGeneration != 0 && c.ObservedGeneration < generation
}

func (c observedCondition) outdated(generation int64) Readiness {
	return inProgress("its condition %s is of generation %d, and not of %d yet", c.Type, c.ObservedGeneration, generation)
}

// custom judges kinds by their conditions.
func custom(obj client.Object) Readiness {
	status, err := statusIn(obj)
	if err != nil {
		return inProgress("its status has no conditions of the usual form")
	}
	generation := obj.GetGeneration()
	if seen := status.ObservedGeneration; seen != nil {
		if answer, is := outdated(obj, *seen); is {
			return answer
		}
	}
	if c := status.find("Stalled"); c.Status == metav1.ConditionTrue {
		if c.isOutdated(generation) {
			return c.outdated(generation)
		}
		return failed("%s", because("it is stalled", c.Reason, c.Message))
	}
	if c := status.find("Reconciling"); c.Status == metav1.ConditionTrue {
		return inProgress("%s", because("it is being reconciled", c.Reason, c.Message))
	}
	switch c := status.find(TypeReady); {
	case c.Type == "":
		return ready("it has no condition Ready")
	case c.isOutdated(generation):
		return c.outdated(generation)
	case c.Status == metav1.ConditionTrue:
		return ready("its condition Ready is True")
	default:
		return inProgress("%s", because("its condition Ready is "+string(c.Status), c.Reason, c.Message))
	}
}

// find returns the condition of a type, or a zero one.
func (o observed) find(conditionType string) observedCondition {
	for _, c := range o.Conditions {
		if c.Type == conditionType {
			return c
		}
	}
	return observedCondition{}
}

// statusIn reads the status as JSON, not by reflection: embedded structs, pointers and
// the names of Go fields are the encoder's affair.
func statusIn(obj client.Object) (observed, error) {
	var content any = obj
	if u, ok := obj.(runtime.Unstructured); ok {
		content = map[string]any{"status": u.UnstructuredContent()["status"]}
	}
	data, err := json.Marshal(content)
	if err != nil {
		return observed{}, err
	}
	var out struct {
		Status observed `json:"status"`
	}
	err = json.Unmarshal(data, &out)
	return out.Status, err
}
