package ensure

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WithRecorder makes the Ensurer record an event for each write that changed something, and for
// failures that a person has to resolve. recorder is the one that a manager's GetEventRecorder
// returns. Passes that change nothing, dry runs, and changes by others record no event. (After a
// restart, a change that others reverted while the cache still showed it looks like our own write.)
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
// failure of each reason is recorded, and later ones if their text differs, until the child matches
// again.
//
// Each event is recorded by itself. client-go would combine events about the same object into a
// series, keep the first note, and count the others late. So both objects are named with their
// resourceVersion, which differs for each write of a child, and the related object of each Warning has
// a different fieldPath.
//
// The operator needs the verb create for events in the group events.k8s.io. Events about cluster-scoped
// objects are in the namespace default. Events are sent in the background, in no particular order, and
// may be lost: when the process ends, when more than 1,000 are waiting, or when their namespace is being
// deleted (client-go logs that as an error). Use a condition for everything that must not be lost.
func WithRecorder(recorder events.EventRecorder) Setting {
	return func(e *Ensurer) { e.recorder = recorder }
}

// wrote counts a write that changed something, and records an event about it.
func (c *child) wrote(found outcome) {
	if found.cause == "" || c.dryRun {
		return
	}
	c.countWrite(found)
	regarding, related := c.referTo(found.live), runtime.Object(nil)
	if c.controlled {
		regarding, related = c.referToOwner(), regarding
	}
	reason := string(found.cause)
	if found.cause == Missing {
		reason = string(Created) // which reads better
	}
	c.recorder.Eventf(regarding, related, corev1.EventTypeNormal, reason, string(found.operation), "%s", c.note(found))
}

// referTo returns a reference to the child. Typed objects do not hold their kind, and the scheme of a
// recorder need not be that of the client.
func (c *child) referTo(live client.Object) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: c.apiVersion, Kind: c.gvk.Kind, Namespace: live.GetNamespace(), Name: live.GetName(),
		UID: live.GetUID(), ResourceVersion: live.GetResourceVersion(),
	}
}

// referToOwner names the controller as owner references do.
func (c *child) referToOwner() *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: c.controller.APIVersion, Kind: c.controller.Kind, Namespace: c.owner.GetNamespace(), Name: c.controller.Name,
		UID: c.controller.UID, ResourceVersion: c.owner.GetResourceVersion(),
	}
}

// noteLimit is how many bytes of note the API server takes.
const noteLimit = 1024

// note returns a sentence such as "updated Deployment default/web: spec.replicas 5 -> 3". If not all
// changes fit, the sentence says how many are left out. A first change that does not fit is cut at the
// boundary of a rune.
func (c *child) note(found outcome) string {
	name := strings.TrimPrefix(c.key.String(), "/") // of a cluster-scoped object
	note := strings.ToLower(string(found.operation)) + " " + c.gvk.Kind + " " + name
	changes := c.worthTelling(c.shownChanges(found.changes))
	separator := ": "
	for i, change := range changes {
		longer := note + separator + change.String()
		rest := andMore(len(changes) - i - 1)
		switch {
		case len(longer)+len(rest) <= noteLimit:
			note, separator = longer, ", "
		case i == 0:
			return strings.ToValidUTF8(longer[:noteLimit-len(rest)], "") + rest
		default:
			return note + andMore(len(changes)-i)
		}
	}
	return note
}

// worthTelling leaves out where the digest is kept, which changes with all else that is
// desired, unless that is all.
func (c *child) worthTelling(changes []Change) []Change {
	rest := slices.DeleteFunc(slices.Clone(changes), func(change Change) bool { return c.isDigest(change.Path) })
	if len(rest) == 0 {
		return changes
	}
	return rest
}

func andMore(changes int) string {
	if changes == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", changes)
}
