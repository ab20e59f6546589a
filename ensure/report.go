package ensure

import "k8s.io/client-go/tools/events"

// WithRecorder makes the Ensurer record an event for each write that changed something, and for
// failures that people in the cluster can resolve. recorder is the one that a manager's GetEventRecorder returns.
// Calls that change nothing, dry runs, and changes by others record no event. (After a restart, if
// others reverted a change that the cache still shows, the revert is recorded as our write.)
//
// An event is about the owner given to ControlledBy or Set, with the child as the related object, or
// about the child itself if it has no owner. The reason of a write is the Cause, or Created for a
// creation; the action is the Operation. The note names the child and the changes without the digest:
//
//	$ kubectl describe application web
//	Type     Reason          Age  From                  Message
//	Normal   Created         9m   application-operator  created Deployment default/web
//	Normal   DesiredChanged  4m   application-operator  updated Deployment default/web: spec.replicas 2 -> 3
//	Normal   Drifted         1m   application-operator  updated Deployment default/web: spec.replicas 5 -> 3
//	Warning  Forbidden       8s   application-operator  cannot create Service "default/web": Forbidden: exceeded quota: …
//
// A failure is a Warning: ErrForeign, ErrInvalid, ErrImmutable, ErrContested, and requests that the API
// server forbids, for example because of a quota. The reason is Error.Reason, the action
// Error.Operation, and the note the error's text, cut to the 1 KiB that a note may have. The first
// failure of each reason is recorded, and a later failure only if its text differs. This begins anew
// when the child matches again.
//
// Each event is recorded separately. client-go would combine events about the same objects into a
// series, keep the first note, and count later events with a delay. To prevent this, the references to
// both objects have the resourceVersion, which differs for each write of a child, and the related
// object of each Warning has a different fieldPath.
//
// The operator needs the verb create for events in the group events.k8s.io. Events about cluster-scoped
// objects are in the namespace default. Events are sent in the background, in no particular order, and
// may be lost: when the process ends, when more than 1,000 are waiting, or when their namespace is being
// deleted (client-go logs that as an error). Use a condition for everything that must not be lost.
func WithRecorder(recorder events.EventRecorder) Setting {
	return func(e *Ensurer) { e.reporter.Recorder = recorder }
}
