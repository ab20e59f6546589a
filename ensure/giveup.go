package ensure

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// giveUp removes the fields of live that only this field owner has applied, and keeps fields that
// others own, too. If the API server refuses the removal, as a Deployment needs its selector, the
// content stays and has no owner afterwards.
func (c *child) giveUp(ctx context.Context, live client.Object) (outcome, error) {
	before, after, err := c.unapply(ctx, live)
	if err == nil && !c.dryRun {
		after, err = c.dropReference(ctx, after)
	}
	if err != nil {
		c.memory.Doubt(c.ownedID())
		return outcome{}, err
	}
	if !c.dryRun {
		c.noteReleased(after)
	}
	return outcome{live: after, operation: Released, cause: Unwanted, changes: c.givenUp(before, after)}, nil
}

// unapply gives up all fields that this field owner has applied to live, except for content that the
// API server requires. It returns live as it was before, and the answer.
func (c *child) unapply(ctx context.Context, live client.Object) (before, after client.Object, err error) {
	if taken := c.takeoverIn(live).fields; taken.Empty() || c.dryRun {
		after, err = c.applyNothing(ctx, live)
	} else if live, err = c.current(ctx, live); err == nil {
		if after, err = c.giveUpBut(ctx, live, taken.Has); err == nil {
			after, err = c.dropNote(ctx, after)
		}
	}
	switch {
	case !isRefused(err):
		return live, after, err
	case c.dryRun: // nothing is stored that the next requests could build on
		return live, live, nil
	}
	if before, err = c.current(ctx, live); err != nil {
		return nil, nil, err
	}
	after, err = c.giveUpBut(ctx, before, isContent)
	return before, after, err
}

// letGo removes the finalizers that this field owner has applied to an adopted object in deletion.
// Otherwise, the object would never be deleted.
func (c *child) letGo(ctx context.Context, live client.Object) (outcome, error) {
	going := outcome{live: live, operation: Deleting}
	if _, adopted := c.digestOn(live); !adopted || c.deleteAdopted || len(live.GetFinalizers()) == 0 {
		return going, nil
	}
	live, err := c.complete(ctx, live)
	if err != nil {
		return outcome{}, err
	}
	claim, err := c.claimOn(ctx, live)
	if err != nil || !claim.ours && !c.isBeside(live) || !managedfields.Owns(c.ownedIn(live), "metadata.finalizers") {
		return going, err
	}
	before, after, err := c.unapply(ctx, live)
	if err != nil {
		return outcome{}, err
	}
	going.live, going.changes = after, c.givenUp(before, after)
	return going, nil
}

// isGivenUp reports whether this field owner has applied no content of live although desired has some:
// the program ended while it gave live up.
func (c *child) isGivenUp(live client.Object) bool {
	own := managedfields.Applied(live, c.fieldOwner)
	if own == nil {
		return false
	}
	owned, _ := managedfields.Split(managedfields.Fields(own), isContent)
	content, err := canon.AppendContent(nil, c.applied(c.desired))
	return err == nil && string(content) != "{}" && owned.Empty()
}

// dropReference removes the reference to the owner if no other manager owns the reference. With the
// reference, the object would be deleted together with its owner.
func (c *child) dropReference(ctx context.Context, live client.Object) (client.Object, error) {
	references := live.GetOwnerReferences()
	at := slices.IndexFunc(references, func(ref metav1.OwnerReference) bool { return ptr.Deref(ref.Controller, false) && c.isWanted(&ref) })
	if at < 0 || slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager != beforeFirstApply && ownsReference(&entry, &references[at])
	}) {
		return live, nil
	}
	pointer := "/metadata/ownerReferences/" + strconv.Itoa(at)
	return c.patchJSON(ctx, releasing, append(managedfields.TestUID(live),
		jsonpatch.Test(pointer, references[at]), jsonpatch.Remove(pointer)))
}

// isRefused reports whether the API server, or a policy, does not want an object to be so.
func isRefused(err error) bool { return errors.Is(err, ErrInvalid) || apierrors.IsForbidden(err) }

// giveUpBut removes the fields of live that only this field owner has applied. Fields for which isKept
// holds stay without an owner.
func (c *child) giveUpBut(ctx context.Context, live client.Object, isKept func(fieldpath.Path) bool) (client.Object, error) {
	_, err := c.patchEntries(ctx, releasing, live, func(p *managedfields.Patch, live client.Object) {
		c.strike(p, live, metav1.ManagedFieldsOperationApply, isKept)
	})
	if err != nil {
		return nil, err
	}
	return c.applyNothing(ctx, live)
}

// applyNothing gives up everything that this field owner has applied to live: the API server removes
// the fields that nobody else owns.
func (c *child) applyNothing(ctx context.Context, live client.Object) (client.Object, error) {
	metadata := map[string]any{"name": c.key.Name}
	if c.key.Namespace != "" {
		metadata["namespace"] = c.key.Namespace
	}
	if uid := live.GetUID(); uid != "" { // the fake client gives none
		metadata["uid"] = uid
	}
	body, err := json.Marshal(map[string]any{"apiVersion": c.apiVersion, "kind": c.gvk.Kind, "metadata": metadata})
	if err != nil {
		return nil, c.unfit(err)
	}
	answer, err := c.patch(ctx, releasing, types.ApplyPatchType, body, client.ForceOwnership)
	if c.dryRun || !isUnconvertible(err) {
		return answer, err
	}
	if _, err = c.makeConvertible(ctx, live, err); err != nil {
		return nil, err
	}
	return c.patch(ctx, releasing, types.ApplyPatchType, body, client.ForceOwnership)
}

// givenUp returns the changes of fields that this field owner owned in before.
func (c *child) givenUp(before, after client.Object) []Change {
	own := c.ownedIn(before)
	var changes []Change
	for _, change := range delta.Diff(before, after) {
		if len(before.GetManagedFields()) == 0 || managedfields.Owns(own, change.Path) {
			changes = append(changes, c.changeOf(change))
		}
	}
	return changes
}

func isContent(path fieldpath.Path) bool { return !managedfields.IsAt(path, []string{"metadata"}) }

// noteReleased remembers that live, as it looks now, is not ours any more and has no field of ours.
func (c *child) noteReleased(live client.Object) {
	c.memory.Release(c.ownedID(), memory.Foreign{Look: c.lookOf(live), Version: live.GetResourceVersion()})
}

// isReleased reports whether live is the object that noteReleased remembers, or a copy from before.
func (c *child) isReleased(live client.Object) bool {
	known, ok := c.memory.Foreign.Get(c.ownedID())
	return ok && known.Added == nil && known.Look.UID == live.GetUID() &&
		(known.IsNewerThan(live.GetResourceVersion()) || known.Look == c.lookOf(live))
}

// isBeside reports whether this field owner has applied fields of live, which is not ours, on behalf of
// no owner: live was adopted beside its controller. If this field owner applied the reference to that
// controller, the fields belong to that owner.
func (c *child) isBeside(live client.Object) bool {
	controller, own := metav1.GetControllerOfNoCopy(live), managedfields.Applied(live, c.fieldOwner)
	if c.controller != nil || controller == nil || own == nil || ownsReference(own, controller) {
		return false
	}
	digest, adopted := c.digestOn(live)
	return adopted || digest == ""
}
