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

// A Step is something to clean up before an object goes, and the finalizer that keeps
// the object until that is done.
type Step struct {
	// Name is the finalizer, such as example.com/cleanup-row: a qualified name, for
	// built-in kinds with a slash. For custom kinds the API server takes one without,
	// and warns.
	Name string
	// Cleanup undoes what was done for the object. It may be called any number of
	// times, also when everything is cleaned up already or was never done: the process
	// may end before the finalizer is removed. It returns Wait while it has to be
	// called again later; any other error keeps the finalizer as well.
	Cleanup func(ctx context.Context) error
}

// A Result says whether the object is still there to be worked for.
type Result struct {
	// Done says that the object is going, or gone: do nothing else for it. Reconcile
	// returns.
	Done bool
	// After is when to look again, if a Cleanup waits; else zero.
	After time.Duration
	// Reason is what that Cleanup waits for, in its own words.
	Reason string
}

// Handle is the first thing a Reconcile does with obj, as it was read.
//
// While obj lives, it has the finalizers of all steps before anything else happens: what
// is missing is added in one request. Once obj is being deleted, the steps whose
// finalizers are there are taken in order: Cleanup, then one request that removes that
// one finalizer. The first step that fails or waits is the last for now. If nothing is
// missing, nothing is sent; without steps there is nothing to do.
//
// Only the steps' own entries are added or removed. Writes succeed only on the list as
// it was read; if somebody else changed it meanwhile, or replaced the object by another
// of its name, that is a Conflict (apierrors.IsConflict), to be tried again with a fresh
// copy, as ensure.Retry does. Changes elsewhere in the object do not matter. obj becomes
// the server's answer to each write, and stays as it is when a write is refused.
//
// An object that turns out to be gone is Done and no error: what was read from a cache
// may be old, and nothing must be made for it that nobody would clean up. (The NotFound of
// a webhook, which misses something else, is an error.)
//
// Errors are of the arguments (a name that the API server would refuse, or one given
// twice; nothing was done then, and ensure.Reason is Refused), of a Cleanup, or of a request. That
// of a Cleanup is wrapped. That of a request unwraps to the server's answer. Its message is part of
// the text, cut to 1 KiB and less what differs from one try to the next, unless obj is a Secret.
//
// Handle is safe for concurrent use, though not on the same obj.
func Handle(ctx context.Context, c client.Client, obj client.Object, steps ...Step) (Result, error) {
	return handle(ctx, c, obj, steps, clock.RealClock{})
}

func handle(ctx context.Context, c client.Client, obj client.Object, steps []Step, clock clock.PassiveClock) (Result, error) {
	if err := check(c, obj, steps); err != nil {
		return Result{}, err
	}
	h := &handling{client: c, clock: clock, obj: obj, uid: obj.GetUID(), finalizers: slices.Clone(obj.GetFinalizers())}
	if going := obj.GetDeletionTimestamp(); going != nil {
		return h.cleanUp(ctx, steps, going.Time)
	}
	return h.add(ctx, steps)
}

// A handling is of one object.
type handling struct {
	client client.Client
	clock  clock.PassiveClock
	obj    client.Object
	// What was read and answered, and not what obj says later: a Cleanup may change it.
	uid        types.UID
	finalizers []string
}

func (h *handling) add(ctx context.Context, steps []Step) (Result, error) {
	missing := h.missing(steps)
	if len(missing) == 0 {
		return Result{}, nil
	}
	switch err := h.set(ctx, slices.Concat(h.finalizers, missing)); {
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

// missing are the finalizers that the object lacks.
func (h *handling) missing(steps []Step) []string {
	var names []string
	for _, step := range steps {
		if !slices.Contains(h.finalizers, step.Name) {
			names = append(names, step.Name)
		}
	}
	return names
}

func (h *handling) cleanUp(ctx context.Context, steps []Step, going time.Time) (Result, error) {
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
		observe(h.client, h.obj, step.Name, h.clock.Since(going))
	}
	return Result{Done: true}, nil
}

// unfinished keeps the finalizer.
func (h *handling) unfinished(step Step, err error) (Result, error) {
	if after, ok := waitOf(err); ok {
		return Result{Done: true, After: after, Reason: err.Error()}, nil
	}
	return Result{Done: true}, h.cleanupError(step, err)
}

func (h *handling) remove(ctx context.Context, name string) error {
	rest := slices.DeleteFunc(slices.Clone(h.finalizers), func(other string) bool { return other == name })
	return h.set(ctx, rest)
}
