package ensure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/internal/answer"
)

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
	return func(e *Ensurer) { e.recorder = recorder }
}

// A report tells of a call: in events and metrics.
type report struct{ *child }

func (c *child) report() report { return report{c} }

// recordWrite counts a write that changed something, logs the write, and records an event about it.
func (r report) recordWrite(ctx context.Context, found outcome) {
	if found.cause == "" || r.dryRun {
		return
	}
	countWrite(r.kind.GVK, found)
	found = r.shown(found)
	r.logWrite(ctx, found)
	regarding, related := r.referenceTo(found.live), runtime.Object(nil)
	if r.controlled {
		regarding, related = r.referenceToOwner(), regarding
	}
	reason := string(found.cause)
	if found.cause == Missing {
		reason = string(Created) // which reads better
	}
	r.recorder.Eventf(regarding, related, corev1.EventTypeNormal, reason, string(found.operation), "%s", r.describeWrite(found))
}

// logWrite logs a write. A Change has no values other than numbers and booleans.
func (r report) logWrite(ctx context.Context, found outcome) {
	message := "wrote child"
	if found.operation == Deleting {
		message = "deleted child"
	}
	pairs := []any{
		"kind", r.kind.GVK.Kind,
		"child", r.childName(),
		"operation", found.operation,
		"cause", found.cause,
		"changes", texts(found.changes),
	}
	if len(found.kept) > 0 {
		pairs = append(pairs, "kept", texts(found.kept))
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

// childName returns the name of the child, with its namespace if it has one.
func (r report) childName() string { return strings.TrimPrefix(r.subject.Key.String(), "/") }

// noteLimit is how many bytes of note the API server takes.
const noteLimit = 1024

// describeWrite returns a sentence such as "updated Deployment default/web: spec.replicas 5 -> 3, kept
// spec.paused (set by kubectl-edit)". If not all changes and kept fields fit, the sentence says how many
// are left out. A first one that does not fit is cut at the boundary of a rune.
func (r report) describeWrite(found outcome) string {
	note := strings.ToLower(string(found.operation)) + " " + r.kind.GVK.Kind + " " + r.childName()
	changes := texts(r.notableChanges(found.changes))
	for _, field := range found.kept {
		changes = append(changes, "kept "+field.String())
	}
	separator := ": "
	for i, change := range changes {
		longer := note + separator + change
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

// notableChanges returns changes without the path of the digest, which changes whenever desired does,
// unless that is the only change.
func (r report) notableChanges(changes []Change) []Change {
	rest := slices.DeleteFunc(slices.Clone(changes), func(change Change) bool { return r.isDigest(change.Path) })
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

// referenceTo returns a reference to the child. Typed objects do not hold their kind, and the scheme of a
// recorder need not be that of the client.
func (r report) referenceTo(live client.Object) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: r.kind.APIVersion, Kind: r.kind.GVK.Kind, Namespace: live.GetNamespace(), Name: live.GetName(),
		UID: live.GetUID(), ResourceVersion: live.GetResourceVersion(),
	}
}

// referenceToOwner names the controller as owner references do.
func (r report) referenceToOwner() *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: r.controller.APIVersion, Kind: r.controller.Kind, Namespace: r.owner.GetNamespace(), Name: r.controller.Name,
		UID: r.controller.UID, ResourceVersion: r.owner.GetResourceVersion(),
	}
}

// recordFailure records an event about a failure that a person has to resolve, if the failure is the
// first of its reason or has another text than the last one.
func (r report) recordFailure(err error) {
	failed, ok := errors.AsType[*fault.Error](err)
	switch {
	case r.dryRun:
	case err == nil:
		r.memory.Reported.Remove(r.ownedID())
	case ok && needsPerson(failed) && r.memory.NoteReport(r.ownedID(), failed.Reason, contentSum([]byte(failed.Error()))):
		r.recordWarning(failed)
	}
}

// needsPerson reports whether an event is recorded about an error. An error that ends by itself and a
// mistake in the program are of no use to readers of the owner's events.
func needsPerson(err *fault.Error) bool {
	classes := []error{ErrForeign, ErrInvalid, ErrImmutable, ErrContested}
	return slices.Contains(classes, err.Class) || err.Reason == string(metav1.StatusReasonForbidden)
}

// recordWarning records the event. The reference to the child contains a number of the event: client-go
// combines events about the same objects with the same versions into a series, and neither the owner
// nor the child may have changed since the last failure.
func (r report) recordWarning(failed *fault.Error) {
	regarding := &corev1.ObjectReference{
		APIVersion: r.kind.APIVersion, Kind: r.kind.GVK.Kind, Namespace: r.subject.Key.Namespace, Name: r.subject.Key.Name,
	}
	if r.server.LastRead != nil {
		regarding = r.referenceTo(r.server.LastRead)
	}
	related := *regarding
	related.FieldPath = "warning[" + strconv.FormatUint(r.warnings.Add(1), 10) + "]"
	if r.controlled {
		regarding = r.referenceToOwner()
	}
	r.recorder.Eventf(regarding, &related, corev1.EventTypeWarning, failed.Reason, failed.Operation, "%s",
		answer.Cut(failed.Error(), noteLimit))
}

// countRequests counts the requests of a call by its operation and cause. Most calls send none.
func (r report) countRequests(found outcome, err error) {
	if r.server.Requests == 0 {
		return
	}
	operation, cause := string(found.operation), string(found.cause)
	if err != nil {
		operation, cause = failed, failure(err)
	}
	requestsTotal().WithLabelValues(r.kind.GVK.Group, r.kind.GVK.Kind, operation, cause).Add(float64(r.server.Requests))
	r.server.Requests = 0
}

// The metrics are registered with those of the manager when they first count. Labels have few values,
// independent of the number of children: the kinds that the operator ensures, and words that are listed
// here or in result.go.
var (
	contestsTotal = onFirstUse("trueup_ensure_contests_total",
		"Contests that began: another writer repeatedly reverted the same fields, deleted a child, or desired another state.",
		"group", "kind")
	writesTotal = onFirstUse("trueup_ensure_writes_total",
		"Changes on the API server, by operation and cause.", "group", "kind", "operation", "cause")
	requestsTotal = onFirstUse("trueup_ensure_requests_total",
		"Requests to the API server, cached reads excepted, by the outcome of the call that sent them.",
		"group", "kind", "operation", "cause")
)

// failed is the operation of a call that ended with an error. The cause is the reason of the error.
const failed = "Failed"

func onFirstUse(name, help string, labels ...string) func() *prometheus.CounterVec {
	return sync.OnceValue(func() *prometheus.CounterVec {
		return register(metrics.Registry, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
	})
}

// register gives the metric that is there already, if another copy of this package was
// first.
func register(registry prometheus.Registerer, metric *prometheus.CounterVec) *prometheus.CounterVec {
	taken, ok := errors.AsType[prometheus.AlreadyRegisteredError](registry.Register(metric))
	if !ok {
		return metric
	}
	if existing, ok := taken.ExistingCollector.(*prometheus.CounterVec); ok {
		return existing
	}
	return metric
}

func countContest(kind schema.GroupVersionKind) {
	contestsTotal().WithLabelValues(kind.Group, kind.Kind).Inc()
}

func countWrite(kind schema.GroupVersionKind, found outcome) {
	writesTotal().WithLabelValues(kind.Group, kind.Kind, string(found.operation), string(found.cause)).Inc()
}

// failure returns the reason of an error, except for reasons that a webhook or an aggregated API server
// makes up, of which there may be many.
func failure(err error) string {
	reason := fault.Reason(err)
	if !errors.Is(err, ErrAPI) {
		return reason // the name of a class
	}
	switch metav1.StatusReason(reason) {
	case metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound,
		metav1.StatusReasonAlreadyExists, metav1.StatusReasonConflict, metav1.StatusReasonGone,
		metav1.StatusReasonInvalid, metav1.StatusReasonServerTimeout, metav1.StatusReasonStoreReadError,
		metav1.StatusReasonTimeout, metav1.StatusReasonTooManyRequests, metav1.StatusReasonBadRequest,
		metav1.StatusReasonMethodNotAllowed, metav1.StatusReasonNotAcceptable,
		metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonUnsupportedMediaType,
		metav1.StatusReasonInternalError, metav1.StatusReasonExpired, metav1.StatusReasonServiceUnavailable,
		fault.Unavailable:
		return reason
	default:
		return "Unknown"
	}
}
