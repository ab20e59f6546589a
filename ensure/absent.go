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

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/internal/consistency"
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
func Absent[T client.Object](ctx context.Context, e *Ensurer, obj T, opts ...AbsentOption) (Result[T], error) {
	r, err := e.newRemoval(obj, resolve(opts))
	if err != nil {
		return Result[T]{}, published(err)
	}
	found, err := r.absent(ctx, obj)
	if err != nil {
		return Result[T]{}, published(err)
	}
	return resultOf[T](found, &r.pass.child.Subject), nil
}

// A removal deletes an object that is not wanted, or gives up an adopted one.
type removal struct{ pass *pass }

// newRemoval checks the arguments of the caller. Only the kind, the name, the namespace and the UID of
// obj count.
func (e *Ensurer) newRemoval(obj client.Object, o options) (*removal, error) {
	p, err := e.identify(obj, o)
	if err != nil {
		return nil, err
	}
	c := &p.child
	if obj.GetName() == "" {
		return nil, c.Subject.Refuse("metadata.name", "is required")
	}
	if err := place(c, obj); err != nil {
		return nil, err
	}
	c.Desired = c.Kind.Empty(obj)
	if c.Owner != nil {
		err = p.stampOwner()
	} else if obj.GetResourceVersion() == "" { // else anybody may have set it
		c.Controller = metav1.GetControllerOfNoCopy(obj)
	}
	p.options.propagation = cmp.Or(o.propagation, metav1.DeletePropagationBackground)
	p.connect(layer.Absent)
	return &removal{p}, err
}

func (r *removal) absent(ctx context.Context, obj client.Object) (layer.Outcome, error) {
	if !r.pass.child.DryRun {
		r.pass.layers.forgetDeleted()
	}
	found, err := r.run(ctx, obj)
	if r.pass.server.IsUninstalled(err) {
		found, err = layer.Outcome{Operation: layer.Gone}, nil
	}
	return r.pass.endRemoval(ctx, found, err)
}

// run deletes the object that the cache shows. If the cache shows none or an outdated one,
// the object on the API server is deleted.
func (r *removal) run(ctx context.Context, meant client.Object) (layer.Outcome, error) {
	live, err := r.pass.read(ctx)
	switch {
	case err != nil:
		return layer.Outcome{}, err
	case live == nil && r.pass.server.Memory.Absent.Has(r.pass.child.ID()):
		return layer.Outcome{Operation: layer.Gone}, nil
	}
	return r.removeLatest(ctx, live, func(live client.Object) (layer.Outcome, error) {
		if live == nil {
			r.pass.server.Memory.Absent.Set(r.pass.child.ID(), struct{}{})
		}
		return r.remove(ctx, live, meant)
	})
}

// removalTries bounds how often an object is looked at that somebody changes at the same time.
const removalTries = 5

// removeLatest calls remove with cached, unless that is nil. If cached is not as the object is now, removeLatest calls remove
// with the object on the API server, nil if there is none. Right after its creation, an object is often changed again between
// the read and the delete, so remove is called a few times.
func (r *removal) removeLatest(
	ctx context.Context, cached client.Object, remove func(live client.Object) (layer.Outcome, error),
) (found layer.Outcome, err error) {
	if cached != nil {
		if found, err = remove(cached); err == nil || !fault.IsRace(err) {
			return found, err
		}
	}
	r.pass.server.IsCacheBehind = true
	for range removalTries {
		var live client.Object
		if live, err = r.pass.server.ReadServer(ctx); err != nil {
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
		return r.dropFinalizers(ctx, live)
	}
	if found, ok := r.pass.layers.leftBefore(live); ok {
		return found, nil
	}
	r.pass.server.LoadKnown()
	live, err := r.pass.server.Complete(ctx, live)
	if err != nil {
		return layer.Outcome{}, err
	}
	claim, err := r.pass.provenanceOf(ctx, live)
	if err != nil {
		return layer.Outcome{}, err
	}
	if !claim.ours && !r.pass.layers.isAdoptedBesideController(claim.live) {
		return r.leaveToOthers(claim.live)
	}
	if err := r.pass.layers.mayWrite(); err != nil {
		return layer.Outcome{}, err
	}
	if claim.ours && (!claim.adopted || r.pass.options.deleteAdopted) {
		return r.pass.delete(ctx, live, r.pass.options.propagation)
	}
	return r.pass.layers.giveUp(ctx, claim.live)
}

// leaveToOthers returns the outcome for an object that has nothing of ours. If a cache shows that, it returns a conflict: then
// removeLatest asks the API server, as it does if the cache shows no object.
func (r *removal) leaveToOthers(live client.Object) (layer.Outcome, error) {
	if !r.pass.server.IsCacheBehind {
		return layer.Outcome{}, r.pass.child.Subject.Conflict("read", "the cache may be behind", nil)
	}
	return r.pass.layers.leave(live), nil
}

// dropFinalizers removes the finalizers that this field owner has applied to an adopted object in
// deletion. Otherwise, the object would never be deleted.
func (r *removal) dropFinalizers(ctx context.Context, live client.Object) (layer.Outcome, error) {
	going := layer.Outcome{Live: live, Operation: layer.Deleting}
	operator := r.pass.child.Operator
	if _, adopted := operator.Find(live); !adopted || r.pass.options.deleteAdopted || len(live.GetFinalizers()) == 0 {
		return going, nil
	}
	live, err := r.pass.server.Complete(ctx, live)
	if err != nil {
		return layer.Outcome{}, err
	}
	claim, err := r.pass.provenanceOf(ctx, live)
	if err != nil || !claim.ours && !r.pass.layers.isAdoptedBesideController(live) || !operator.Owned(live).Owns("metadata.finalizers") {
		return going, err
	}
	return r.pass.layers.giveUpFields(ctx, live)
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
	opts := []client.ListOption{client.InNamespace(owner.GetNamespace()), consistency.Off, client.UnsafeDisableDeepCopy}
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
