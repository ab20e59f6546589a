package predicates

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// ConditionChanged passes updates that add, change or remove the condition of this type in
// status.conditions, for any kind. Every field of the condition counts, except for the
// heartbeats that Owned lists. Updates of kinds without such a list do not pass.
func ConditionChanged(conditionType string) predicate.Predicate {
	return TypedConditionChanged[client.Object](conditionType)
}

// TypedConditionChanged is ConditionChanged for events of the Go type T.
func TypedConditionChanged[T metav1.Object](conditionType string) predicate.TypedPredicate[T] {
	return onChange[T](func(older, newer metav1.Object) bool {
		if isMetadataOnly(newer) {
			return older.GetResourceVersion() != newer.GetResourceVersion()
		}
		return !sameCondition(conditionOf(older, conditionType), conditionOf(newer, conditionType))
	})
}

// conditionOf returns the first condition of the type, or the zero Value.
func conditionOf(obj metav1.Object, conditionType string) reflect.Value {
	conditions := indirect(memberOf(memberOf(contentOf(obj), "status"), "conditions"))
	if conditions.Kind() != reflect.Slice {
		return reflect.Value{}
	}
	for i := range conditions.Len() {
		name := indirect(memberOf(conditions.Index(i), "type"))
		if name.Kind() == reflect.String && name.String() == conditionType {
			return conditions.Index(i)
		}
	}
	return reflect.Value{}
}
