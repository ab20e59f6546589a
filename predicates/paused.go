package predicates

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/trueup-go/trueup/internal/object"
)

// Paused passes events of objects that have the annotation, unless its value is "false". For an
// update, Paused checks the new object. Use Paused in predicate.And(...,
// predicate.Not(predicates.Paused(annotation))): this passes no event of the object while the
// annotation exists. The removal of the annotation passes if the other predicates of the And pass
// changes of annotations, as Primary does.
//
// Paused passes no Delete, so Not(Paused) passes every Delete: a deleted object is not paused.
// However, the deletion request for a paused object is an update, which does not pass. The
// finalizers of the object then wait until the annotation is removed.
//
// The annotation pauses only events of the object itself. Events of children still trigger a
// reconcile, so the reconciler should check the annotation, too.
func Paused(annotation string) predicate.Predicate { return TypedPaused[client.Object](annotation) }

// TypedPaused is Paused for events of the Go type T.
func TypedPaused[T metav1.Object](annotation string) predicate.TypedPredicate[T] {
	paused := func(obj T) bool {
		if object.IsUnusable(obj) {
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
