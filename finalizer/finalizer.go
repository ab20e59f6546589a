package finalizer

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/answer"
)

// A Step is a cleanup that has to be done before an object disappears, and the finalizer that
// keeps the object until then.
type Step struct {
	// Name is the finalizer, such as example.com/cleanup-row: a qualified name. Built-in
	// kinds require a slash; for custom kinds the API server accepts a name without a
	// slash, with a warning.
	Name string
	// Cleanup reverts everything that was done for the object. Handle may call Cleanup any number of
	// times, also if everything is cleaned up already or was never done: the process may end before
	// the finalizer is removed. To be called again later, Cleanup returns the error of NotDone. Any other
	// error keeps the finalizer, too.
	Cleanup func(ctx context.Context) error
}

// A Result reports whether a reconcile may continue.
type Result struct {
	// Done reports that the object is being deleted or gone. Reconcile must then return without doing
	// anything else for the object.
	Done bool
	// After is the time after which to reconcile again, if a Cleanup waits; otherwise zero.
	After time.Duration
	// Reason is the reason that the waiting Cleanup gave.
	Reason string
}

// Handle adds the finalizers of steps to obj, or cleans up if obj is being deleted. Call
// Handle at the beginning of a reconcile, with obj as it was read.
//
// While obj is not being deleted, Handle adds all missing finalizers with one request. While
// obj is being deleted, Handle works in order through the steps whose finalizers are present:
// Handle calls Cleanup, then sends one request that removes this one finalizer, and stops at
// the first step that fails or waits. If nothing has to be changed, no request is sent;
// without steps, Handle does nothing.
//
// Handle adds and removes only the finalizers of steps. A write succeeds only if the list is
// as it was read. If the list was changed, or the object was replaced by another object of the
// same name, Handle returns a Conflict (apierrors.IsConflict): retry with a fresh copy, as
// ensure.Retry does. Changes of other fields do not matter. After each write obj is the
// server's response; a refused write leaves obj unchanged.
//
// If the object is gone, Handle returns Done and no error. The cached copy was outdated: create
// nothing for the object, because no Cleanup would run. (A NotFound of a webhook is about something
// else, and is an error.)
//
// An error is about the arguments, a Cleanup, a request, or a finalizer that a webhook dropped. An
// invalid argument is, for example, a name that the API server would refuse or a name that appears
// twice; Handle then did nothing, and ensure.Reason is Refused. The error of a Cleanup is wrapped. The
// error of a request unwraps to the server's response. Unless obj is a Secret, its text has the
// server's message, cut to 1 KiB and without the parts that differ between attempts.
//
// Handle is safe for concurrent use, but not for the same obj.
func Handle(ctx context.Context, c client.Client, obj client.Object, steps ...Step) (Result, error) {
	return handle(ctx, c, obj, steps, clock.RealClock{})
}

func handle(ctx context.Context, c client.Client, obj client.Object, steps []Step, clock clock.PassiveClock) (Result, error) {
	if err := check(c, obj, steps); err != nil {
		return Result{}, err
	}
	h := &handling{client: c, clock: clock, obj: obj, uid: obj.GetUID(), finalizers: slices.Clone(obj.GetFinalizers())}
	if deleted := obj.GetDeletionTimestamp(); deleted != nil {
		return h.cleanUp(ctx, steps, deleted.Time)
	}
	return h.add(ctx, steps)
}

// A handling handles the finalizers of one object.
type handling struct {
	client client.Client
	clock  clock.PassiveClock
	obj    client.Object
	// uid and finalizers are as read or returned by the server: a Cleanup may change obj.
	uid        types.UID
	finalizers []string
}

func (h *handling) add(ctx context.Context, steps []Step) (Result, error) {
	missing := h.missing(steps)
	if len(missing) == 0 {
		return Result{}, nil
	}
	switch err := h.setFinalizers(ctx, slices.Concat(h.finalizers, missing)); {
	case answer.IsGone(err):
		return Result{Done: true}, nil
	case err != nil:
		return Result{}, h.requestError("add "+quoted(missing)+" to", err)
	}
	if dropped := h.missing(steps); len(dropped) > 0 {
		return Result{}, errors.New(h.textOf("add "+quoted(dropped)+" to",
			"the API server did not store it: look for a webhook that removes it"))
	}
	return Result{}, nil
}

// missing returns the finalizers that the object lacks.
func (h *handling) missing(steps []Step) []string {
	var names []string
	for _, step := range steps {
		if !slices.Contains(h.finalizers, step.Name) {
			names = append(names, step.Name)
		}
	}
	return names
}

func (h *handling) cleanUp(ctx context.Context, steps []Step, deleted time.Time) (Result, error) {
	for _, step := range steps {
		if !slices.Contains(h.finalizers, step.Name) {
			continue
		}
		if err := step.Cleanup(ctx); err != nil {
			return h.unfinished(step, err)
		}
		switch err := h.remove(ctx, step.Name); {
		case answer.IsGone(err):
			return Result{Done: true}, nil
		case err != nil:
			return Result{Done: true}, h.requestError("remove "+quoted([]string{step.Name})+" from", err)
		}
		observe(h.client, h.obj, step.Name, h.clock.Since(deleted))
	}
	return Result{Done: true}, nil
}

// unfinished returns the result of a Cleanup that failed or waits: the finalizer stays.
func (h *handling) unfinished(step Step, err error) (Result, error) {
	if after, ok := retryAfter(err); ok {
		return Result{Done: true, After: after, Reason: err.Error()}, nil
	}
	return Result{Done: true}, h.cleanupError(step, err)
}

func (h *handling) remove(ctx context.Context, name string) error {
	rest := slices.DeleteFunc(slices.Clone(h.finalizers), func(other string) bool { return other == name })
	return h.setFinalizers(ctx, rest)
}
