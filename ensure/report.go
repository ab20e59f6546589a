package ensure

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/answer"
)

// A report tells of a call: in events and metrics.
type report struct{ *child }

func (c *child) report() report { return report{c} }

// wrote counts a write that changed something, and records an event about it.
func (r report) wrote(found outcome) {
	if found.cause == "" || r.dryRun {
		return
	}
	r.countWrite(found)
	regarding, related := r.referTo(found.live), runtime.Object(nil)
	if r.controlled {
		regarding, related = r.referToOwner(), regarding
	}
	reason := string(found.cause)
	if found.cause == Missing {
		reason = string(Created) // which reads better
	}
	r.recorder.Eventf(regarding, related, corev1.EventTypeNormal, reason, string(found.operation), "%s", r.note(found))
}

// note returns a sentence such as "updated Deployment default/web: spec.replicas 5 -> 3". If not all
// changes fit, the sentence says how many are left out. A first change that does not fit is cut at the
// boundary of a rune.
func (r report) note(found outcome) string {
	name := strings.TrimPrefix(r.key.String(), "/") // of a cluster-scoped object
	note := strings.ToLower(string(found.operation)) + " " + r.gvk.Kind + " " + name
	changes := r.worthTelling(r.shownChanges(found.changes))
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
func (r report) worthTelling(changes []Change) []Change {
	rest := slices.DeleteFunc(slices.Clone(changes), func(change Change) bool { return r.isDigest(change.Path) })
	if len(rest) == 0 {
		return changes
	}
	return rest
}

// referTo returns a reference to the child. Typed objects do not hold their kind, and the scheme of a
// recorder need not be that of the client.
func (r report) referTo(live client.Object) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: r.apiVersion, Kind: r.gvk.Kind, Namespace: live.GetNamespace(), Name: live.GetName(),
		UID: live.GetUID(), ResourceVersion: live.GetResourceVersion(),
	}
}

// referToOwner names the controller as owner references do.
func (r report) referToOwner() *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: r.controller.APIVersion, Kind: r.controller.Kind, Namespace: r.owner.GetNamespace(), Name: r.controller.Name,
		UID: r.controller.UID, ResourceVersion: r.owner.GetResourceVersion(),
	}
}

// warn records an event about a failure that a person has to resolve, if the failure is the first of
// its reason or has another text than the last one.
func (r report) warn(err error) {
	failed, ok := errors.AsType[*Error](err)
	switch {
	case r.dryRun:
	case err == nil:
		r.memory.Reported.Remove(r.ownedID())
	case ok && isForAPerson(failed) && r.memory.IsNews(r.ownedID(), failed.Reason, digestOf([]byte(failed.Error()))):
		r.tellOf(failed)
	}
}

// tellOf records the event. The reference to the child contains a number of the event: client-go
// combines events about the same objects with the same versions into a series, and neither the owner
// nor the child may have changed since the last failure.
func (r report) tellOf(failed *Error) {
	regarding := &corev1.ObjectReference{
		APIVersion: r.apiVersion, Kind: r.gvk.Kind, Namespace: r.key.Namespace, Name: r.key.Name,
	}
	if r.seen != nil {
		regarding = r.referTo(r.seen)
	}
	related := *regarding
	related.FieldPath = "warning[" + strconv.FormatUint(r.warnings.Add(1), 10) + "]"
	if r.controlled {
		regarding = r.referToOwner()
	}
	r.recorder.Eventf(regarding, &related, corev1.EventTypeWarning, failed.Reason, failed.Operation, "%s",
		answer.Cut(failed.Error(), noteLimit))
}

// countRequests counts the requests of a call by its operation and cause. Most calls send none.
func (r report) countRequests(found outcome, err error) {
	if r.requests == 0 {
		return
	}
	operation, cause := string(found.operation), string(found.cause)
	if err != nil {
		operation, cause = failed, failure(err)
	}
	requestsTotal().WithLabelValues(r.gvk.Group, r.gvk.Kind, operation, cause).Add(float64(r.requests))
	r.requests = 0
}
