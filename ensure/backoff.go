package ensure

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/answer"
)

// How long a call that failed is not sent again. Each wait counts once per request that the
// call took, and doubles with each failure in a row.
const (
	firstBackoff = 5 * time.Second
	// busyBackoff is the first wait for a server that is busy or out of reach.
	busyBackoff = time.Second
	// longestBackoff bounds all waits. The longest one after a call that took n requests is n+1
	// minutes, so that it is less than a request a minute in the end.
	longestBackoff = 5 * time.Minute
	// changedBackoff is the longest wait if the content of the live object changed since.
	changedBackoff = time.Minute
	// quickRaces are the races in a row that are not held.
	quickRaces = 2
)

// The calls that back off independently of each other.
const (
	callEnsure = ""
	callAbsent = "absent"
	callPrune  = "prune"
)

type attemptKey struct {
	ownedKey

	call string
}

// An attempt is the error of the last call that sent a request, and how long the same call is
// answered with it.
type attempt struct {
	question question
	content  string // fingerprint of the live object; empty if there was none, or nothing tells
	err      *Error
	at       time.Time
	count    int // of failures in a row

	hold    time.Duration // while the content of the live object is the same
	changed time.Duration // when it is not
}

// A question is what decides, beside the content of the live object, how a call ends.
type question struct {
	isRead  bool
	uid     types.UID // of the live object, empty if there is none
	digest  string
	allowed permission
}

// A permission is all that decides what may be written.
type permission struct {
	recreate, propagation metav1.DeletionPropagation
	named, onDrift        bool
	adopt, deleteAdopted  bool
	ifExists, ifMissing   bool
	fromPods              bool
	handover              string // what is taken over, and what is released
	generation            int64  // of the owner, when pruning
}

// ask is called before each request. While the call backs off, it returns the error of the
// last attempt.
func (c *child) ask() error {
	if err := c.backsOff(); err != nil {
		return err
	}
	c.requests++
	return nil
}

// noteReadFailure counts a failed read as a request if the API server answered it: a cache
// does not.
func (c *child) noteReadFailure(err error) {
	if _, ok := answer.Status(err); ok {
		c.requests++
	}
}

// backsOff returns the error of the last attempt of the same call, until it may be sent again.
// An attempt that has begun goes on.
func (c *child) backsOff() error {
	if c.requests > 0 || c.dryRun {
		return nil
	}
	known, ok := c.lastAttempt()
	if !ok {
		return nil
	}
	c.before = known
	hold := known.hold
	if hold > known.changed && !c.shows(known.content) {
		hold = known.changed
	}
	left := known.at.Add(hold).Sub(c.clock.Now())
	if left <= 0 {
		return nil
	}
	again := *known.err
	again.After, again.isKnown = left, true
	c.answered = &again
	return c.answered
}

// ended is called once a call is over, and returns its error.
func (c *child) ended(err error) error {
	failed, ok := errors.AsType[*Error](err)
	switch {
	case c.dryRun:
	case err == nil:
		c.endBackoff()
	case c.answered != nil:
		return c.answered
	case !ok || errors.Is(err, context.Canceled):
	case errors.Is(err, ErrContested):
		failed.isKnown = c.requests == 0
	case c.requests == 0:
		failed.isKnown = c.isRepeated(failed)
	default:
		failed.After = c.noteFailure(failed)
	}
	return err
}

// endBackoff is called after a success. One that took no request says nothing about another call.
func (c *child) endBackoff() {
	if c.memory.attempts.Len() == 0 {
		return
	}
	known, isSame := c.lastAttempt()
	if now := c.question(); isSame || c.requests > 0 || known.question.digest == now.digest && known.question.allowed == now.allowed {
		c.memory.attempts.Remove(c.attemptKey())
	}
}

// isRepeated reports whether err, which no request found out, was the last error of the same call.
func (c *child) isRepeated(err *Error) bool {
	known, isSame := c.lastAttempt()
	isSame = isSame && known.err.Error() == err.Error()
	if !isSame || known.count > 0 {
		c.memory.attempts.Add(c.attemptKey(), attempt{question: c.question(), err: err, at: c.clock.Now()})
	}
	return isSame
}

// noteFailure remembers an error and returns how long to wait.
func (c *child) noteFailure(err *Error) time.Duration {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	known, isSame := c.lastAttempt()
	if isSame && known.at.After(c.before.at) {
		return known.hold // another reconcile has just asked the same
	}
	now := attempt{question: c.question(), err: err, at: c.clock.Now(), count: 1}
	now.content, _ = c.contentShown()
	if isSame && isRace(known.err) == isRace(err) {
		now.count += known.count
	}
	now.hold, now.changed = c.backoff(err, now.count)
	c.memory.attempts.Add(c.attemptKey(), now)
	return now.hold
}

// backoff is how long to wait after so many failures in a row.
func (c *child) backoff(err *Error, count int) (hold, changed time.Duration) {
	first, longest := times(c.requests, firstBackoff), min(times(c.requests+1, time.Minute), longestBackoff)
	switch {
	case isRace(err):
		if count -= quickRaces; count <= 0 {
			return 0, 0
		}
	case errors.Is(err, ErrTerminating):
		longest = changedBackoff
	case c.unsure || errors.Is(err, ErrAPI) && !answer.IsFinal(err) && !apierrors.IsConflict(err):
		first = times(c.requests, busyBackoff)
	}
	hold = longest
	if doubled := first << min(count-1, 16); !c.isFinal(err) && doubled < longest {
		hold = doubled
	}
	return hold, min(hold, first<<min(count-1, 16), changedBackoff)
}

func times(n int, wait time.Duration) time.Duration { return time.Duration(n) * wait }

// isRace reports whether err may be over as soon as the cache shows the object as it is by now: a
// conflict, or an object that turned out to be somebody else's or on its way out.
func isRace(err error) bool {
	_, isAnswer := answer.Status(err)
	return hasMoved(err) || errors.Is(err, ErrForeign) || errors.Is(err, ErrTerminating) && !isAnswer
}

// isFinal reports whether another attempt would fail as well, unless a person acts: it begins
// with the longest wait. A refusal that one request finds out is tried more often.
func (c *child) isFinal(err error) bool {
	_, isAnswer := answer.Status(err)
	switch {
	case errors.Is(err, ErrHidden):
		return true
	case errors.Is(err, ErrForeign):
		return c.shown != nil // else the cache does not tell when it is gone
	case errors.Is(err, ErrInvalid), errors.Is(err, ErrImmutable), errors.Is(err, ErrRefused):
		return c.requests > 1 && !c.unsure && (!isAnswer || namesFieldsOnly(err))
	}
	return false
}

// lastAttempt returns that of an earlier call that asked the same.
func (c *child) lastAttempt() (attempt, bool) {
	if c.memory.attempts.Len() == 0 {
		return attempt{}, false
	}
	value, _ := c.memory.attempts.Get(c.attemptKey())
	known, ok := value.(attempt)
	isOld := c.clock.Now().Sub(known.at) > known.hold+longestBackoff
	return known, ok && !isOld && known.question == c.question()
}

func (c *child) attemptKey() attemptKey { return attemptKey{ownedKey: c.ownedID(), call: c.call} }

func (c *child) question() question {
	asked := question{isRead: c.isRead, digest: c.digest, allowed: permission{
		recreate: c.recreate, named: c.recreateNamed, onDrift: c.onDrift,
		adopt: c.adopt, deleteAdopted: c.deleteAdopted, ifExists: c.ifExists, ifMissing: c.ifMissing,
		fromPods: c.removeFromPods, handover: strings.Join(slices.Concat(c.migrateFrom, []string{""}, c.release), "\n"),
	}}
	if c.call != callEnsure {
		asked.allowed.propagation = c.propagation // else replaceWhole sets it
	}
	if c.call == callPrune {
		asked.allowed.generation = c.owner.GetGeneration()
	}
	if c.shown != nil {
		asked.uid = c.shown.GetUID()
	}
	return asked
}

// shows reports whether the live object has this content still.
func (c *child) shows(content string) bool {
	now, ok := c.contentShown()
	return ok && now == content
}

// contentShown is the fingerprint of the live object as the cache showed it; false if nothing
// tells whether it changed.
func (c *child) contentShown() (string, bool) {
	if c.shown == nil {
		return "", true
	}
	return c.fingerprint(c.shown)
}

// show notes what a call began with: the live object, nil if there is none.
func (c *child) show(live client.Object) { c.isRead, c.shown = true, live }
