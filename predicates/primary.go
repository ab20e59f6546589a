package predicates

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Primary is the predicate for the kind in a controller's For. It passes updates that change the
// desired state: the spec (see SpecChanged), labels, annotations, owner references, finalizers and
// deletion. Updates of status, managedFields and resourceVersion do not pass, so no status write
// passes, whether by the reconciler itself or by another writer. What another writer, or a second
// instance of the operator, leaves in the status stays until the next reconcile. Add Resync and set
// SyncPeriod in cache.Options to bound that time.
//
// Changes of other programs' annotations pass, too. To select annotations, combine other
// predicates:
//
//	predicate.Or(predicates.SpecChanged(), predicates.DeletionRequested(),
//		predicates.AnnotationChanged("shop.example.com/plan"))
func Primary() predicate.Predicate { return TypedPrimary[client.Object]() }

// TypedPrimary is Primary for events of the Go type T.
func TypedPrimary[T metav1.Object]() predicate.TypedPredicate[T] {
	return onChange[T](func(older, newer metav1.Object) bool {
		return metadataChanged(older, newer) || specChanged(older, newer)
	})
}
