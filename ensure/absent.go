package ensure

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/backoff"
	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/internal/object"
)

// Absent deletes the object named by obj if our field owner created it. Absent uses only the kind, the
// namespace, the name and, if set, the UID and the controller of obj: an object with the same name and
// another UID counts as gone. Call Absent in each reconcile until Operation is Gone or Released:
//
//   - Deleting: the object is being deleted. If Cause is Unwanted, this call sent the delete. The
//     deletion may wait for finalizers and, with Propagation(metav1.DeletePropagationForeground), for
//     dependents. Our finalizers on an adopted object are removed; this has no Cause and no event.
//   - Gone: the object does not exist. If the cache does not show the object, one read from the API
//     server confirms this. Absent then sends no further request until the cache shows an object or
//     Object creates one. Operation is also Gone if the API server does not serve the kind, because the
//     CustomResourceDefinition is not installed. Absent checks this by discovery in each call. If
//     discovery fails, or the server of an aggregated API is down, Absent returns an error.
//   - Released: the object stays, because we did not create it. If the object was adopted, our fields
//     were given up: by this call if Cause is set, otherwise by an earlier call. One read from the API
//     server confirms that none of our fields is left. Treat Released like Gone: after a restart, a
//     released object cannot be distinguished from an object that was never ours. With DeleteAdopted,
//     adopted objects are deleted instead.
//
// The rules of ownership are the rules of Object: an object is not ours if its controller is not the
// owner given to ControlledBy, or if it has no controller and no trace of our field owner. A controller
// reference in obj has the same effect as ControlledBy, unless obj is a copy of the live object. The
// owner may be in deletion. The UID and the resourceVersion that were read are preconditions of the
// delete request. If the object changes in between, Absent reads the object again, a few times; after
// that the error is a Conflict. If calls of Object create the object again and again, the error is
// ErrContested. Absent does not change an object that belongs to another owner.
//
// An apply without any field gives up our fields: the API server removes the fields that only our field
// owner owns, and keeps the fields that others own, too. If the API server refuses this apply, as for a
// Deployment whose selector has no other owner, our labels, annotations, owner references and
// finalizers are removed, and the content keeps its values.
//
// The objects of a former field owner are ours, too; see FormerFieldOwners. Absent does not take over its fields, so
// objects that it adopted keep these fields.
//
// In a finalizer, wait while Operation is Deleting:
//
//	res, err := ensure.Absent(ctx, e, obj, ensure.ControlledBy(owner))
//	if err == nil && res.Operation == ensure.Deleting {
//		return finalizer.NotDone(0, "the settings are still there")
//	}
//	return err
//
// Result.Live is the last copy of the object that was read, and nil if the object is gone.
func Absent[T client.Object](ctx context.Context, e *Ensurer, obj T, opts ...Option) (Result[T], error) {
	r, err := e.newRemoval(obj, resolve(opts))
	if err != nil {
		return Result[T]{}, published(err)
	}
	found, err := r.absent(ctx, obj)
	if err != nil {
		return Result[T]{}, published(err)
	}
	return resultOf[T](found, &r.Subject), nil
}

// A removal deletes an object that is not wanted, or gives up an adopted one.
type removal struct{ withdrawal }

// newRemoval checks the arguments of the caller. Only the kind, the name, the namespace and the UID of
// obj count.
func (e *Ensurer) newRemoval(obj client.Object, o options) (*removal, error) {
	c, err := e.identify(obj, o)
	if err != nil {
		return nil, err
	}
	switch {
	case obj.GetName() == "":
		return nil, c.Subject.Refuse("metadata.name", "is required")
	case c.adopt:
		return nil, c.Subject.Refuse("", "ensure.Adopt has no meaning here: only objects of ours are deleted")
	case c.ifExists, c.ifMissing, c.recreate != "", c.onDrift, c.changesOwnership(), c.prune != nil, c.only != nil:
		return nil, c.Subject.Refuse("", "ensure.Absent takes ensure.ControlledBy, ensure.Propagation, "+
			"ensure.DeleteAdopted and ensure.DryRun only")
	}
	if err := place(&c.Child, obj); err != nil {
		return nil, err
	}
	c.propagation = cmp.Or(c.propagation, metav1.DeletePropagationBackground)
	c.Desired, c.call = c.Kind.Empty(obj), backoff.Absent
	if c.Owner != nil {
		err = c.stampOwner()
	} else if obj.GetResourceVersion() == "" { // else anybody may have set it
		c.Controller = metav1.GetControllerOfNoCopy(obj)
	}
	c.connect()
	return &removal{withdrawal{c}}, err
}

func (r *removal) absent(ctx context.Context, obj client.Object) (layer.Outcome, error) {
	if !r.DryRun {
		r.replacements.Remove(r.OwnedID())
	}
	found, err := r.run(ctx, obj)
	if r.server.IsUninstalled(err) {
		found, err = layer.Outcome{Operation: layer.Gone}, nil
	}
	return r.finish(ctx, found, err)
}

// run deletes the object that the cache shows. If the cache shows none or an outdated one,
// the object on the API server is deleted.
func (r *removal) run(ctx context.Context, meant client.Object) (layer.Outcome, error) {
	live, err := r.read(ctx)
	if err != nil {
		return layer.Outcome{}, err
	}
	switch {
	case live != nil:
		found, err := r.remove(ctx, live, meant)
		if err == nil || !fault.IsRace(err) {
			return found, err
		}
	case r.memory.Absent.Has(r.ID()):
		return layer.Outcome{Operation: layer.Gone}, nil
	}
	r.isMissingFromCache = true
	return r.removeFromServer(ctx, func(live client.Object) (layer.Outcome, error) {
		if live == nil {
			r.memory.Absent.Set(r.ID(), struct{}{})
		}
		return r.remove(ctx, live, meant)
	})
}

// removalTries bounds how often an object is looked at that somebody changes at the same time.
const removalTries = 5

// removeFromServer calls remove with the object on the API server, nil if there is none, because the
// cache does not show the object as it is now. Right after its creation, an object is often changed
// again between the read and the delete, so remove is called a few times.
func (r *removal) removeFromServer(
	ctx context.Context, remove func(live client.Object) (layer.Outcome, error),
) (found layer.Outcome, err error) {
	for range removalTries {
		var live client.Object
		if live, err = r.server.ReadServer(ctx); err != nil {
			return layer.Outcome{}, err
		}
		if found, err = remove(live); err == nil || !fault.IsRace(err) {
			return found, err
		}
	}
	return found, err
}

// remove deletes live, nil if there is none, if live is the object that is meant and ours. An object of
// somebody else only loses the fields that we added.
func (r *removal) remove(ctx context.Context, live, meant client.Object) (layer.Outcome, error) {
	if live == nil || meant.GetUID() != "" && live.GetUID() != meant.GetUID() {
		return layer.Outcome{Operation: layer.Gone}, nil
	}
	if live.GetDeletionTimestamp() != nil {
		return r.removeOurFinalizers(ctx, live)
	}
	if r.isReleased(live) {
		return layer.Outcome{Live: live, Operation: layer.Released}, nil
	}
	r.loadRecord()
	live, err := r.complete(ctx, live)
	if err != nil {
		return layer.Outcome{}, err
	}
	claim, err := r.provenanceOf(ctx, live)
	if err != nil {
		return layer.Outcome{}, err
	}
	if !claim.ours && !r.isAdoptedBesideController(claim.live) {
		return r.leaveToOthers(claim.live)
	}
	if err := r.contest.Try(); err != nil {
		return layer.Outcome{}, err
	}
	if claim.ours && (!claim.adopted || r.deleteAdopted) {
		return r.deleteLive(ctx, live, r.propagation)
	}
	return r.releaseObject(ctx, claim.live)
}

// leaveToOthers is for an object that has nothing of ours. That, like that there is no object, the
// server has to confirm.
func (r *removal) leaveToOthers(live client.Object) (layer.Outcome, error) {
	if !r.isMissingFromCache {
		return layer.Outcome{}, r.Subject.Conflict("read", "the cache may be behind", nil) // the server knows
	}
	if !r.DryRun {
		r.noteReleased(live)
	}
	return layer.Outcome{Live: live, Operation: layer.Released}, nil
}

// finish returns the outcome of a removal after reporting the outcome.
func (r *removal) finish(ctx context.Context, found layer.Outcome, err error) (layer.Outcome, error) {
	r.reporter.Wrote(ctx, &r.Child, found)
	if err == nil && found.Cause == layer.Unwanted && !r.DryRun {
		found, err = r.contest.Superseded(nil, found)
	}
	err = r.backoff.End(err, r.server.Requests, false)
	r.reporter.Ended(&r.server, found, err)
	return found, err
}

func (c *child) deleteLive(ctx context.Context, live client.Object, policy metav1.DeletionPropagation) (layer.Outcome, error) {
	wasThere, err := c.server.Delete(ctx, live, policy, !c.isMissingFromCache)
	switch {
	case err != nil:
		return layer.Outcome{}, err
	case !wasThere:
		return layer.Outcome{Operation: layer.Gone}, nil
	}
	return layer.Outcome{Live: live, Operation: layer.Deleting, Cause: layer.Unwanted}, nil
}

// Children returns the objects that owner controls, whatever their names are: in the order of lists,
// which name the kinds, and sorted by name. A reconcile can report them in a status, or delete them by
// Absent when a finalizer has to wait until they are gone:
//
//	children, err := ensure.Children(ctx, reader, site, &appsv1.DeploymentList{}, &corev1.ServiceList{})
//
// Children lists each kind in the owner's namespace, or in all namespaces for an owner without one.
// With a reader that has a cache, Children does not wait until the cache shows earlier writes. If
// nothing must be missing, call Children again with a reader that reads from the API server, as a
// manager's GetAPIReader does. The result has copies, and what lists contain afterwards must not be
// changed.
func Children(ctx context.Context, reader client.Reader, owner client.Object, lists ...client.ObjectList) ([]client.Object, error) {
	if object.IsNil(owner) || object.IsNil(reader) {
		return nil, fmt.Errorf("%w: ensure.Children was given no owner or no reader", ErrRefused)
	}
	var children []client.Object
	opts := []client.ListOption{
		client.InNamespace(owner.GetNamespace()), client.DisableReadYourWritesConsistency, client.UnsafeDisableDeepCopy,
	}
	for _, list := range lists {
		var found []client.Object
		err := reader.List(ctx, list, opts...)
		if err == nil {
			err = meta.EachListItem(list, func(item runtime.Object) error {
				if child, ok := item.(client.Object); ok && metav1.IsControlledBy(child, owner) {
					own, _ := child.DeepCopyObject().(client.Object)
					found = append(found, own)
				}
				return nil
			})
		}
		if err != nil {
			return nil, fmt.Errorf("cannot list the children of %q: %w", client.ObjectKeyFromObject(owner), err)
		}
		slices.SortFunc(found, func(a, b client.Object) int { return cmp.Compare(a.GetName(), b.GetName()) })
		children = append(children, found...)
	}
	return children, nil
}
