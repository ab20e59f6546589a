package ensure

import (
	"cmp"
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/answer"
)

// Absent makes the object that obj names be gone, if it is ours: kind, namespace and
// name of obj count, and its UID if it has one (then another object of that name is not
// meant and counts as gone). Call it on each pass until Operation says so:
//
//   - Deleting: it is on its way out. The delete was sent now, which Cause, Unwanted, tells,
//     or somebody sent one before; finalizers, and with Propagation(metav1.DeletePropagationForeground) its
//     dependents, may take their time. Finalizers that we applied to what we adopted are taken back.
//   - Gone: the API server has no such object. That a cache has none is confirmed by one
//     read from the server; from then on no request is sent, until the cache shows one
//     again or Object makes it. It is also Gone if the API server does not serve its kind, as its
//     CustomResourceDefinition is not installed; each pass asks discovery whether that is so. If
//     discovery fails, or the server of an aggregated API is down, that is an error.
//   - Released: it stays, as it is not ours. If we adopted it, our fields were given up: now, if
//     there is a Cause, else before. Nothing more will happen, so this is as good as Gone: what
//     was released and what never was ours look alike after a restart. That nothing of ours is in
//     it is confirmed by one read from the server. With DeleteAdopted what was adopted is deleted
//     instead.
//
// The rules are those of Object: what another owner controls than that of ControlledBy is not
// ours, nor is what has no controller and shows no trace of this field owner. Instead of
// ControlledBy, obj may name its controller, as for Object, unless obj is a copy of the live
// object. An owner that is being deleted is fine here. The delete is of exactly the object and
// version that was looked at; if it was changed meanwhile, it is looked at again, a few
// times, then that is a Conflict. If Object makes it again at once, again and again, that is ErrContested. No
// other owner's child of that name is touched.
//
// Fields are given up by an apply that specifies nothing: what only this field owner has set
// is removed, as if desired dropped it, and what others own, too, stays. If the API server
// refuses that, as it does with a Deployment whose selector is only ours, labels, annotations,
// owners and finalizers of ours are removed, and the content stays with the values it has.
//
// After a rename of the field owner, MigrateFrom names the former one: what that made is ours, too.
// Nothing is taken over, so that what that adopted keeps its fields.
//
// In a finalizer, Deleting is what is left to wait for:
//
//	res, err := ensure.Absent(ctx, e, obj, ensure.ControlledBy(owner))
//	if err == nil && res.Operation == ensure.Deleting {
//		return finalizer.Wait(0, "the settings are still there")
//	}
//	return err
//
// Result.Live is the object as it was last seen, and nil when it is gone.
func Absent[T client.Object](ctx context.Context, e *Ensurer, obj T, opts ...Option) (Result[T], error) {
	found, err := e.absent(ctx, obj, resolve(opts))
	if err != nil {
		return Result[T]{}, err
	}
	return resultOf[T](found), nil
}

func (e *Ensurer) absent(ctx context.Context, obj client.Object, o options) (outcome, error) {
	c, err := e.newUnwanted(obj, o)
	if err != nil {
		return outcome{}, err
	}
	if !c.dryRun {
		c.memory.replaced(c.ownedID())
	}
	found, err := c.lookAndRemove(ctx, obj)
	if c.isUninstalled(err) {
		found, err = outcome{operation: Gone}, nil
	}
	return c.removed(found, err)
}

// lookAndRemove deletes what the cache shows, or what the server has after all.
func (c *child) lookAndRemove(ctx context.Context, meant client.Object) (outcome, error) {
	live, err := c.read(ctx)
	if err != nil {
		return outcome{}, err
	}
	switch {
	case live != nil:
		found, err := c.remove(ctx, live, meant)
		if err == nil || !hasMoved(err) {
			return found, err
		}
	case c.memory.isGone(c.id()):
		return outcome{operation: Gone}, nil
	}
	c.unseen = true
	return c.removeFromServer(ctx, func(live client.Object) (outcome, error) {
		if live == nil {
			c.memory.gone(c.id())
		}
		return c.remove(ctx, live, meant)
	})
}

// removalTries bounds how often an object is looked at that somebody changes at the same time.
const removalTries = 5

// removeFromServer calls remove with what the server has, nil if nothing, as the cache does not show
// it, or not as it is now. Right after its creation an object is often changed again, between the
// read and the delete.
func (c *child) removeFromServer(ctx context.Context, remove func(live client.Object) (outcome, error)) (found outcome, err error) {
	for range removalTries {
		var live client.Object
		if live, err = c.readServer(ctx); err != nil {
			return outcome{}, err
		}
		if found, err = remove(live); err == nil || !hasMoved(err) {
			return found, err
		}
	}
	return found, err
}

// newUnwanted checks what the caller gave. Only who and where it is counts.
func (e *Ensurer) newUnwanted(obj client.Object, o options) (*child, error) {
	c, err := e.identify(obj, o)
	if err != nil {
		return nil, err
	}
	switch {
	case obj.GetName() == "":
		return nil, c.refuse("metadata.name", "is required")
	case c.adopt:
		return nil, c.refuse("", "ensure.Adopt has no meaning here: only what is ours is deleted")
	case c.ifExists, c.ifMissing, c.recreate != "", c.onDrift, c.leaves(), c.prune != nil, c.only != nil:
		return nil, c.refuse("", "ensure.Absent takes ensure.ControlledBy, ensure.Propagation, "+
			"ensure.DeleteAdopted, ensure.MigrateFrom and ensure.DryRun only")
	}
	if err := c.checkManagers(); err != nil {
		return nil, err
	}
	if err := c.place(obj); err != nil {
		return nil, err
	}
	c.propagation = cmp.Or(c.propagation, metav1.DeletePropagationBackground)
	c.desired, c.call = c.empty(obj), callAbsent
	if c.controlled {
		return c, c.stampOwner()
	}
	if obj.GetResourceVersion() == "" { // else anybody may have set it
		c.controller = metav1.GetControllerOfNoCopy(obj)
	}
	return c, nil
}

// remove deletes live, nil if there is none, if it is the one that is meant and ours. What is
// somebody else's loses what we added.
func (c *child) remove(ctx context.Context, live, meant client.Object) (outcome, error) {
	if live == nil || meant.GetUID() != "" && live.GetUID() != meant.GetUID() {
		return outcome{operation: Gone}, nil
	}
	if live.GetDeletionTimestamp() != nil {
		return c.letGo(ctx, live)
	}
	if c.isReleased(live) {
		return outcome{live: live, operation: Released}, nil
	}
	c.recall()
	live, err := c.complete(ctx, live)
	if err != nil {
		return outcome{}, err
	}
	claim, err := c.claimOn(ctx, live)
	if err != nil {
		return outcome{}, err
	}
	if !claim.ours && !c.isBeside(claim.live) {
		return c.leaveToOthers(claim.live)
	}
	if err := c.held(); err != nil {
		return outcome{}, err
	}
	if claim.ours && (!claim.adopted || c.deleteAdopted) {
		return c.delete(ctx, live)
	}
	return c.giveUp(ctx, claim.live)
}

// leaveToOthers is for an object that has nothing of ours. That, like that there is no object, the
// server has to confirm.
func (c *child) leaveToOthers(live client.Object) (outcome, error) {
	if !c.unseen {
		return outcome{}, c.conflict("read", "the cache may be behind", nil) // the server knows
	}
	if !c.dryRun {
		c.noteReleased(live)
	}
	return outcome{live: live, operation: Released}, nil
}

func (c *child) delete(ctx context.Context, live client.Object) (outcome, error) {
	seen := metav1.Preconditions{ResourceVersion: new(live.GetResourceVersion())}
	if uid := live.GetUID(); uid != "" { // the fake client gives none
		seen.UID = &uid
	}
	opts := []client.DeleteOption{client.Preconditions(seen), client.PropagationPolicy(c.propagation)}
	if c.dryRun {
		opts = append(opts, client.DryRunAll)
	}
	if c.unseen || c.dryRun {
		// A client that reads its own writes would wait until the cache shows that it is gone.
		// One that does not show it never will.
		opts = append(opts, client.DisableReadYourWritesConsistency)
	}
	if err := c.ask(); err != nil {
		return outcome{}, err
	}
	switch err := c.client.Delete(ctx, live, opts...); {
	case answer.IsGone(err):
		return outcome{operation: Gone}, nil
	case err != nil:
		return outcome{}, c.requestError("delete", err)
	}
	if !c.dryRun {
		c.memory.removed(c.ownedID())
	}
	return outcome{live: live, operation: Deleting, cause: Unwanted}, nil
}
