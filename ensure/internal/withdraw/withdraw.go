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
	if _, err := w.server.PatchEntries(ctx, fault.Releasing, before, func(live client.Object) *managedfields.Patch {
		return w.child.Operator.Disown(live, metav1.ManagedFieldsOperationApply, isContent)
	}); err != nil {
		return nil, nil, err
	}
	after, err = w.applier.ApplyNothing(ctx, before)
	return before, after, err
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
	isSame := ok && known.Snapshot.UID == live.GetUID() &&
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

func isContent(path fieldpath.Path) bool { return !managedfields.IsAt(path, []string{"metadata"}) }
