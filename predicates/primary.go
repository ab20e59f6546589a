package predicates

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Primary is for the kind that a controller is For. It passes updates that change
// what is asked of the reconciler: the spec as SpecChanged has it, labels,
// annotations, owners, finalizers, and deletion. It does not pass those of status,
// managedFields and resourceVersion, hence not the reconciler's own status writes;
// nor does it notice somebody else overwriting that status.
//
// Annotations that others keep on the object wake too. To listen to some only, put
// together what is wanted:
//
//	predicate.Or(predicates.SpecChanged(), predicates.DeletionRequested(),
//		predicates.AnnotationChanged("shop.example.com/plan"))
func Primary() predicate.Predicate { return TypedPrimary[client.Object]() }

// TypedPrimary is Primary for a source of T.
func TypedPrimary[T metav1.Object]() predicate.TypedPredicate[T] {
	return onChange[T](func(older, newer metav1.Object) bool {
		return metadataChanged(older, newer) || specChanged(older, newer)
	})
}
