package predicates

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/trueup-go/trueup/internal/object"
)

// DeletionRequested passes the update that sets the deletionTimestamp, the Create of an object
// that already has one (after a restart the controller has to finish the deletion), and every
// Delete. Events of objects that are not being deleted do not pass.
func DeletionRequested() predicate.Predicate { return TypedDeletionRequested[client.Object]() }

// TypedDeletionRequested is DeletionRequested for events of the Go type T.
func TypedDeletionRequested[T metav1.Object]() predicate.TypedPredicate[T] {
	return predicate.TypedFuncs[T]{
		CreateFunc:  func(e event.TypedCreateEvent[T]) bool { return isDeleting(e.Object) },
		DeleteFunc:  func(e event.TypedDeleteEvent[T]) bool { return !object.IsUnusable(e.Object) },
		GenericFunc: func(e event.TypedGenericEvent[T]) bool { return isDeleting(e.Object) },
		UpdateFunc: func(e event.TypedUpdateEvent[T]) bool {
			if object.IsUnusable(e.ObjectNew) || object.IsUnusable(e.ObjectOld) {
				return isDeleting(e.ObjectNew)
			}
			return isReplaced(e) || isDeleting(e.ObjectNew) && !isDeleting(e.ObjectOld)
		},
	}
}

func isDeleting[T metav1.Object](obj T) bool {
	return !object.IsUnusable(obj) && obj.GetDeletionTimestamp() != nil
}
