package predicates

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Owned is for the kinds that a controller Owns. It passes every update but those
// that change only bookkeeping of the API server's (managedFields, resourceVersion, the
// grace period of a deletion under way) and heartbeats: times that say when somebody last
// looked, and nothing about what was found. These are
//
//   - lastHeartbeatTime, lastProbeTime and lastUpdateTime in status.conditions, of
//     any kind (nodes, pods, jobs, claims, deployments), and
//   - spec.renewTime in the group coordination.k8s.io (leases).
//
// lastTransitionTime is none: it tells that something has happened. Nor is a time
// anywhere else, as only its kind knows what that means.
func Owned() predicate.Predicate { return TypedOwned[client.Object]() }

// TypedOwned is Owned for a source of T.
func TypedOwned[T metav1.Object]() predicate.TypedPredicate[T] {
	return onChange[T](ownedChanged)
}

func ownedChanged(older, newer metav1.Object) bool {
	if isMetadataOnly(newer) {
		return older.GetResourceVersion() != newer.GetResourceVersion()
	}
	return metadataChanged(older, newer) ||
		!sameContent(older, newer, sameButHeartbeats(isCoordination(newer))) ||
		generationAlone(older, newer)
}

// sameButHeartbeats is the rule for what is outside metadata.
func sameButHeartbeats(coordination bool) rule {
	return func(name string, a, b reflect.Value) bool {
		switch {
		case name == "status":
			return sameMembers(a, b, sameInStatus)
		case name == "spec" && coordination:
			return sameMembers(a, b, without("renewTime"))
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
	return sameMembers(a, b, without("lastHeartbeatTime", "lastProbeTime", "lastUpdateTime"))
}

// isCoordination recognizes leases. A typed object that came from a watch need not
// tell its group, so its Go type does.
func isCoordination(obj metav1.Object) bool {
	if apiVersion := memberOf(contentOf(obj), "apiVersion"); apiVersion.Kind() == reflect.String && apiVersion.Len() > 0 {
		return strings.HasPrefix(apiVersion.String(), "coordination.k8s.io/")
	}
	return strings.HasPrefix(indirect(reflect.ValueOf(obj)).Type().PkgPath(), "k8s.io/api/coordination/")
}
