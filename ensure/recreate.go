package ensure

import (
	"cmp"
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// Recreate allows what is ErrImmutable otherwise: the child is deleted and made again when
// desired has changed, the API server refuses that change for an existing object, and a dry
// run shows that it would take desired as a new one. It is never done for another error: not
// for an invalid value, a quota, a policy, a missing right, nor for fields of others that do
// not go with desired. What was adopted is never deleted so, and together with Adopt or
// IfExists, which may be about what somebody else made, nothing is.
//
// If desired is as before and somebody changed the child in what cannot be changed back, it
// is left as it is, unless RecreateOnDrift is given, too. A PersistentVolumeClaim, a
// PersistentVolume, a Namespace or a CustomResourceDefinition takes with it what cannot be
// made again: it is deleted only if OnlyFor gives Recreate to this very child.
//
// dependents says what becomes of those that name the child as their owner:
// metav1.DeletePropagationBackground deletes them after it; metav1.DeletePropagationOrphan
// leaves them, for the new object to take over, as a StatefulSet does the pods that its
// selector finds. Where the selector is what changes, and with a Job, whose selector is
// new each time, nobody takes them over, and pods run on until somebody deletes them: use
// Background there. Orphan is ErrTerminating until the old object has let go of its
// dependents, and Recreated in the pass after.
//
// A Service is not made anew for another cluster IP of desired's own: whether that is free,
// a dry run does not tell.
//
// Everything that others have written into the child is lost with it: it is a new one, which has
// of the old one only what Once names. A
// child that is not as desired only by what a webhook makes of each new one is left alone
// until desired changes.
func Recreate(dependents metav1.DeletionPropagation) Option {
	return func(o *options) { o.recreate = cmp.Or(dependents, "nothing") } // which is refused
}

// RecreateOnDrift extends Recreate to drift: the child is also deleted and made again when
// somebody changed what the API server does not let be changed back.
func RecreateOnDrift() Option {
	return func(o *options) { o.onDrift = true }
}

// holdsMore are the kinds whose deletion takes more with it than the object.
var holdsMore = []schema.GroupKind{
	{Kind: "Namespace"},
	{Kind: "PersistentVolume"},
	{Kind: "PersistentVolumeClaim"},
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
}

func (c *child) holdsMore() bool { return slices.Contains(holdsMore, c.gvk.GroupKind()) }

// mayRecreate reports whether the caller allows that the child is deleted for this cause.
func (c *child) mayRecreate(cause Cause) bool {
	return c.recreate != "" && (c.recreateNamed || !c.holdsMore()) && (cause == DesiredChanged || c.onDrift)
}

// A replacement is on its way from the deletion of a child to its creation.
type replacement struct {
	deleted types.UID
	cause   Cause
	changes []Change
	once    []canon.Edit // values of the deleted object, for the new one
}

// replaceOrGiveUp deletes live, which cannot be changed as desired, and makes the child again,
// if that is allowed and of use. Else the refusal stands.
func (c *child) replaceOrGiveUp(ctx context.Context, live client.Object, cause Cause, refusal error) (outcome, error) {
	if !c.mayRecreate(cause) || !c.ours || c.adopted || c.adopt || c.ifExists || !c.alone {
		return outcome{}, refusal
	}
	if cause != DesiredChanged {
		changed, err := c.isChangedByOthers(ctx, live)
		if err != nil {
			return outcome{}, err
		}
		if !changed {
			return outcome{}, refusal
		}
	}
	return c.replaceWhole(ctx, live, cause, refusal)
}

// isChangedByOthers reports whether live is not as desired in something that our applies do
// not own any more. What they own a webhook made of desired, and would make of a new one.
func (c *child) isChangedByOthers(ctx context.Context, live client.Object) (bool, error) {
	unsatisfied := pathsOf(c.unsatisfied(live))
	if len(unsatisfied) == 0 {
		return false, nil
	}
	complete, err := c.complete(ctx, live)
	if err != nil {
		return false, err
	}
	own := c.ownedIn(complete)
	return slices.ContainsFunc(unsatisfied, func(path string) bool { return !managedfields.Owns(own, path) }), nil
}

// replaceWhole deletes live and makes the child again. If live is not gone at once, the
// creation meets it and a later pass makes the child.
func (c *child) replaceWhole(ctx context.Context, live client.Object, cause Cause, refusal error) (outcome, error) {
	changes := c.unsatisfied(live)
	if e, ok := errors.AsType[*Error](refusal); ok && len(changes) == 0 {
		for _, path := range e.Paths {
			changes = append(changes, Change{Path: path})
		}
	}
	once, err := c.onceInServer(ctx, live)
	if err != nil {
		return outcome{}, err
	}
	c.propagation = c.recreate
	deleted, err := c.delete(ctx, live)
	if err != nil {
		return outcome{}, err
	}
	if c.dryRun {
		return outcome{live: live, operation: Recreated, cause: cause, changes: changes}, nil
	}
	if deleted.cause != "" { // by us
		c.wrote(outcome{live: live, operation: Deleting, cause: cause, changes: changes})
	}
	c.memory.replacing(c.ownedID(), replacement{deleted: live.GetUID(), cause: cause, changes: changes, once: once})
	return c.create(ctx)
}
