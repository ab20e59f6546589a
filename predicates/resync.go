package predicates

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Resync passes the updates that bring nothing new: the resourceVersion is the same
// as before. A cache makes them for every object each SyncPeriod (10 hours if not
// set) and when it lists again after it lost its watch. It passes nothing else, so
// that predicate.Or(predicates.Primary(), predicates.Resync()) is Primary that also
// wakes for them; by themselves, Primary and the others do not.
func Resync() predicate.Predicate { return TypedResync[client.Object]() }

// TypedResync is Resync for a source of T.
func TypedResync[T metav1.Object]() predicate.TypedPredicate[T] {
	return predicate.TypedFuncs[T]{
		CreateFunc:  func(event.TypedCreateEvent[T]) bool { return false },
		DeleteFunc:  func(event.TypedDeleteEvent[T]) bool { return false },
		GenericFunc: func(event.TypedGenericEvent[T]) bool { return false },
		UpdateFunc: func(e event.TypedUpdateEvent[T]) bool {
			return !isNil(e.ObjectNew) && !isReplaced(e) &&
				e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
		},
	}
}
