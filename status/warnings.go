package status

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/lru"
	"github.com/trueup-go/trueup/internal/object"
	"github.com/trueup-go/trueup/status/readiness"
)

const (
	// noteLimit and eventReasonLimit are the sizes that the API server accepts in an event, in bytes.
	noteLimit        = 1024
	eventReasonLimit = 128
	// warnedConditions is how many conditions Warnings remembers. The least recently used one is
	// forgotten first.
	warnedConditions = 65536
	// warnedProblems bounds the reasons and messages that are remembered for a condition. After more,
	// nothing is recorded until the child is ready and some are forgotten: the messages differ each time.
	warnedProblems = 32
	// warnedFor is how long a problem is remembered although the child was ready in between.
	warnedFor = time.Hour
)

// Warnings records Warning events about children that are not ready: one event for each new problem. A
// condition shows the present problem only, and an event can be watched, exported and found later.
//
//	r.warnings = status.NewWarnings(mgr.GetEventRecorder("website-operator"))
//	...
//	deployed, explainErr := deployment.Explain(ctx, r.client, err)
//	patchErr := status.Patch(ctx, r.client, site, func(site *Website) {
//		set.Child(&site.Status.Conditions, "Deployed", deployed)
//	})
//	if err == nil && explainErr == nil && patchErr == nil {
//		r.warnings.Record(site, "Deployed", deployed)
//	}
//
// Warnings are kept in memory: a new process records the present problems again. Warnings are safe for
// concurrent use. The operator needs the verb create for events in the group events.k8s.io.
type Warnings struct {
	recorder events.EventRecorder

	mu       sync.Mutex
	problems *lru.Table[warnedCondition, []warning] // the problems recorded for each condition
}

// A warning is a problem that was recorded.
type warning struct {
	problem string // a reason, or a reason and a message
	at      time.Time
	isOver  bool // the child was ready since
}

// NewWarnings returns Warnings for all objects of an operator. recorder is the one that a manager's
// GetEventRecorder returns; without a recorder, nothing is recorded.
func NewWarnings(recorder events.EventRecorder) *Warnings {
	return &Warnings{recorder: recorder, problems: lru.New[warnedCondition, []warning](warnedConditions)}
}

// A warnedCondition identifies a condition of one object. A fake client gives no UIDs.
type warnedCondition struct {
	uid           types.UID
	name          types.NamespacedName
	conditionType string
}

// Record records an event about obj if child has a problem that is new. It records the same problem again only if
// child was ready in between, and an hour has passed since the last event. conditionType is the type of the condition that
// reports child; it is the action of the event, and distinguishes the children of obj.
//
// A child has a problem if its State is Failed, or if its State is InProgress with the reason of
// something that hinders it, such as ImagePullBackOff. Two problems are the same if they have the same
// Reason and, if the State is Failed, the same Message: the message of a child in progress may change with
// each attempt. ErrImagePull and ImagePullBackOff, which a kubelet reports in turn, are one problem.
//
// Leave out errors of package ensure, whose Ensurer records events itself. Call Record after Patch, with
// the obj that Patch has changed: client-go would count another event of the same reason about the same
// resourceVersion as the same event, and drop the note.
func (w *Warnings) Record(obj client.Object, conditionType string, child readiness.Readiness) {
	if object.IsNil(w.recorder) || object.IsUnusable(obj) || !w.isNews(obj, conditionType, child) {
		return
	}
	reason, note := sanitize(reasonOf(child), child.Message)
	reason, note = answer.Cut(reason, eventReasonLimit), answer.Cut(note, noteLimit)
	w.recorder.Eventf(obj, nil, corev1.EventTypeWarning, reason, conditionType, "%s", note)
}

// isNews reports whether child has a problem that was not recorded yet, and remembers the problem.
func (w *Warnings) isNews(obj client.Object, conditionType string, child readiness.Readiness) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := warnedCondition{obj.GetUID(), client.ObjectKeyFromObject(obj), conditionType}
	now := clock.RealClock{}.Now()
	known := w.recorded(key, now)
	if child.State == readiness.Ready {
		for i := range known {
			known[i].isOver = true
		}
		w.remember(key, known)
		return false
	}
	reason := strings.Replace(reasonOf(child), "ErrImagePull", "ImagePullBackOff", 1)
	problem := reason + ": " + child.Message
	isKnown := func(problem string) bool {
		return slices.ContainsFunc(known, func(w warning) bool { return w.problem == problem })
	}
	switch {
	case child.State == readiness.Failed:
		if isKnown(problem) {
			return false
		}
	case child.State != readiness.InProgress, reason == string(readiness.InProgress), isKnown(reason):
		return false
	}
	if len(known) >= warnedProblems {
		return false
	}
	w.remember(key, append(known, warning{problem: reason, at: now}, warning{problem: problem, at: now}))
	return true
}

func (w *Warnings) remember(key warnedCondition, known []warning) {
	if len(known) == 0 {
		w.problems.Remove(key)
		return
	}
	w.problems.Set(key, known)
}

// recorded returns a copy of the problems that are still remembered for a condition.
func (w *Warnings) recorded(key warnedCondition, now time.Time) []warning {
	known, _ := w.problems.Get(key)
	return slices.DeleteFunc(slices.Clone(known), func(w warning) bool { return w.isOver && now.Sub(w.at) >= warnedFor })
}

// reasonOf returns the reason of child, or the state for a child without a reason, which the caller made.
func reasonOf(child readiness.Readiness) string { return cmp.Or(child.Reason, string(child.State)) }
