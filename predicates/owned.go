package predicates

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Owned is the predicate for the kinds in a controller's Owns. It passes all updates, except for
// updates that change only heartbeats or bookkeeping of the API server (managedFields,
// resourceVersion, the grace period during a deletion). A heartbeat is the time of the last check,
// whatever its result:
//
//   - lastHeartbeatTime, lastProbeTime and lastUpdateTime in status.conditions, of any kind
//     (nodes, pods, jobs, claims, deployments), and
//   - spec.renewTime in the group coordination.k8s.io (leases).
//
// lastTransitionTime is not a heartbeat, because it records that something happened. Other times
// are not heartbeats, because their meaning depends on the kind.
func Owned() predicate.Predicate { return TypedOwned[client.Object]() }

// TypedOwned is Owned for events of the Go type T.
func TypedOwned[T metav1.Object]() predicate.TypedPredicate[T] {
	return onChange[T](ownedChanged)
}

func ownedChanged(older, newer metav1.Object) bool {
	if isMetadataOnly(newer) {
		return older.GetResourceVersion() != newer.GetResourceVersion()
	}
	return metadataChanged(older, newer) ||
		!sameContent(older, newer, sameExceptHeartbeats(isCoordination(newer))) ||
		onlyGenerationChanged(older, newer)
}

// sameExceptHeartbeats returns the rule for members outside metadata.
func sameExceptHeartbeats(coordination bool) rule {
	return func(name string, a, b reflect.Value) bool {
		switch {
		case name == "status":
			return sameMembers(a, b, sameInStatus)
		case name == "spec" && coordination:
			return sameMembers(a, b, ignoring("renewTime"))
		default:
			return equal(a, b)
		}
	}
}

func sameInStatus(name string, a, b reflect.Value) bool {
	if name == "conditions" {
		return sameConditions(a, b)
	}
	return equal(a, b)
}

func sameConditions(a, b reflect.Value) bool {
	a, b = indirect(a), indirect(b)
	if a.Kind() != reflect.Slice || b.Kind() != reflect.Slice {
		return equal(a, b)
	}
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if !sameCondition(a.Index(i), b.Index(i)) {
			return false
		}
	}
	return true
}

func sameCondition(a, b reflect.Value) bool {
	return sameMembers(a, b, ignoring("lastHeartbeatTime", "lastProbeTime", "lastUpdateTime"))
}

// isCoordination reports whether obj is in the group coordination.k8s.io. A typed object from a
// watch may lack its apiVersion; the package of its Go type tells then.
func isCoordination(obj metav1.Object) bool {
	if apiVersion := memberOf(contentOf(obj), "apiVersion"); apiVersion.Kind() == reflect.String && apiVersion.Len() > 0 {
		return strings.HasPrefix(apiVersion.String(), "coordination.k8s.io/")
	}
	return strings.HasPrefix(indirect(reflect.ValueOf(obj)).Type().PkgPath(), "k8s.io/api/coordination/")
}
