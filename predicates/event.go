package predicates

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/trueup-go/trueup/internal/object"
)

// onChange passes every Create, Delete and Generic, and the updates for which changed returns
// true.
func onChange[T metav1.Object](changed func(older, newer metav1.Object) bool) predicate.TypedPredicate[T] {
	return predicate.TypedFuncs[T]{
		CreateFunc:  func(e event.TypedCreateEvent[T]) bool { return !object.IsUnusable(e.Object) },
		DeleteFunc:  func(e event.TypedDeleteEvent[T]) bool { return !object.IsUnusable(e.Object) },
		GenericFunc: func(e event.TypedGenericEvent[T]) bool { return !object.IsUnusable(e.Object) },
		UpdateFunc: func(e event.TypedUpdateEvent[T]) bool {
			return !object.IsUnusable(e.ObjectNew) && (isReplaced(e) || changed(e.ObjectOld, e.ObjectNew))
		},
	}
}

// isReplaced reports whether the old object is missing or has another UID than the new object,
// which must not be nil.
func isReplaced[T metav1.Object](e event.TypedUpdateEvent[T]) bool {
	return object.IsUnusable(e.ObjectOld) || e.ObjectOld.GetUID() != e.ObjectNew.GetUID()
}

// isNil reports whether obj is nil or a nil pointer in an interface.
