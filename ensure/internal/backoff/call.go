package backoff

import (
	"context"
	"errors"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
)

// A Call is one call that may fail. While it backs off, it sends no request, and returns the error of the last attempt.
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

func (c *Call) inputs() Inputs {
	in := Inputs{Digest: c.Child.Digest, Allowed: c.Options.Allowed(), Handover: c.Child.Handover, IsRead: c.isRead}
	if c.Child.Owner != nil {
		in.Generation = c.Child.Owner.GetGeneration()
	}
	if c.initial != nil {
		in.UID = c.initial.GetUID()
	}
	return in
}

// Begin notes the live object with which the call begins, nil if there is none.
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
	left := known.Left(c.Clock.Now())
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

// End notes the end of a call that sent so many requests, and returns its error.
func (c *Call) End(err error, requests int) error {
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
	default:
		noted := *failed // another pass may read it
		if requests == 0 {
			failed.IsKnown = c.Table.NoteRepeat(c.key(), c.inputs(), &noted, c.Clock.Now())
		} else {
			failure := Failure{Err: &noted, Requests: requests, IsRace: fault.IsRace(err)}
			failed.After = c.Table.NoteFailure(c.key(), c.inputs(), failure, c.previous, c.Clock.Now())
		}
	}
	return err
}

// forget forgets the last attempt after a success. A success without a request says nothing about
// a call that wants or allows something else.
func (c *Call) forget(requests int) {
	known, ok := c.Table.Get(c.key())
	if !ok {
		return
	}
	failed, now := known.inputs, c.inputs()
	if requests > 0 || failed.Digest == now.Digest && failed.Allowed == now.Allowed && failed.Handover == now.Handover {
		c.Table.Remove(c.key())
	}
}
