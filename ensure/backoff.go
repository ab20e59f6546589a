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

	"github.com/trueup-go/trueup/ensure/internal/backoff"
	"github.com/trueup-go/trueup/internal/answer"
)

// The calls that back off independently of each other.
const (
	callEnsure = ""
	callAbsent = "absent"
	callPrune  = "prune"
)

// A question decides, together with the content of the live object, how a call ends.
type question struct {
	isRead  bool
	uid     types.UID // of the live object; empty if there is none
	digest  string
	allowed permission
}

// A permission holds the options that allow writes.
type permission struct {
	recreate, propagation metav1.DeletionPropagation
	named, onDrift        bool
	adopt, deleteAdopted  bool
	ifExists, ifMissing   bool
	fromPods              bool
	handover              string // the field managers of MigrateFrom, and the paths of Release
	generation            int64  // of the owner, when pruning
}

// ask counts a request that is about to be sent. While the call backs off, ask returns the error of
// the last attempt instead.
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
	c.before = new(known)
	left := known.Left(c.shows, c.clock.Now())
	failed, ok := errors.AsType[*Error](known.Err)
	if left <= 0 || !ok {
		return nil
	}
	again := *failed
	again.After, again.isKnown = left, true
	c.answered = &again
	return c.answered
}

// failedBefore reports whether the last attempt failed at a request.
func (c *child) failedBefore() bool { return c.before != nil && c.before.Count > 0 }

// ended notes the end of a call for the backoff, and returns the error of the call.
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
		failed.isKnown = c.attempts.NoteRepeat(c.attemptKey(), c.question(), failed, c.clock.Now())
	default:
		failed.After = c.noteFailure(failed)
	}
	return err
}

// endBackoff forgets the last attempt after a success. A success without a request says nothing about
// a call that allows something else.
func (c *child) endBackoff() {
	known, ok := c.attempts.Get(c.attemptKey())
	if !ok {
		return
	}
	was, now := known.Question, c.question()
	if c.requests > 0 || was.digest == now.digest && was.allowed == now.allowed {
		c.attempts.Remove(c.attemptKey())
	}
}

// noteFailure remembers an error and returns how long to wait.
func (c *child) noteFailure(err *Error) time.Duration {
	content, _ := c.contentShown()
	return c.attempts.NoteFailure(c.attemptKey(), c.question(), backoff.Failure{
		Err: err, Requests: c.requests, Content: content,
		IsRace: isRace(err), IsTerminating: errors.Is(err, ErrTerminating), IsFinal: c.isFinal(err),
		IsBusy: c.unsure || errors.Is(err, ErrAPI) && !answer.IsFinal(err) && !apierrors.IsConflict(err),
	}, c.before, c.clock.Now())
}

// isRace reports whether err may be over as soon as the cache shows the object as it is by now: a
// conflict, or an object that turned out to be foreign or to be deleted.
func isRace(err error) bool {
	_, isAnswer := answer.Status(err)
	return hasMoved(err) || errors.Is(err, ErrForeign) || errors.Is(err, ErrTerminating) && !isAnswer
}

// isFinal reports whether another attempt would fail as well, unless a person acts. Such a failure
// begins with the longest wait. A refusal that costs one request only is tried more often.
func (c *child) isFinal(err error) bool {
	_, isAnswer := answer.Status(err)
	switch {
	case errors.Is(err, ErrHidden):
		return true
	case errors.Is(err, ErrForeign):
		return c.shown != nil // else the cache does not show when the object is gone
	case errors.Is(err, ErrInvalid), errors.Is(err, ErrImmutable), errors.Is(err, ErrRefused):
		return c.requests > 1 && !c.unsure && (!isAnswer || namesFieldsOnly(err))
	}
	return false
}

// lastAttempt returns the last attempt of the same call.
func (c *child) lastAttempt() (backoff.Attempt[question], bool) {
	known, ok := c.attempts.Get(c.attemptKey())
	return known, ok && known.Counts(c.question(), c.clock.Now())
}

func (c *child) attemptKey() backoff.Key { return backoff.Key{OwnedKey: c.ownedID(), Call: c.call} }

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

// shows reports whether the live object still has this content.
func (c *child) shows(content string) bool {
	now, ok := c.contentShown()
	return ok && now == content
}

// contentShown returns the fingerprint of the live object as the cache showed it; false if a change
// would not be noticed.
func (c *child) contentShown() (string, bool) {
	if c.shown == nil {
		return "", true
	}
	return c.fingerprint(c.shown)
}

// show notes the live object with which a call begins, nil if there is none.
func (c *child) show(live client.Object) { c.isRead, c.shown = true, live }
