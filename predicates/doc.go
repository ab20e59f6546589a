// Package predicates filters events, so that an event triggers a reconcile only if it can change
// the result.
//
//	ctrl.NewControllerManagedBy(mgr).
//		For(&shopv1.Shop{}, builder.WithPredicates(predicates.Primary())).
//		Owns(&appsv1.Deployment{}, builder.WithPredicates(predicates.Owned())).
//		Complete(r)
//
// Primary passes changes of the desired state of an object, and drops changes of the status, which
// the reconciler itself writes. Owned passes all changes of a child, except for heartbeats.
// SpecChanged, LabelChanged, AnnotationChanged, FinalizersChanged, ConditionChanged,
// DeletionRequested, Paused and Resync serve other needs; combine them with controller-runtime's
// predicate.And, predicate.Or and predicate.Not:
//
//	// Ignore the shop while the annotation pauses it; reconcile at every resync.
//	predicate.And(
//		predicate.Or(predicates.Primary(), predicates.Resync()),
//		predicate.Not(predicates.Paused("shop.example.com/paused")),
//	)
//
// Each predicate has a typed form for sources of one Go type: TypedPrimary[*shopv1.Shop]() is
// Primary() with *shopv1.Shop instead of client.Object.
//
// # Why not GenerationChangedPredicate
//
// Each kind has its own rules for metadata.generation. ConfigMap, Secret, Service,
// ServiceAccount, Node, Lease, PersistentVolumeClaim and many other kinds have no generation,
// so GenerationChangedPredicate never passes an update of these. The generation of a
// PriorityClass is always 1. The generation of a Deployment also changes with its annotations,
// and the generation of a custom kind without a status subresource changes with the status. An
// object that was deleted and created again while the watch was interrupted has the same
// generation as before.
//
// The predicates here compare the content: everything outside metadata and status. A new generation
// alone passes only if no visible field changed. The change is then in a field that the Go type
// does not have or that a cache removed, and the reconciler has to update
// status.observedGeneration. docs/predicates.md in the repository lists for each kind which changes
// pass, as seen on a real API server.
//
// # Which events pass
//
//	                           Create, Generic    Update                        Delete
//	Primary, Owned, ...Changed always             if that part changed          always
//	DeletionRequested          if being deleted   if the deletion begins        always
//	Paused                     if paused          if the new object is paused   never
//	Resync                     never              if resourceVersion unchanged  never
//
// Every Create passes each ...Changed, so the reconciler sees every object once after a restart. A
// Delete passes whether the delete event was received or missed (DeleteStateUnknown). An update
// whose objects have different UIDs represents a missed Delete and a missed Create, and passes if
// one of these would pass.
//
// So Or adds events, and And removes events, Creates included. Use Not only with Paused:
// Not(LabelChanged("a")) drops every Create and Delete.
//
// An event without an object never passes. An update without the old object counts as a
// Create. No predicate logs, panics or changes an object.
//
// # Not in WithEventFilter
//
// A predicate in the builder's WithEventFilter filters every watch of the controller: For, Owns and
// Watches. Primary would drop status updates of owned Deployments, so the reconciler would never
// notice that its children have become ready. Owned would let the reconciler's own status writes
// trigger a reconcile. Give each watch its own predicate, as above.
//
// # Kinds of objects
//
// The predicates accept typed, unstructured and metadata-only objects
// (metav1.PartialObjectMetadata). The content of a metadata-only object is unknown: Owned and
// ConditionChanged pass whenever the resourceVersion changed; SpecChanged and Primary pass when the
// generation changed or, for a kind without one, the resourceVersion. SpecChanged and Primary miss
// content changes of a PriorityClass, whose generation never changes.
package predicates
