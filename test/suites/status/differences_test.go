package status_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trueup-go/trueup/status/readiness"
)

// A difference is a reason why readiness.Of and kstatus disagree.
type difference struct {
	kinds        string // their names, with commas between them; empty for all
	when         string // in words
	ours, theirs string
	why          string
	is           func(u *unstructured.Unstructured) bool
}

const (
	ready      = string(readiness.Ready)
	inProgress = string(readiness.InProgress)
	failed     = string(readiness.Failed)
	current    = string(kstatus.CurrentStatus)
	noAnswer   = "an error"
)

// differences are all; the first that fits is the reason.
var differences = []difference{
	{
		"", "a status of another form than its kind's", inProgress, "", "What cannot be read says nothing. kstatus returns an error, or passes over it.",
		hasBadStatus,
	},
	{
		"Panel", "observedGeneration as text", "", "",
		"It is read as the number, as some kinds store it so, such as the Rollout of Argo Rollouts. kstatus returns an error.",
		func(u *unstructured.Unstructured) bool { return text(u, "status", "observedGeneration") != "" },
	},
	{
		"Deployment, StatefulSet, ReplicaSet", "not observed", inProgress, "",
		"0 of 0 says nothing as long as the controller has not looked: kstatus passes over an observedGeneration that is not there.",
		func(u *unstructured.Unstructured) bool { return number(u, "status", "observedGeneration") == 0 },
	},
	{
		builtIn, "condition Stalled or Reconciling", "", "",
		"kstatus takes these conditions for the answer on each kind. Here they count on custom kinds only: no controller of Kubernetes writes them.",
		func(u *unstructured.Unstructured) bool { return isTrue(u, "Stalled") || isTrue(u, "Reconciling") },
	},
	{
		"StatefulSet, DaemonSet", "observed in a later generation", ready, inProgress,
		"Their controllers may leave it to an object that was recreated, while the counts are right. kstatus waits for the same generation.",
		func(u *unstructured.Unstructured) bool {
			return number(u, "status", "observedGeneration") > number(u, "metadata", "generation")
		},
	},
	{
		"Deployment", "conditions that say less than the counts", ready, inProgress,
		"kstatus asks for the conditions Available and Progressing, too, which the controller writes together with the counts.",
		func(u *unstructured.Unstructured) bool {
			return !isTrue(u, "Available") || reasonOf(u, "Progressing") != "NewReplicaSetAvailable"
		},
	},
	{
		"Deployment", "paused", inProgress, current,
		"kstatus knows it from the condition Progressing, which is another when the Deployment is paused, but is not there without a progress deadline.",
		func(u *unstructured.Unstructured) bool { return boolean(u, "spec", "paused") },
	},
	{
		"StatefulSet", "OnDelete", inProgress, current,
		"kstatus takes OnDelete for the business of whoever deletes the pods, and looks no further. As long as pods are missing, not ready or of an " +
			"earlier template, what is specified is not there; of a DaemonSet kstatus says the same.",
		func(u *unstructured.Unstructured) bool {
			return text(u, "spec", "updateStrategy", "type") == "OnDelete"
		},
	},
	{
		"StatefulSet", "pods that are ready and not available", inProgress, current,
		"Pods are available when they have been ready for minReadySeconds; kstatus does not look at availableReplicas of a StatefulSet.",
		func(u *unstructured.Unstructured) bool {
			return number(u, "status", "availableReplicas") < number(u, "spec", "replicas")
		},
	},
	{
		"DaemonSet", "no desiredNumberScheduled", ready, inProgress,
		"The server always stores it, and a Go type cannot tell it from 0. kstatus looks whether it is there.",
		func(u *unstructured.Unstructured) bool {
			_, found, _ := unstructured.NestedInt64(u.Object, "status", "desiredNumberScheduled")
			return !found
		},
	},
	{
		"Pod", "failed", failed, current, "To kstatus a Pod that has ended is done, whichever way. What it was for has not been done.",
		func(u *unstructured.Unstructured) bool { return text(u, "status", "phase") == "Failed" },
	},
	{
		"Pod", "unschedulable", inProgress, failed,
		"kstatus calls a pod Failed 15 s after its creation; readiness.Of knows no time, and a node may come: cluster autoscalers start with such a pod.",
		func(u *unstructured.Unstructured) bool { return reasonOf(u, "PodScheduled") == "Unschedulable" },
	},
	{
		"Pod", "an init container that crashes beside running ones", failed, inProgress,
		"A sidecar is one: the pod does not get ready. kstatus looks at the other containers only.",
		func(u *unstructured.Unstructured) bool { return isCrashing(u, "initContainerStatuses") },
	},
	{
		"Pod", "a phase that is none of the known", inProgress, noAnswer, "Its node does not answer, or a later version knows more.",
		func(u *unstructured.Unstructured) bool {
			return !slices.Contains([]string{"", "Pending", "Running", "Succeeded", "Failed"}, text(u, "status", "phase"))
		},
	},
	{
		"Job", "suspended after it was started", inProgress, current, "It does nothing. The controller removes startTime when it suspends a Job; as long as that is there, kstatus is content.",
		func(u *unstructured.Unstructured) bool {
			return isTrue(u, "Suspended") && text(u, "status", "startTime") != ""
		},
	},
	{
		"Job", "under way", inProgress, current, "kstatus is content with a Job that was started. It is ready when it is complete.",
		func(u *unstructured.Unstructured) bool { return text(u, "status", "startTime") != "" },
	},
	{
		"PersistentVolumeClaim", "growing", inProgress, current, "The capacity asked for is not there yet.",
		func(u *unstructured.Unstructured) bool { return text(u, "status", "phase") == "Bound" },
	},
	{
		"PersistentVolumeClaim", "lost", failed, inProgress, "Its volume is gone, and does not come back.",
		func(u *unstructured.Unstructured) bool { return text(u, "status", "phase") == "Lost" },
	},
	{
		"CustomResourceDefinition", "established, and a name that is taken", failed, current,
		"kstatus is content if the condition Established comes first in the list.",
		func(u *unstructured.Unstructured) bool {
			return isFalse(u, "NamesAccepted") && isTrue(u, "Established")
		},
	},
	{
		"PodDisruptionBudget", "condition Ready", inProgress, current,
		"It counts as on a custom kind. No controller of Kubernetes writes it; to kstatus a budget is always ready.",
		func(u *unstructured.Unstructured) bool { return len(condition(u, "Ready")) > 0 },
	},
	{
		"Panel", "condition Stalled of an earlier generation", inProgress, failed, "It says nothing about what is specified now, which may be what mends it.",
		func(u *unstructured.Unstructured) bool { return isOfEarlierGeneration(u, "Stalled") },
	},
	{
		"Panel", "condition Ready of an earlier generation", inProgress, current, "It says nothing about what is specified now. kstatus looks at status.observedGeneration only.",
		func(u *unstructured.Unstructured) bool { return isOfEarlierGeneration(u, "Ready") },
	},
	{
		"PodDisruptionBudget, Panel", "stalled and reconciling", failed, inProgress, "kstatus takes the one that comes first in the list.",
		func(u *unstructured.Unstructured) bool { return isTrue(u, "Stalled") && isTrue(u, "Reconciling") },
	},
	{
		"Panel", "condition Ready with a status that is none", inProgress, current, "It says not that it is ready. kstatus passes over it.",
		func(u *unstructured.Unstructured) bool {
			return !slices.Contains([]any{"True", "False", "Unknown"}, condition(u, "Ready")["status"])
		},
	},
}

const builtIn = "Deployment, StatefulSet, DaemonSet, ReplicaSet, Pod, Job, PersistentVolumeClaim, Service, CustomResourceDefinition"

// text is a line of the page.
func (d difference) text() string {
	kinds, answers := strings.Replace(d.kinds, "Panel", "any other kind", 1), d.ours
	if kinds == "" {
		kinds = "any kind"
	}
	if d.theirs != "" {
		answers += ", not " + d.theirs
	}
	if answers != "" {
		answers += ". "
	}
	return "**" + kinds + ": " + d.when + "**. " + answers + d.why
}

// explain returns the index of the reason for which ours and theirs differ on u, or -1.
func explain(u *unstructured.Unstructured, ours, theirs string) int {
	return slices.IndexFunc(differences, func(d difference) bool {
		isOfKind := d.kinds == "" || slices.Contains(strings.Split(d.kinds, ", "), u.GetKind())
		return isOfKind && (d.ours == "" || d.ours == ours) && (d.theirs == "" || d.theirs == theirs) && d.is(u)
	})
}

func number(u *unstructured.Unstructured, path ...string) int64 {
	n, _, _ := unstructured.NestedInt64(u.Object, path...)
	return n
}

func text(u *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(u.Object, path...)
	return s
}

func boolean(u *unstructured.Unstructured, path ...string) bool {
	b, _, _ := unstructured.NestedBool(u.Object, path...)
	return b
}

func condition(u *unstructured.Unstructured, name string) map[string]any {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, item := range list {
		if c, _ := item.(map[string]any); c["type"] == name {
			return c
		}
	}
	return nil
}

func isTrue(u *unstructured.Unstructured, name string) bool {
	return condition(u, name)["status"] == "True"
}

func isFalse(u *unstructured.Unstructured, name string) bool {
	return condition(u, name)["status"] == "False"
}

func reasonOf(u *unstructured.Unstructured, name string) any { return condition(u, name)["reason"] }

func isOfEarlierGeneration(u *unstructured.Unstructured, name string) bool {
	seen, _ := condition(u, name)["observedGeneration"].(int64)
	return seen != 0 && seen < u.GetGeneration()
}

func isCrashing(u *unstructured.Unstructured, list string) bool {
	statuses, _, _ := unstructured.NestedSlice(u.Object, "status", list)
	return len(statuses) > 0
}

// hasBadStatus reports whether one of the bad values is in the status.
func hasBadStatus(u *unstructured.Unstructured) bool {
	return strings.Contains(fmt.Sprint(u.Object["status"]), bad)
}

// bad stands where a number or a list belongs.
const bad = "neither a number nor a list"

// answers returns the answers of both for u.
func answers(u *unstructured.Unstructured) (ours, theirs string, err error) {
	result, failure := kstatus.Compute(u)
	if failure != nil {
		result = &kstatus.Result{Status: noAnswer}
	}
	ours = string(readiness.Of(u).State)
	if !differ(ours, string(result.Status)) {
		return ours, string(result.Status), nil
	}
	if explain(u, ours, string(result.Status)) < 0 {
		err = errors.New("a difference without a reason")
	}
	return ours, string(result.Status), err
}

// differ: kstatus' word for ready is Current.
func differ(ours, theirs string) bool { return ours != strings.Replace(theirs, current, ready, 1) }
