// Package withdraw gives up what the field owner has applied to an object that it does not delete.
package withdraw

import (
	"context"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/migrate"
)

// A Withdrawal removes from an object what this field owner has applied: all of it from an object that
// is given up, and the fields of one apply from an object of somebody else.
type Withdrawal struct {
	applier *server.Applier
	server  *server.Session
	child   *layer.Child
}

// Of returns the Withdrawal of what a has applied.
func Of(a *server.Applier) Withdrawal {
	return Withdrawal{applier: a, server: a.Server, child: a.Server.Child}
}

// Release removes the fields of live that only this field owner has applied, and keeps fields that
// others own, too. If the API server refuses the removal, as a Deployment needs its selector, the
// content stays and has no owner afterwards.
func (w Withdrawal) Release(ctx context.Context, live client.Object) (layer.Outcome, error) {
	before, after, err := w.Fields(ctx, live)
	if err == nil && !w.child.DryRun {
		after, err = w.dropOwnerReference(ctx, after)
	}
	if err != nil {
		w.server.Memory.Invalidate(w.child.OwnedID())
		return layer.Outcome{}, err
	}
	found := w.Leave(after)
	found.Cause, found.Changes = layer.Unwanted, w.Changes(before, after)
	return found, nil
}

// Fields gives up all fields that this field owner has applied to live, except for content that
// the API server requires. It returns live as it was before, and the answer.
func (w Withdrawal) Fields(ctx context.Context, live client.Object) (before, after client.Object, err error) {
	after, err = w.applier.ApplyNothing(ctx, live)
	switch {
	case !fault.IsRefusal(err):
		return live, after, err
	case w.child.DryRun: // nothing is stored that the next requests could build on
		return live, live, nil
	}
	if before, err = w.server.Current(ctx, live); err != nil {
		return nil, nil, err
	}
	after, err = w.releaseFieldsExcept(ctx, before, isContent)
	return before, after, err
}

// releaseFieldsExcept removes the fields of live that only this field owner has applied. Fields for
// which isKept holds stay without an owner.
func (w Withdrawal) releaseFieldsExcept(ctx context.Context, live client.Object, isKept func(fieldpath.Path) bool) (client.Object, error) {
	return w.releaseRest(ctx, live, func(live client.Object) *managedfields.Patch {
		return w.child.Operator.Disown(live, metav1.ManagedFieldsOperationApply, isKept)
	})
}

// releaseRest gives up everything that this field owner has applied to live. Before that, build keeps fields
// from being given up, by a patch of the managed fields.
func (w Withdrawal) releaseRest(
	ctx context.Context, live client.Object, build func(live client.Object) *managedfields.Patch,
) (client.Object, error) {
	if _, err := w.server.PatchEntries(ctx, fault.Releasing, live, build); err != nil {
		return nil, err
	}
	return w.applier.ApplyNothing(ctx, live)
}

// dropOwnerReference removes the reference to the owner if no other manager owns the reference. With the
// reference, the object would be deleted together with its owner.
func (w Withdrawal) dropOwnerReference(ctx context.Context, live client.Object) (client.Object, error) {
	references := live.GetOwnerReferences()
	at := slices.IndexFunc(references, func(ref metav1.OwnerReference) bool {
		return ptr.Deref(ref.Controller, false) && w.child.IsWanted(&ref)
	})
	if at < 0 || slices.ContainsFunc(managedfields.Entries(live), func(entry metav1.ManagedFieldsEntry) bool {
		isNobody := entry.Manager == migrate.BeforeFirstApply || entry.Manager == migrate.ReleasedBy(w.child.Operator.FieldOwner)
		return !isNobody && layer.OwnsReference(&entry, &references[at])
	}) {
		return live, nil
	}
	pointer := "/metadata/ownerReferences/" + strconv.Itoa(at)
	return w.server.PatchJSON(ctx, fault.Releasing, append(managedfields.TestUID(live),
		jsonpatch.Test(pointer, references[at]), jsonpatch.Remove(pointer)))
}

// Changes returns the changes of fields that this field owner owned in before.
func (w Withdrawal) Changes(before, after client.Object) []layer.Change {
	own := w.child.Operator.Owned(before)
	return w.child.Changes(slices.DeleteFunc(delta.Diff(before, after, own), func(change delta.Change) bool {
		return managedfields.HasAny(before) && !own.Owns(change.Path)
	}))
}

// Released returns the outcome for live if a call before gave it up, or saw that it is not ours, and live still looks like that
// or is a copy from before.
func (w Withdrawal) Released(live client.Object) (found layer.Outcome, ok bool) {
	known, ok := w.server.Memory.Foreign.Get(w.child.OwnedID())
	isSame := ok && known.Added == nil && known.Snapshot.UID == live.GetUID() &&
		(known.IsNewerThan(live.GetResourceVersion()) || known.Snapshot == w.child.Snapshot(live))
	return layer.Outcome{Live: live, Operation: layer.Released}, isSame
}

// Leave remembers that live, as it looks now, is not ours and has no field of ours, and returns that outcome.
func (w Withdrawal) Leave(live client.Object) layer.Outcome {
	if !w.child.DryRun {
		w.server.Memory.Release(w.child.OwnedID(), memory.Foreign{Snapshot: w.child.Snapshot(live), Version: live.GetResourceVersion()})
	}
	return layer.Outcome{Live: live, Operation: layer.Released}
}

// IsAdoptedBesideController reports whether this field owner has applied fields of live, which is not
// ours, on behalf of no owner: live was adopted beside its controller. If this field owner applied the
// reference to that controller, the fields belong to that owner.
func (w Withdrawal) IsAdoptedBesideController(live client.Object) bool {
	controller, own := metav1.GetControllerOfNoCopy(live), w.child.Operator.Applied(live)
	if w.child.Controller != nil || controller == nil || own == nil || layer.OwnsReference(own, controller) {
		return false
	}
	digest, adopted := w.child.Operator.Find(live)
	return adopted || digest == ""
}

// FromTaken gives up the fields that this field owner applied to an object which another controller took
// between our read of before and the answer after. Fields that this apply added are removed. Older
// fields came to the other controller with the object, and stay.
func (w Withdrawal) FromTaken(ctx context.Context, before, after client.Object) error {
	if w.child.DryRun {
		return nil
	}
	added, _ := managedfields.Split(w.child.Operator.Fields(after), func(path fieldpath.Path) bool {
		return !holds(before, path) || w.child.Operator.Digests.HasField(path)
	})
	return w.fromTaken(ctx, after, added)
}

// Finish finishes FromTaken for live, if a call before could not. It returns the latest copy of live that it has.
func (w Withdrawal) Finish(ctx context.Context, live client.Object) (client.Object, error) {
	known, _ := w.server.Memory.Foreign.Get(w.child.OwnedID())
	if known.Added == nil || known.Snapshot.UID != live.GetUID() || w.child.DryRun {
		return live, nil
	}
	complete, err := w.server.Reread(ctx, live)
	if err != nil {
		return live, err
	}
	if controller := metav1.GetControllerOfNoCopy(complete); controller == nil || w.child.IsWanted(controller) {
		return live, nil // the other controller released the object meanwhile
	}
	return complete, w.fromTaken(ctx, complete, known.Added)
}

// fromTaken gives up the fields that our apply added to an object that another controller took.
// They are remembered until that is done.
func (w Withdrawal) fromTaken(ctx context.Context, live client.Object, added *fieldpath.Set) error {
	w.server.Memory.Foreign.Set(w.child.OwnedID(), memory.Foreign{Snapshot: memory.Snapshot{UID: live.GetUID()}, Added: added})
	left, err := w.releaseAdded(ctx, live, added)
	if fault.IsRefusal(err) {
		left, err = w.releaseFieldsExcept(ctx, live, func(path fieldpath.Path) bool { return !w.child.Operator.Digests.HasField(path) })
	}
	if err == nil {
		w.Leave(left)
	}
	return err
}

// releaseAdded removes the fields that our apply added. All other fields belong to an entry of updates
// meanwhile: the API server removes a struct together with its fields if nobody owns any of them.
func (w Withdrawal) releaseAdded(ctx context.Context, after client.Object, added *fieldpath.Set) (client.Object, error) {
	isKept := func(path fieldpath.Path) bool { return !added.Has(path) }
	left, err := w.releaseRest(ctx, after, func(live client.Object) *managedfields.Patch {
		p := managedfields.NewPatch(live)
		if at := managedfields.Find(live, w.child.Operator.FieldOwner, metav1.ManagedFieldsOperationApply); at >= 0 {
			updates := managedfields.Entries(live)[at]
			updates.Operation = metav1.ManagedFieldsOperationUpdate
			kept, _ := managedfields.Split(w.child.Operator.Fields(live), isKept)
			p.Move(kept, at, &updates)
		}
		return p
	})
	if err != nil {
		return nil, err
	}
	return w.server.PatchEntries(ctx, fault.Releasing, left, func(live client.Object) *managedfields.Patch {
		return w.child.Operator.Disown(live, metav1.ManagedFieldsOperationUpdate, func(fieldpath.Path) bool { return true })
	})
}

// holds reports whether obj has a value at path, as far as its Go type has the field.
func holds(obj client.Object, path fieldpath.Path) bool {
	steps := managedfields.Steps(path)
	depth, err := delta.Specifies(obj, steps)
	return err != nil || depth == len(steps)
}

func isContent(path fieldpath.Path) bool { return !managedfields.IsAt(path, []string{"metadata"}) }
