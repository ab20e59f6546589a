package predicates

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Paused passes events of objects that bear the annotation, unless its value is
// "false"; of an update the new object counts. It is meant for
// predicate.And(…, predicate.Not(predicates.Paused(annotation))): the reconciler
// sleeps while the annotation is there and wakes when it goes, provided that the
// rest of the And lets a change of annotations through, as Primary does.
//
// No Delete passes, so that Not lets each through: what is gone is not paused. The
// request to delete an object that is paused, however, waits with the rest, its
// finalizers too.
//
// The annotation pauses nothing but the events of its own object. Those of its
// children wake the reconciler still, which should look for the annotation itself.
func Paused(annotation string) predicate.Predicate { return TypedPaused[client.Object](annotation) }

// TypedPaused is Paused for a source of T.
func TypedPaused[T metav1.Object](annotation string) predicate.TypedPredicate[T] {
	paused := func(obj T) bool {
		if isNil(obj) {
			return false
		}
		value, ok := obj.GetAnnotations()[annotation]
		return ok && value != "false"
	}
	return predicate.TypedFuncs[T]{
		CreateFunc:  func(e event.TypedCreateEvent[T]) bool { return paused(e.Object) },
		UpdateFunc:  func(e event.TypedUpdateEvent[T]) bool { return paused(e.ObjectNew) },
		DeleteFunc:  func(event.TypedDeleteEvent[T]) bool { return false },
		GenericFunc: func(e event.TypedGenericEvent[T]) bool { return paused(e.Object) },
	}
}
