// Package report tells of calls: in the log, in events and in metrics.
package report

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/answer"
)

// A Reporter tells of the calls of an Ensurer. It is safe for concurrent use.
type Reporter struct {
	Recorder events.EventRecorder
	Memory   *memory.Memory

	warnings atomic.Uint64 // that were recorded
}

// Wrote counts a write that changed something, logs the write, and records an event about it.
func (r *Reporter) Wrote(ctx context.Context, c *layer.Child, found layer.Outcome) {
	if found.Cause == "" || c.DryRun {
		return
	}
	countWrite(c.Kind.GVK, found)
	found = found.Shown(&c.Subject)
	logWrite(ctx, c, found)
	regarding, related := referenceTo(c, found.Live), runtime.Object(nil)
	if c.Owner != nil {
		regarding, related = referenceToOwner(c), regarding
	}
	reason := string(found.Cause)
	if found.Cause == layer.Missing {
		reason = string(layer.Created) // which reads better
	}
	r.Recorder.Eventf(regarding, related, corev1.EventTypeNormal, reason, string(found.Operation), "%s", describeWrite(c, found))
}

// Ended counts the requests of a call by its operation and cause, and a contest that begins. It records an event about a
// failure that a person has to resolve, if the failure is the first of its reason or has another text than the last one.
func (r *Reporter) Ended(s *server.Session, found layer.Outcome, err error) {
	c := s.Child
	failure, ok := errors.AsType[*fault.Error](err)
	switch {
	case c.DryRun:
	case err == nil:
		r.Memory.Reported.Remove(c.OwnedID())
	case ok && needsPerson(failure) && r.isNews(c, failure):
		r.recordWarning(c, failure, s.LastRead)
	}
	if ok && failure.BeginsContest {
		contestsTotal().WithLabelValues(c.Kind.GVK.Group, c.Kind.GVK.Kind).Inc()
	}
	if s.Requests > 0 { // most calls send none
		countRequests(c.Kind.GVK, s.Requests, found, err)
	}
}

func (r *Reporter) isNews(c *layer.Child, failure *fault.Error) bool {
	sum := sha256.Sum256([]byte(failure.Error()))
	return r.Memory.NoteReport(c.OwnedID(), failure.Reason, string(sum[:]))
}

// logWrite logs a write. A Change has no values other than numbers and booleans.
func logWrite(ctx context.Context, c *layer.Child, found layer.Outcome) {
	message := "wrote child"
	if found.Operation == layer.Deleting {
		message = "deleted child"
	}
	pairs := []any{
		"kind", c.Kind.GVK.Kind,
		"child", nameOf(c),
		"operation", found.Operation,
		"cause", found.Cause,
		"changes", texts(found.Changes),
	}
	if len(found.Kept) > 0 {
		pairs = append(pairs, "kept", texts(found.Kept))
	}
	log.FromContext(ctx).Info(message, pairs...)
}

func texts[T fmt.Stringer](values []T) []string {
	out := make([]string, len(values))
	for i, value := range values {
		out[i] = value.String()
	}
	return out
}

// nameOf returns the name of the child, with its namespace if it has one.
func nameOf(c *layer.Child) string { return strings.TrimPrefix(c.Subject.Key.String(), "/") }

// noteLimit is how many bytes of note the API server takes.
const noteLimit = 1024

// describeWrite returns a sentence such as "updated Deployment default/web: spec.replicas 5 -> 3, kept
// spec.paused (set by kubectl-edit)". If not all changes and kept fields fit, the sentence says how many
// are left out. A first one that does not fit is cut at the boundary of a rune.
func describeWrite(c *layer.Child, found layer.Outcome) string {
	note := strings.ToLower(string(found.Operation)) + " " + c.Kind.GVK.Kind + " " + nameOf(c)
	changes := texts(notable(c, found.Changes))
	for _, field := range found.Kept {
		changes = append(changes, "kept "+field.String())
	}
	separator := ": "
	for i, change := range changes {
		longer := note + separator + change
		rest := layer.AndMore(len(changes) - i - 1)
		switch {
		case len(longer)+len(rest) <= noteLimit:
			note, separator = longer, ", "
		case i == 0:
			return strings.ToValidUTF8(longer[:noteLimit-len(rest)], "") + rest
		default:
			return note + layer.AndMore(len(changes)-i)
		}
	}
	return note
}

// notable returns changes without the path of the digest, which changes whenever desired does,
// unless that is the only change.
func notable(c *layer.Child, changes []layer.Change) []layer.Change {
	rest := slices.DeleteFunc(slices.Clone(changes), func(change layer.Change) bool { return c.Operator.Digests.Has(change.Path) })
	if len(rest) == 0 {
		return changes
	}
	return rest
}

// referenceTo returns a reference to the child. Typed objects do not hold their kind, and the scheme of a
// recorder need not be that of the client.
func referenceTo(c *layer.Child, live client.Object) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: c.Kind.APIVersion, Kind: c.Kind.GVK.Kind, Namespace: live.GetNamespace(), Name: live.GetName(),
		UID: live.GetUID(), ResourceVersion: live.GetResourceVersion(),
	}
}

// referenceToOwner names the controller as owner references do.
func referenceToOwner(c *layer.Child) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: c.Controller.APIVersion, Kind: c.Controller.Kind, Namespace: c.Owner.GetNamespace(), Name: c.Controller.Name,
		UID: c.Controller.UID, ResourceVersion: c.Owner.GetResourceVersion(),
	}
}

// needsPerson reports whether an event is recorded about an error. An error that ends by itself and a
// mistake in the program are of no use to readers of the owner's events.
func needsPerson(err *fault.Error) bool {
	classes := []error{fault.ErrForeign, fault.ErrInvalid, fault.ErrImmutable, fault.ErrContested}
	return slices.Contains(classes, err.Class) || err.Reason == string(metav1.StatusReasonForbidden)
}

// recordWarning records the event. The reference to the child contains a number of the event: client-go
// combines events about the same objects with the same versions into a series, and neither the owner
// nor the child may have changed since the last failure.
func (r *Reporter) recordWarning(c *layer.Child, failure *fault.Error, lastRead client.Object) {
	regarding := &corev1.ObjectReference{
		APIVersion: c.Kind.APIVersion, Kind: c.Kind.GVK.Kind, Namespace: c.Subject.Key.Namespace, Name: c.Subject.Key.Name,
	}
	if lastRead != nil {
		regarding = referenceTo(c, lastRead)
	}
	related := *regarding
	related.FieldPath = "warning[" + strconv.FormatUint(r.warnings.Add(1), 10) + "]"
	if c.Owner != nil {
		regarding = referenceToOwner(c)
	}
	r.Recorder.Eventf(regarding, &related, corev1.EventTypeWarning, failure.Reason, failure.Operation, "%s",
		answer.Cut(failure.Error(), noteLimit))
}
