package predicates

import (
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// SpecChanged passes updates that change the desired state of an object: everything outside
// metadata and status, whether or not the kind has a generation. For a ConfigMap this is the data;
// for a Lease it includes the renewTime. An update that changes only the generation passes, too:
// the change is then in a field that is not visible here.
func SpecChanged() predicate.Predicate { return TypedSpecChanged[client.Object]() }

// TypedSpecChanged is SpecChanged for events of the Go type T.
func TypedSpecChanged[T metav1.Object]() predicate.TypedPredicate[T] { return onChange[T](specChanged) }

func specChanged(older, newer metav1.Object) bool {
	if isMetadataOnly(newer) {
		return older.GetGeneration() != newer.GetGeneration() ||
			newer.GetGeneration() == 0 && older.GetResourceVersion() != newer.GetResourceVersion()
	}
	return !sameContent(older, newer, ignoring("status")) || onlyGenerationChanged(older, newer)
}

// onlyGenerationChanged reports whether the generation changed and no visible field, not even a
// heartbeat: without a status subresource, heartbeats change the generation.
func onlyGenerationChanged(older, newer metav1.Object) bool {
	return older.GetGeneration() != newer.GetGeneration() &&
		!metadataChanged(older, newer) && sameContent(older, newer, ignoring())
}

// ignoring returns the rule that ignores the members with these names.
func ignoring(names ...string) rule {
	return func(name string, a, b reflect.Value) bool { return slices.Contains(names, name) || equal(a, b) }
}
