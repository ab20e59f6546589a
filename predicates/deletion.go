package predicates

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// DeletionRequested passes the update that sets the deletionTimestamp, the Create
// of an object that has one already (a controller that starts has to finish its
// deletion), and every Delete. It passes nothing about an object that is to stay.
func DeletionRequested() predicate.Predicate { return TypedDeletionRequested[client.Object]() }

// TypedDeletionRequested is DeletionRequested for a source of T.
func TypedDeletionRequested[T metav1.Object]() predicate.TypedPredicate[T] {
	return predicate.TypedFuncs[T]{
		CreateFunc:  func(e event.TypedCreateEvent[T]) bool { return isGoing(e.Object) },
		DeleteFunc:  func(e event.TypedDeleteEvent[T]) bool { return !isNil(e.Object) },
		GenericFunc: func(e event.TypedGenericEvent[T]) bool { return isGoing(e.Object) },
		UpdateFunc: func(e event.TypedUpdateEvent[T]) bool {
			if isNil(e.ObjectNew) || isNil(e.ObjectOld) {
				return isGoing(e.ObjectNew)
			}
			return isReplaced(e) || isGoing(e.ObjectNew) && !isGoing(e.ObjectOld)
		},
	}
}

func isGoing[T metav1.Object](obj T) bool {
	return !isNil(obj) && obj.GetDeletionTimestamp() != nil
}
