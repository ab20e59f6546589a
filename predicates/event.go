package predicates

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// onChange passes every Create, Delete and Generic, and the updates for which changed returns
// true.
func onChange[T metav1.Object](changed func(older, newer metav1.Object) bool) predicate.TypedPredicate[T] {
	return predicate.TypedFuncs[T]{
		CreateFunc:  func(e event.TypedCreateEvent[T]) bool { return !isNil(e.Object) },
		DeleteFunc:  func(e event.TypedDeleteEvent[T]) bool { return !isNil(e.Object) },
		GenericFunc: func(e event.TypedGenericEvent[T]) bool { return !isNil(e.Object) },
		UpdateFunc: func(e event.TypedUpdateEvent[T]) bool {
			return !isNil(e.ObjectNew) && (isReplaced(e) || changed(e.ObjectOld, e.ObjectNew))
		},
	}
}

// isReplaced reports whether the old object is missing or has another UID than the new object,
// which must not be nil.
func isReplaced[T metav1.Object](e event.TypedUpdateEvent[T]) bool {
	return isNil(e.ObjectOld) || e.ObjectOld.GetUID() != e.ObjectNew.GetUID()
}

// isNil reports whether obj is nil or a nil pointer in an interface.
func isNil(obj any) bool {
	v := reflect.ValueOf(obj)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}
