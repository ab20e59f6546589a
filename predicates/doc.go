// Package predicates decides which events wake a reconciler: those that can
// change what it does, and no others.
//
//	ctrl.NewControllerManagedBy(mgr).
//		For(&shopv1.Shop{}, builder.WithPredicates(predicates.Primary())).
//		Owns(&appsv1.Deployment{}, builder.WithPredicates(predicates.Owned())).
//		Complete(r)
//
// Primary lets through what is asked of the reconciler, and not the status that
// it writes itself. Owned lets through all that can change a child or how it
// stands, and not the clockwork of heartbeats. SpecChanged, LabelChanged,
// AnnotationChanged, FinalizersChanged, ConditionChanged, DeletionRequested, Paused
// and Resync are for other wishes; they compose by controller-runtime's
// predicate.And, predicate.Or and predicate.Not:
//
//	// Sleep while the annotation pauses the shop; look again at every resync.
//	predicate.And(
//		predicate.Or(predicates.Primary(), predicates.Resync()),
//		predicate.Not(predicates.Paused("shop.example.com/paused")),
//	)
//
// Each has a typed form for sources of one Go type: TypedPrimary[*shopv1.Shop]()
// is what Primary() is for client.Object.
//
// # Why not GenerationChangedPredicate
//
// The generation of an object is what its kind makes of it. ConfigMap, Secret,
// Service, ServiceAccount, Node, Lease, PersistentVolumeClaim and many others have
// none, so that GenerationChangedPredicate never lets an update of them through.
// That of a PriorityClass is 1 for ever. That of a Deployment moves with its
// annotations, that of a custom kind without a status subresource with its status.
// An object that was deleted and made again while nobody watched has the same
// generation as before. Here the content itself is compared: everything outside
// metadata and status. The generation counts where it moves alone, as it does when
// the change is in a field that the Go type, or a cache that strips, does not show:
// status.observedGeneration has to follow. docs/predicates.md in the repository tells
// what wakes, kind by kind, as seen on a real API server.
//
// # What happens on which event
//
//	                           Create, Generic  Update                    Delete
//	Primary, Owned, …Changed   pass             if that changed           passes
//	DeletionRequested          if going         if it starts to go        passes
//	Paused                     if paused        if the new one is paused  never
//	Resync                     never            same resourceVersion      never
//
// To appear is a change of everything, hence a Create passes each …Changed: after a
// restart the reconciler sees every object once. A Delete passes whether it was
// seen or missed (DeleteStateUnknown). An update whose objects have different UIDs
// is a Delete and a Create that were both missed; it passes where one of them would.
//
// So Or adds wakes and And takes them away, on creation too. Beware of Not with
// anything but Paused: Not(LabelChanged("a")) drops every Create and Delete.
//
// An event without an object passes nothing, an update without the old one is taken
// as a Create. Nothing is logged, and no predicate panics or changes an object.
//
// # Not in WithEventFilter
//
// A predicate given to the builder's WithEventFilter is asked for every watch of
// the controller: For, Owns and Watches. Primary there drops the status of owned
// Deployments, and the reconciler never learns that its children have become ready.
// Owned there lets the reconciler's own status writes wake it. Give each watch its
// own, as above.
//
// # Kinds of objects
//
// Typed, unstructured and metadata-only objects (metav1.PartialObjectMetadata) are
// welcome. What a metadata-only object does not show may have changed whenever its
// resourceVersion moved: Owned and ConditionChanged pass it then. SpecChanged and
// Primary go by its generation and, where it has none, by the resourceVersion; they
// miss the content of a PriorityClass, whose generation never moves.
package predicates
