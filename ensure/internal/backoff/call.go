package backoff

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/internal/answer"
)

// A Call is a call that may fail. While it backs off, it sends no request, and returns the error of the last attempt.
type Call struct {
	Table   *Table
	Child   *layer.Child
	Options Options
	Clock   clock.PassiveClock

	isRead   bool          // the live object was read
	initial  client.Object // the live object as it was read first, nil if there was none
	previous *Attempt      // the last attempt when the call began, nil if there was none
	refusal  error         // the error of the call while it backs off
}

// Options tell which writes the caller allows.
type Options interface {
	// Allowed returns a comparable value that differs if other writes are allowed.
	Allowed() any
}

func (c *Call) key() Key { return Key{Child: c.Child.OwnedID(), Call: string(c.Child.Call)} }

// Begin notes the live object with which a call begins, nil if there is none.
func (c *Call) Begin(live client.Object) { c.isRead, c.initial = true, live }

// Allow returns the error of the last attempt of the same call, until it may be sent again.
func (c *Call) Allow() error {
	if c.Child.DryRun {
		return nil
	}
	known, ok := c.Table.Get(c.key())
	if !ok || !known.Counts(c.inputs(), c.Clock.Now()) {
		return nil
	}
	c.previous = new(known)
	left := known.Left(c.isInitial, c.Clock.Now())
	failed, ok := errors.AsType[*fault.Error](known.Err)
	if left <= 0 || !ok {
		return nil
	}
	again := *failed
	again.After, again.IsKnown = left, true
	c.refusal = &again
	return c.refusal
}

// HasFailed reports whether the last attempt failed at a request.
func (c *Call) HasFailed() bool { return c.previous != nil && c.previous.Count > 0 }

// End notes the end of a call that sent so many requests, and returns its error. isUndecided means that the API server could not
// judge the state that it refused.
func (c *Call) End(err error, requests int, isUndecided bool) error {
	failed, ok := errors.AsType[*fault.Error](err)
	switch {
	case c.Child.DryRun:
	case err == nil:
		c.forget(requests)
	case c.refusal != nil:
		return c.refusal
	case !ok || errors.Is(err, context.Canceled):
	case errors.Is(err, fault.ErrContested):
		failed.IsKnown = requests == 0
	case requests == 0:
		noted := *failed // another pass may read it
		failed.IsKnown = c.Table.NoteRepeat(c.key(), c.inputs(), &noted, c.Clock.Now())
	default:
		failed.After = c.noteFailure(failed, requests, isUndecided)
	}
	return err
}

// forget forgets the last attempt after a success. A success without a request says nothing about
// a call that allows something else.
func (c *Call) forget(requests int) {
	known, ok := c.Table.Get(c.key())
	if !ok {
		return
	}
	was, now := known.Inputs, c.inputs()
	if requests > 0 || was.Digest == now.Digest && was.Options == now.Options {
		c.Table.Remove(c.key())
	}
}

// noteFailure remembers an error and returns how long to wait.
func (c *Call) noteFailure(err *fault.Error, requests int, isUndecided bool) time.Duration {
	content, _ := c.initialContent()
	noted := *err // another pass may read it
	return c.Table.NoteFailure(c.key(), c.inputs(), Failure{
		Err: &noted, Requests: requests, Content: content,
		IsRace: isRace(err), IsTerminating: errors.Is(err, fault.ErrTerminating),
		IsFinal: c.isFinal(err, requests, isUndecided),
		IsBusy:  isUndecided || errors.Is(err, fault.ErrAPI) && !answer.IsFinal(err) && !apierrors.IsConflict(err),
	}, c.previous, c.Clock.Now())
}

// inputs returns all that decides, together with the content of the live object, how the call ends.
func (c *Call) inputs() Inputs {
	in := Inputs{IsRead: c.isRead, Digest: c.Child.Digest, Options: c.Options.Allowed()}
	if c.Child.Call == layer.Prune {
		in.Generation = c.Child.Owner.GetGeneration()
	}
	if c.initial != nil {
		in.UID = c.initial.GetUID()
	}
	return in
}

// isInitial reports whether the live object had this content at the beginning of the call.
func (c *Call) isInitial(content string) bool {
	now, ok := c.initialContent()
	return ok && now == content
}

// initialContent returns the fingerprint of the live object as the cache showed it; false if a change
// would not be noticed.
func (c *Call) initialContent() (string, bool) {
	if c.initial == nil {
		return "", true
	}
	return c.Child.Fingerprint(c.initial)
}

// isRace reports whether err may be over as soon as the cache shows the object as it is by now: a
// conflict, or an object that turned out to be foreign or to be deleted.
func isRace(err error) bool {
	_, isAnswer := answer.Status(err)
	return fault.IsRace(err) || errors.Is(err, fault.ErrForeign) || errors.Is(err, fault.ErrTerminating) && !isAnswer
}

// isFinal reports whether another attempt would fail as well, unless a person acts. Such a failure
// begins with the longest wait. A refusal that costs one request only is tried more often.
func (c *Call) isFinal(err error, requests int, isUndecided bool) bool {
	_, isAnswer := answer.Status(err)
	switch {
	case errors.Is(err, fault.ErrHidden):
		return true
	case errors.Is(err, fault.ErrForeign):
		return c.initial != nil // else the cache does not show when the object is gone
	case errors.Is(err, fault.ErrInvalid), errors.Is(err, fault.ErrImmutable), errors.Is(err, fault.ErrRefused):
		return requests > 1 && !isUndecided && (!isAnswer || fault.NamesFieldsOnly(err))
	}
	return false
}
