package ensure

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/migrate"
)

// A withdrawal removes from an object what this field owner has applied: all of it from an object that
// is given up, and the fields of one apply from an object of somebody else.
type withdrawal struct{ *child }

// releaseObject removes the fields of live that only this field owner has applied, and keeps fields that
// others own, too. If the API server refuses the removal, as a Deployment needs its selector, the
// content stays and has no owner afterwards.
func (w withdrawal) releaseObject(ctx context.Context, live client.Object) (layer.Outcome, error) {
	before, after, err := w.releaseFields(ctx, live)
	if err == nil && !w.DryRun {
		after, err = w.dropOwnerReference(ctx, after)
	}
	if err != nil {
		w.memory.Invalidate(w.OwnedID())
		return layer.Outcome{}, err
	}
	if !w.DryRun {
		w.noteReleased(after)
	}
	return layer.Outcome{Live: after, Operation: layer.Released, Cause: layer.Unwanted, Changes: w.releasedChanges(before, after)}, nil
}

// releaseFields gives up all fields that this field owner has applied to live, except for content that
// the API server requires. It returns live as it was before, and the answer.
func (w withdrawal) releaseFields(ctx context.Context, live client.Object) (before, after client.Object, err error) {
	after, err = w.applyNothing(ctx, live)
	switch {
	case !fault.IsRefusal(err):
		return live, after, err
	case w.DryRun: // nothing is stored that the next requests could build on
		return live, live, nil
	}
	if before, err = w.current(ctx, live); err != nil {
		return nil, nil, err
	}
	after, err = w.releaseFieldsExcept(ctx, before, isContent)
	return before, after, err
}

// releaseFieldsExcept removes the fields of live that only this field owner has applied. Fields for
// which isKept holds stay without an owner.
func (w withdrawal) releaseFieldsExcept(ctx context.Context, live client.Object, isKept func(fieldpath.Path) bool) (client.Object, error) {
	return w.releaseRest(ctx, live, func(live client.Object) *managedfields.Patch {
		return w.disown(live, metav1.ManagedFieldsOperationApply, isKept)
	})
}

// releaseRest gives up everything that this field owner has applied to live. Before that, build keeps fields
// from being given up, by a patch of the managed fields.
func (w withdrawal) releaseRest(
	ctx context.Context, live client.Object, build func(live client.Object) *managedfields.Patch,
) (client.Object, error) {
	if _, err := w.server.PatchEntries(ctx, fault.Releasing, live, build); err != nil {
		return nil, err
	}
	return w.applyNothing(ctx, live)
}

// applyNothing gives up everything that this field owner has applied to live: the API server removes
// the fields that nobody else owns.
func (w withdrawal) applyNothing(ctx context.Context, live client.Object) (client.Object, error) {
	metadata := map[string]any{"name": w.Subject.Key.Name}
	if w.Subject.Key.Namespace != "" {
		metadata["namespace"] = w.Subject.Key.Namespace
	}
	if uid := live.GetUID(); uid != "" { // the fake client gives none
		metadata["uid"] = uid
	}
	body, err := json.Marshal(map[string]any{"apiVersion": w.Kind.APIVersion, "kind": w.Kind.GVK.Kind, "metadata": metadata})
	if err != nil {
		return nil, w.Subject.Unencodable(err)
	}
	answer, err := w.server.Patch(ctx, fault.Releasing, types.ApplyPatchType, body, client.ForceOwnership)
	if w.DryRun || !fault.IsUnconvertible(err) {
		return answer, err
	}
	if _, err = w.makeConvertible(ctx, live, err); err != nil {
		return nil, err
	}
	return w.server.Patch(ctx, fault.Releasing, types.ApplyPatchType, body, client.ForceOwnership)
}

// dropOwnerReference removes the reference to the owner if no other manager owns the reference. With the
// reference, the object would be deleted together with its owner.
func (w withdrawal) dropOwnerReference(ctx context.Context, live client.Object) (client.Object, error) {
	references := live.GetOwnerReferences()
	at := slices.IndexFunc(references, func(ref metav1.OwnerReference) bool { return ptr.Deref(ref.Controller, false) && w.IsWanted(&ref) })
	if at < 0 || slices.ContainsFunc(managedfields.Entries(live), func(entry metav1.ManagedFieldsEntry) bool {
		isNobody := entry.Manager == migrate.BeforeFirstApply || entry.Manager == migrate.ReleasedBy(w.Operator.FieldOwner)
		return !isNobody && ownsReference(&entry, &references[at])
	}) {
		return live, nil
	}
	pointer := "/metadata/ownerReferences/" + strconv.Itoa(at)
	return w.server.PatchJSON(ctx, fault.Releasing, append(managedfields.TestUID(live),
		jsonpatch.Test(pointer, references[at]), jsonpatch.Remove(pointer)))
}

// releasedChanges returns the changes of fields that this field owner owned in before.
func (w withdrawal) releasedChanges(before, after client.Object) []layer.Change {
	own := w.Operator.Owned(before)
	return w.Changes(slices.DeleteFunc(delta.Diff(before, after, own), func(change delta.Change) bool {
		return managedfields.HasAny(before) && !own.Owns(change.Path)
	}))
}

// isReleased reports whether live is the object that noteReleased remembers, or a copy from before.
func (w withdrawal) isReleased(live client.Object) bool {
	known, ok := w.memory.Foreign.Get(w.OwnedID())
	return ok && known.Added == nil && known.Snapshot.UID == live.GetUID() &&
		(known.IsNewerThan(live.GetResourceVersion()) || known.Snapshot == w.Snapshot(live))
}

// noteReleased remembers that live, as it looks now, is not ours any more and has no field of ours.
func (w withdrawal) noteReleased(live client.Object) {
	w.memory.Release(w.OwnedID(), memory.Foreign{Snapshot: w.Snapshot(live), Version: live.GetResourceVersion()})
}

// isAdoptedBesideController reports whether this field owner has applied fields of live, which is not
// ours, on behalf of no owner: live was adopted beside its controller. If this field owner applied the
// reference to that controller, the fields belong to that owner.
func (w withdrawal) isAdoptedBesideController(live client.Object) bool {
	controller, own := metav1.GetControllerOfNoCopy(live), w.Operator.Applied(live)
	if w.Controller != nil || controller == nil || own == nil || ownsReference(own, controller) {
		return false
	}
	digest, adopted := w.Operator.Find(live)
	return adopted || digest == ""
}

// removeOurFinalizers removes the finalizers that this field owner has applied to an adopted object in
// deletion. Otherwise, the object would never be deleted.
func (w withdrawal) removeOurFinalizers(ctx context.Context, live client.Object) (layer.Outcome, error) {
	going := layer.Outcome{Live: live, Operation: layer.Deleting}
	if _, adopted := w.Operator.Find(live); !adopted || w.deleteAdopted || len(live.GetFinalizers()) == 0 {
		return going, nil
	}
	live, err := w.complete(ctx, live)
	if err != nil {
		return layer.Outcome{}, err
	}
	claim, err := w.provenanceOf(ctx, live)
	if err != nil || !claim.ours && !w.isAdoptedBesideController(live) || !w.Operator.Owned(live).Owns("metadata.finalizers") {
		return going, err
	}
	before, after, err := w.releaseFields(ctx, live)
	if err != nil {
		return layer.Outcome{}, err
	}
	going.Live, going.Changes = after, w.releasedChanges(before, after)
	return going, nil
}

// withdraw gives up the fields that this field owner applied to an object which another controller took
// between our read of before and the answer after. Fields that this apply added are removed. Older
// fields came to the other controller with the object, and stay.
func (w withdrawal) withdraw(ctx context.Context, before, after client.Object) error {
	if w.DryRun {
		return w.foreignError(after)
	}
	added, _ := managedfields.Split(w.Operator.Fields(after), func(path fieldpath.Path) bool {
		return !holds(before, path) || w.Operator.Digests.HasField(path)
	})
	return w.withdrawAdded(ctx, after, added)
}

// leaveForeign finishes a withdrawal from live, which is not ours, and returns an error.
func (w withdrawal) leaveForeign(ctx context.Context, live client.Object) error {
	known, _ := w.memory.Foreign.Get(w.OwnedID())
	if known.Added == nil || known.Snapshot.UID != live.GetUID() || w.DryRun {
		return w.foreignError(live)
	}
	complete, err := w.server.Reread(ctx, live)
	if err != nil {
		return err
	}
	if controller := metav1.GetControllerOfNoCopy(complete); controller == nil || w.IsWanted(controller) {
		return w.foreignError(live) // the other controller released the object meanwhile
	}
	return w.withdrawAdded(ctx, complete, known.Added)
}

// withdrawAdded gives up the fields that our apply added to an object that another controller took.
// They are remembered until that is done.
func (w withdrawal) withdrawAdded(ctx context.Context, live client.Object, added *fieldpath.Set) error {
	w.memory.Foreign.Set(w.OwnedID(), memory.Foreign{Snapshot: memory.Snapshot{UID: live.GetUID()}, Added: added})
	left, err := w.releaseAdded(ctx, live, added)
	if fault.IsRefusal(err) {
		left, err = w.releaseFieldsExcept(ctx, live, func(path fieldpath.Path) bool { return !w.Operator.Digests.HasField(path) })
	}
	if err != nil {
		return err
	}
	w.noteReleased(left)
	return w.foreignError(live)
}

// releaseAdded removes the fields that our apply added. All other fields belong to an entry of updates
// meanwhile: the API server removes a struct together with its fields if nobody owns any of them.
func (w withdrawal) releaseAdded(ctx context.Context, after client.Object, added *fieldpath.Set) (client.Object, error) {
	isKept := func(path fieldpath.Path) bool { return !added.Has(path) }
	left, err := w.releaseRest(ctx, after, func(live client.Object) *managedfields.Patch {
		p := managedfields.NewPatch(live)
		if at := managedfields.Find(live, w.Operator.FieldOwner, metav1.ManagedFieldsOperationApply); at >= 0 {
			updates := managedfields.Entries(live)[at]
			updates.Operation = metav1.ManagedFieldsOperationUpdate
			kept, _ := managedfields.Split(w.Operator.Fields(live), isKept)
			p.Move(kept, at, &updates)
		}
		return p
	})
	if err != nil {
		return nil, err
	}
	return w.server.PatchEntries(ctx, fault.Releasing, left, func(live client.Object) *managedfields.Patch {
		return w.disown(live, metav1.ManagedFieldsOperationUpdate, func(fieldpath.Path) bool { return true })
	})
}

// holds reports whether obj has a value at path, as far as its Go type has the field.
func holds(obj client.Object, path fieldpath.Path) bool {
	steps := managedfields.Steps(path)
	depth, err := delta.Specifies(obj, steps)
	return err != nil || depth == len(steps)
}
