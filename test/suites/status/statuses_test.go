package status_test

import (
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A choice is a field with its possible values; nil means unset.
type choice struct {
	path   string
	values []any
}

func anyOf(path string, values ...any) choice { return choice{path, values} }

func numbers(path string, values ...int64) choice {
	c := anyOf(path)
	for _, n := range values {
		c.values = append(c.values, n)
	}
	return c
}

func given(name, value, reason string) map[string]any {
	return map[string]any{"type": name, "status": value, "reason": reason, "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}
}

func of(generation int64, c map[string]any) map[string]any {
	c["observedGeneration"] = generation
	return c
}

// observed returns all possible statements of a status about the generation, which is 2.
func observed() choice { return anyOf("status.observedGeneration", nil, int64(1), int64(2), int64(3)) }

// conditions returns each list of up to two of these conditions, in both orders, no list, and a
// value that is not a list.
func conditions(each ...map[string]any) choice {
	c := anyOf("status.conditions", nil, bad)
	for i, one := range each {
		c.values = append(c.values, []any{one})
		for j, two := range each {
			if i != j && one["type"] != two["type"] {
				c.values = append(c.values, []any{one, two})
			}
		}
	}
	return c
}

// generic are the conditions that kstatus knows of each kind.
var generic = []map[string]any{given("Stalled", "True", "R"), given("Reconciling", "True", "R"), given("Ready", "False", "R"), given("Ready", "True", "R")}

// A space is a kind with all the statuses that are tried.
type space struct {
	kind    schema.GroupVersionKind
	choices []choice
	// isStored reports whether the server's validation accepts u.
	isStored func(u *unstructured.Unstructured) bool
}

func group(name string) schema.GroupVersion { return schema.GroupVersion{Group: name, Version: "v1"} }

func spaces() []space {
	none := func(*unstructured.Unstructured) bool { return true }
	crash := []any{map[string]any{
		"name": "app", "ready": false, "restartCount": int64(3), "image": "", "imageID": "",
		"state": map[string]any{"waiting": map[string]any{"reason": "CrashLoopBackOff"}},
	}}
	return []space{
		{group("apps").WithKind("Deployment"), []choice{
			observed(), numbers("spec.replicas", 0, 2), anyOf("spec.paused", nil, true), anyOf("spec.progressDeadlineSeconds", int64(600), int64(2147483647)),
			numbers("status.replicas", 0, 2, 3), numbers("status.updatedReplicas", 0, 2, 3),
			numbers("status.readyReplicas", 0, 1, 2), anyOf("status.availableReplicas", int64(0), int64(1), int64(2), bad),
			conditions(
				given("Available", "True", "R"), given("Available", "False", "R"), given("Progressing", "True", "NewReplicaSetAvailable"),
				given("Progressing", "True", "ReplicaSetUpdated"), given("Progressing", "False", "ProgressDeadlineExceeded"),
				given("Progressing", "Unknown", "DeploymentPaused"), given("ReplicaFailure", "True", "R"), given("Stalled", "True", "R"),
			),
		}, within("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")},
		{group("apps").WithKind("StatefulSet"), []choice{
			observed(), numbers("spec.replicas", 0, 2), anyOf("spec.updateStrategy",
				map[string]any{"type": "OnDelete"},
				map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(0)}},
				map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(1)}},
				map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(5)}}),
			numbers("status.replicas", 0, 1, 2, 3), numbers("status.updatedReplicas", 0, 1, 2), numbers("status.currentReplicas", 0, 2),
			numbers("status.readyReplicas", 0, 1, 2), anyOf("status.availableReplicas", nil, int64(1), int64(2), bad),
			anyOf("status.updateRevision", "a", "b"), anyOf("status.currentRevision", "a"), conditions(generic[:2]...),
		}, within("replicas", "updatedReplicas", "currentReplicas", "readyReplicas", "availableReplicas")},
		{group("apps").WithKind("DaemonSet"), []choice{
			observed(), anyOf("status.desiredNumberScheduled", nil, int64(0), int64(2), bad),
			numbers("status.currentNumberScheduled", 0, 1, 2), numbers("status.updatedNumberScheduled", 0, 1, 2), numbers("status.numberAvailable", 0, 1, 2),
			numbers("status.numberReady", 0, 1, 2), anyOf("status.numberMisscheduled", int64(0), int64(1), bad), conditions(generic[:2]...),
		}, none},
		{group("apps").WithKind("ReplicaSet"), []choice{
			observed(), numbers("spec.replicas", 0, 2), numbers("status.replicas", 0, 1, 2, 3), numbers("status.fullyLabeledReplicas", 0, 1, 2, 3),
			numbers("status.readyReplicas", 0, 1, 2), anyOf("status.availableReplicas", int64(0), int64(1), int64(2), bad),
			conditions(given("ReplicaFailure", "True", "R"), given("ReplicaFailure", "False", "R"), generic[0], generic[1]),
		}, within("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")},
		{group("").WithKind("Pod"), []choice{
			observed(), anyOf("status.phase", nil, "Pending", "Running", "Succeeded", "Failed", "Unknown"),
			anyOf("status.containerStatuses", nil, crash, bad), anyOf("status.initContainerStatuses", nil, crash),
			conditions(
				given("Ready", "True", "R"), given("Ready", "False", "R"), given("PodScheduled", "False", "Unschedulable"),
				given("PodScheduled", "False", "SchedulerError"), generic[0], generic[1],
			),
		}, none},
		{group("batch").WithKind("Job"), []choice{
			anyOf("spec.suspend", nil, true), anyOf("status.startTime", nil, "2026-01-02T03:04:05Z"), anyOf("status.active", nil, int64(1), bad),
			conditions(
				given("Complete", "True", "R"), given("Complete", "False", "R"), given("Failed", "True", "R"), given("Suspended", "True", "R"),
				given("Suspended", "False", "R"), given("FailureTarget", "True", "R"), given("SuccessCriteriaMet", "True", "R"), generic[0], generic[1],
			),
		}, func(u *unstructured.Unstructured) bool { return !isTrue(u, "Complete") || !isTrue(u, "Failed") }},
		{group("").WithKind("PersistentVolumeClaim"), []choice{
			anyOf("spec.resources", map[string]any{"requests": map[string]any{"storage": "2Gi"}}),
			anyOf("status.phase", nil, "Pending", "Bound", "Lost"), anyOf("status.capacity", nil, map[string]any{"storage": "1Gi"}, map[string]any{"storage": "2Gi"}, bad),
			conditions(given("Resizing", "True", "R"), generic[0], generic[1]),
		}, none},
		{group("").WithKind("Service"), []choice{
			anyOf("spec.type", "ClusterIP", "LoadBalancer", "NodePort", "ExternalName"), anyOf("spec.clusterIP", nil, "None", "10.96.0.7"),
			anyOf("status.loadBalancer", nil, map[string]any{"ingress": []any{map[string]any{"ip": "192.0.2.1"}}}, bad),
			conditions(given("LoadBalancerPortsError", "True", "R"), generic[0], generic[1]),
		}, none},
		{group("apiextensions.k8s.io").WithKind("CustomResourceDefinition"), []choice{
			observed(), anyOf("status.storedVersions", nil, bad), conditions(
				given("NamesAccepted", "True", "R"), given("NamesAccepted", "False", "R"), given("Established", "True", "R"),
				given("Established", "False", "Installing"), given("Established", "False", "NotAccepted"), given("Terminating", "True", "R"), generic[0], generic[1],
			),
		}, none},
		{group("policy").WithKind("PodDisruptionBudget"), []choice{
			observed(), numbers("status.disruptionsAllowed", 0, 1), conditions(append(generic, given("DisruptionAllowed", "False", "R"))...),
		}, none},
		{group("batch").WithKind("CronJob"), []choice{anyOf("spec.suspend", nil, true), anyOf("status.active", nil, []any{})}, none},
		{group("").WithKind("ConfigMap"), nil, none},
		{group("").WithKind("Secret"), nil, none},
		{group("").WithKind("Node"), []choice{conditions(generic[2], generic[3], given("MemoryPressure", "True", "R"))}, none},
		{panelGVK, []choice{anyOf("status.observedGeneration", append(observed().values, "2")...), conditions(append(generic,
			given("Ready", "Unknown", "R"), given("Ready", "", "R"), of(1, given("Ready", "True", "R")), of(1, given("Ready", "False", "R")),
			of(2, given("Ready", "True", "R")), of(1, given("Stalled", "True", "R")), of(1, given("Stalled", "False", "R")),
			of(1, given("Reconciling", "True", "R")), given("Reconciling", "False", "R"), given("Lit", "True", "R"),
		)...)}, none},
	}
}

// within reports whether none of the other counts is more than the first, and no more are
// available than ready.
func within(all string, parts ...string) func(*unstructured.Unstructured) bool {
	return func(u *unstructured.Unstructured) bool {
		for _, part := range parts {
			if number(u, "status", part) > number(u, "status", all) {
				return false
			}
		}
		return number(u, "status", "availableReplicas") <= number(u, "status", "readyReplicas")
	}
}

// objects yields an object of each combination of values, reusing the same object.
func (s space) objects(t *testing.T) iter.Seq[*unstructured.Unstructured] {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"name": "web", "namespace": "default", "generation": int64(2), "creationTimestamp": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339),
	}}}
	u.SetGroupVersionKind(s.kind)
	return func(yield func(*unstructured.Unstructured) bool) { choose(t, u, s.choices, yield) }
}

func choose(t *testing.T, u *unstructured.Unstructured, choices []choice, yield func(*unstructured.Unstructured) bool) bool {
	t.Helper()
	if len(choices) == 0 {
		return yield(u)
	}
	path := strings.Split(choices[0].path, ".")
	for _, value := range choices[0].values {
		unstructured.RemoveNestedField(u.Object, path...)
		if value != nil {
			require.NoError(t, unstructured.SetNestedField(u.Object, value, path...))
		}
		if !choose(t, u, choices[1:], yield) {
			return false
		}
	}
	return true
}

// TestEveryDifference: for every status, readiness.Of and kstatus agree except for the differences
// on the page, all of which occur.
func TestEveryDifference(t *testing.T) {
	t.Parallel()
	found := make([]int, len(differences))
	for _, s := range spaces() {
		for u := range s.objects(t) {
			if !s.isStored(u) {
				continue
			}
			ours, theirs, err := answers(u)
			require.NoError(t, err, "%s, not %s: %v", ours, theirs, u.Object)
			if differ(ours, theirs) {
				found[explain(u, ours, theirs)]++
			}
		}
	}
	for i, d := range differences {
		require.Positive(t, found[i], "%s, %s", d.kinds, d.when)
	}
}
