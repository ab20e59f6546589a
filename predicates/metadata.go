package predicates

import (
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// LabelChanged passes updates that add, change or remove a label with one of these keys, or
// any label if no key is given.
func LabelChanged(keys ...string) predicate.Predicate {
	return TypedLabelChanged[client.Object](keys...)
}

// TypedLabelChanged is LabelChanged for events of the Go type T.
func TypedLabelChanged[T metav1.Object](keys ...string) predicate.TypedPredicate[T] {
	return onChange[T](func(older, newer metav1.Object) bool {
		return entriesChanged(older.GetLabels(), newer.GetLabels(), keys)
	})
}

// AnnotationChanged passes updates that add, change or remove an annotation with one of these
// keys, or any annotation if no key is given.
func AnnotationChanged(keys ...string) predicate.Predicate {
	return TypedAnnotationChanged[client.Object](keys...)
}

// TypedAnnotationChanged is AnnotationChanged for events of the Go type T.
func TypedAnnotationChanged[T metav1.Object](keys ...string) predicate.TypedPredicate[T] {
	return onChange[T](func(older, newer metav1.Object) bool {
		return entriesChanged(older.GetAnnotations(), newer.GetAnnotations(), keys)
	})
}

// FinalizersChanged passes updates that add, remove or reorder finalizers.
func FinalizersChanged() predicate.Predicate { return TypedFinalizersChanged[client.Object]() }

// TypedFinalizersChanged is FinalizersChanged for events of the Go type T.
func TypedFinalizersChanged[T metav1.Object]() predicate.TypedPredicate[T] {
	return onChange[T](finalizersChanged)
}

func entriesChanged(older, newer map[string]string, keys []string) bool {
	if len(keys) == 0 {
		return !maps.Equal(older, newer)
	}
	return slices.ContainsFunc(keys, func(key string) bool {
		was, had := older[key]
		is, has := newer[key]
		return had != has || was != is
	})
}

func finalizersChanged(older, newer metav1.Object) bool {
	return !slices.Equal(older.GetFinalizers(), newer.GetFinalizers())
}

// metadataChanged reports whether metadata changed that people and controllers write.
func metadataChanged(older, newer metav1.Object) bool {
	return !maps.Equal(older.GetLabels(), newer.GetLabels()) ||
		!maps.Equal(older.GetAnnotations(), newer.GetAnnotations()) ||
		finalizersChanged(older, newer) ||
		ownersChanged(older, newer) ||
		!older.GetDeletionTimestamp().Equal(newer.GetDeletionTimestamp())
}

func ownersChanged(older, newer metav1.Object) bool {
	return !slices.EqualFunc(older.GetOwnerReferences(), newer.GetOwnerReferences(), func(a, b metav1.OwnerReference) bool {
		return equal(reflect.ValueOf(a), reflect.ValueOf(b))
	})
}
