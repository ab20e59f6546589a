package predicates

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Paused passes events of objects that have the annotation, unless its value is "false". For
// an update the new object counts. Use Paused in
// predicate.And(..., predicate.Not(predicates.Paused(annotation))): no event of the object
// passes while the annotation exists. The removal of the annotation passes if the rest of the
// And passes changes of annotations, as Primary does.
//
// Paused passes no Delete, so Not passes every Delete: a deleted object is not paused. The
// deletion request for a paused object, however, waits like all other updates, and so do the
// finalizers of the object.
//
// The annotation pauses only events of the object itself. Events of its children still trigger
// a reconcile, so the reconciler should check the annotation, too.
func Paused(annotation string) predicate.Predicate { return TypedPaused[client.Object](annotation) }

// TypedPaused is Paused for events of the Go type T.
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
