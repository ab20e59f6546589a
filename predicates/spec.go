package predicates

import (
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// SpecChanged passes updates that change what the object specifies, whether or not
// its kind has a generation: everything outside metadata and status. For a
// ConfigMap that is its data, for a Lease its renewTime too. It also passes a
// generation that moved while nothing else did, as the change is then in what
// cannot be seen here.
func SpecChanged() predicate.Predicate { return TypedSpecChanged[client.Object]() }

// TypedSpecChanged is SpecChanged for a source of T.
func TypedSpecChanged[T metav1.Object]() predicate.TypedPredicate[T] { return onChange[T](specChanged) }

func specChanged(older, newer metav1.Object) bool {
	if isMetadataOnly(newer) {
		return older.GetGeneration() != newer.GetGeneration() ||
			newer.GetGeneration() == 0 && older.GetResourceVersion() != newer.GetResourceVersion()
	}
	return !sameContent(older, newer, without("status")) || generationAlone(older, newer)
}

// generationAlone reports whether the generation moved and nothing that can be seen
// tells why, not even a heartbeat: those move it where there is no status
// subresource.
func generationAlone(older, newer metav1.Object) bool {
	return older.GetGeneration() != newer.GetGeneration() &&
		!metadataChanged(older, newer) && sameContent(older, newer, without())
}

// without has the members with these names pass as the same.
func without(names ...string) rule {
	return func(name string, a, b reflect.Value) bool { return slices.Contains(names, name) || equal(a, b) }
}
