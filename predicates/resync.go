package predicates

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/trueup-go/trueup/internal/object"
)

// Resync passes only updates without a change of the resourceVersion. A cache sends such an update
// for every object once per SyncPeriod (10 hours by default) and when it lists again after losing
// its watch. Primary and the other predicates, except for Paused, drop these updates;
// predicate.Or(predicates.Primary(), predicates.Resync()) is Primary with resyncs.
func Resync() predicate.Predicate { return TypedResync[client.Object]() }

// TypedResync is Resync for events of the Go type T.
func TypedResync[T metav1.Object]() predicate.TypedPredicate[T] {
	return predicate.TypedFuncs[T]{
		CreateFunc:  func(event.TypedCreateEvent[T]) bool { return false },
		DeleteFunc:  func(event.TypedDeleteEvent[T]) bool { return false },
		GenericFunc: func(event.TypedGenericEvent[T]) bool { return false },
		UpdateFunc: func(e event.TypedUpdateEvent[T]) bool {
			return !object.IsUnusable(e.ObjectNew) && !isReplaced(e) &&
				e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
		},
	}
}
