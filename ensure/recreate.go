package ensure

import (
	"cmp"
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/internal/delta"
)

// Recreate allows Object to delete the child and create it again, instead of failing with ErrImmutable.
// Object does so if desired has changed, the API server refuses the change for an existing object, and
// a dry run shows that the API server would create desired. Any other error prevents the recreation: an
// invalid value, a quota, a policy, a missing permission, or fields of others that conflict with
// desired. Adopted objects are never recreated. With Adopt or IfExists, no object is recreated.
//
// If somebody changed the child and the API server refuses to revert the change, the child stays, even
// if desired changes another field, unless RecreateOnDrift is given, too. The managed fields show what
// others changed: a field that somebody removed counts as a change of desired. The deletion of a
// PersistentVolumeClaim, a PersistentVolume, a Namespace or a CustomResourceDefinition destroys data that
// cannot be created again: for these kinds, give Recreate to the child with OnlyFor.
//
// dependents decides what happens to objects with an owner reference to the child.
// metav1.DeletePropagationBackground deletes them after the child. metav1.DeletePropagationOrphan keeps
// them for the new object: for example, a new StatefulSet adopts the pods that its selector matches.
// Use Background if the selector changes, and for a Job, whose selector is new each time: no object
// would adopt the orphaned pods, and they would run until somebody deletes them. With Orphan, calls
// return ErrTerminating until the old object has released its dependents, and then Recreated.
//
// A Service is not recreated to change a cluster IP that desired names: a dry run does not show whether
// the address is free.
//
// All fields that others have written to the child are lost, except for the values named by Once. A
// child that differs from desired only because a webhook changes each new object is not recreated until
// desired changes.
func Recreate(dependents metav1.DeletionPropagation) Option {
	return func(o *options) { o.recreate = cmp.Or(dependents, "nothing") } // which is refused
}

// RecreateOnDrift extends Recreate to drift: the child is also deleted and created again if somebody
// changed a field and the API server refuses to revert the change.
func RecreateOnDrift() Option {
	return func(o *options) { o.onDrift = true }
}

// A recreation deletes an object that cannot be changed as desired, and creates it again.
type recreation struct{ *child }

// run deletes live, which cannot be changed as desired, and makes the child again,
// if that is allowed and of use. Else the refusal stands.
func (r recreation) run(ctx context.Context, live client.Object, cause layer.Cause, refusal error) (layer.Outcome, error) {
	cause = r.provenCause(live, cause)
	if !r.mayRecreate(cause) || !r.isReplaceable() {
		return layer.Outcome{}, refusal
	}
	if cause == layer.DesiredChanged && !r.onDrift && r.isDriftRefused {
		return layer.Outcome{}, refusal
	}
	if cause != layer.DesiredChanged {
		changed, err := r.isChangedByOthers(ctx, live)
		if err != nil {
			return layer.Outcome{}, err
		}
		if !changed {
			return layer.Outcome{}, refusal
		}
	}
	return r.replaceWhole(ctx, live, cause, refusal)
}

// isReplaceable reports whether live is an object of ours that could be created again.
func (c *child) isReplaceable() bool {
	return c.ours && !c.adopted && !c.adopt && !c.ifExists && c.isCreatable
}

// provenCause returns Drifted for an object without a digest that this process has not written: nothing
// shows that desired has changed since.
func (r recreation) provenCause(live client.Object, cause layer.Cause) layer.Cause {
	if stored, _ := r.Operator.Stored(live); stored == "" && !r.isRemembered(live) {
		return layer.Drifted
	}
	return cause
}

// mayRecreate reports whether the caller allows that the child is deleted for this cause.
func (r recreation) mayRecreate(cause layer.Cause) bool {
	return r.recreate != "" && (r.recreateNamed || !r.Kind.HoldsMore()) && (cause == layer.DesiredChanged || r.onDrift)
}

// isChangedByOthers reports whether live differs from desired in a field that this field owner does not
// own any more. A differing field that this field owner owns was changed by a webhook, which would
// change a new object, too.
func (r recreation) isChangedByOthers(ctx context.Context, live client.Object) (bool, error) {
	unsatisfied := layer.Paths(r.Unsatisfied(live))
	if len(unsatisfied) == 0 {
		return false, nil
	}
	complete, err := r.complete(ctx, live)
	if err != nil {
		return false, err
	}
	own := r.Operator.Owned(complete)
	return slices.ContainsFunc(unsatisfied, func(path string) bool { return !own.Owns(path) }), nil
}

// replaceWhole deletes live and creates the child again. If live is not gone at once, the creation
// fails because live exists, and a later pass creates the child.
func (r recreation) replaceWhole(ctx context.Context, live client.Object, cause layer.Cause, refusal error) (layer.Outcome, error) {
	changes := r.Unsatisfied(live)
	if e, ok := errors.AsType[*fault.Error](refusal); ok && len(changes) == 0 {
		for _, path := range e.Paths {
			changes = append(changes, layer.Change{Path: path})
		}
	}
	once, err := r.onceValuesOnServer(ctx, live)
	if err != nil {
		return layer.Outcome{}, err
	}
	deleted, err := r.deleteLive(ctx, live, r.recreate)
	if err != nil {
		return layer.Outcome{}, err
	}
	if r.DryRun {
		return layer.Outcome{Live: live, Operation: layer.Recreated, Cause: cause, Changes: changes}, nil
	}
	if deleted.Cause != "" { // by us
		r.reporter.Wrote(ctx, &r.Child, layer.Outcome{Live: live, Operation: layer.Deleting, Cause: cause, Changes: changes})
	}
	r.replacements.Set(r.OwnedID(), replacement{deleted: live.GetUID(), cause: cause, changes: changes, once: once})
	return r.create(ctx)
}

// onceValuesOnServer returns these values as the API server has them, for the object that replaces live.
func (r recreation) onceValuesOnServer(ctx context.Context, live client.Object) ([]delta.Edit, error) {
	if len(r.Ignored) == 0 {
		return nil, nil
	}
	complete, err := r.server.RereadJSON(ctx, "delete", live.GetUID())
	if err != nil {
		return nil, err
	}
	if complete.GetResourceVersion() != live.GetResourceVersion() {
		return nil, r.Subject.Conflict("delete", "it was changed meanwhile", nil)
	}
	return r.onceValues(complete)
}

// dropReplacement forgets a pending replacement once the child has another UID: somebody else created
// the child first.
func (c *child) dropReplacement(uid types.UID) {
	if pending, _ := c.replacements.Get(c.OwnedID()); pending.deleted != uid {
		c.replacements.Remove(c.OwnedID())
	}
}
