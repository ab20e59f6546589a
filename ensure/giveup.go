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

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// giveUp removes from live what only our applies own and leaves what others own, too. If the
// API server refuses that, as a Deployment needs its selector, the content stays as it is and
// becomes nobody's.
func (c *child) giveUp(ctx context.Context, live client.Object) (outcome, error) {
	before := live
	after, err := c.applyNothing(ctx, live)
	if isRefused(err) {
		if c.dryRun { // the rest builds on what is not there then
			return outcome{live: live, operation: Released, cause: Unwanted}, nil
		}
		if before, err = c.current(ctx, live); err != nil {
			return outcome{}, err
		}
		after, err = c.giveUpBut(ctx, before, isContent)
	}
	if err == nil && !c.dryRun {
		after, err = c.dropReference(ctx, after)
	}
	if err != nil {
		return outcome{}, err
	}
	if !c.dryRun {
		c.noteReleased(after)
	}
	return outcome{live: after, operation: Released, cause: Unwanted, changes: c.givenUp(before, after)}, nil
}

// withdraw gives up what we applied to an object that another controller took between our
// read of before and the answer after. What this apply added goes; what was there already
// came to that controller with the object, and stays.
func (c *child) withdraw(ctx context.Context, before, after client.Object) error {
	if c.dryRun {
		return c.foreign(after)
	}
	added, _ := managedfields.Split(c.ownedIn(after), func(path fieldpath.Path) bool {
		return !holds(before, path) || c.isOfDigest(path)
	})
	return c.withdrawAdded(ctx, after, withdrawal{after.GetUID(), added})
}

// A withdrawal is what our apply added to an object that another controller took, by its UID.
type withdrawal struct {
	uid   types.UID
	added *fieldpath.Set
}

// withdrawAdded does a withdrawal, which is remembered until it is done.
func (c *child) withdrawAdded(ctx context.Context, live client.Object, w withdrawal) error {
	c.memory.foreign.Add(c.ownedID(), w)
	left, err := c.giveUpAdded(ctx, live, w.added)
	if isRefused(err) {
		left, err = c.giveUpBut(ctx, live, func(path fieldpath.Path) bool { return !c.isOfDigest(path) })
	}
	if err != nil {
		return err
	}
	c.noteReleased(left)
	return c.foreign(live)
}

// leaveForeign does what is left of a withdrawal from live, and fails: live is not ours.
func (c *child) leaveForeign(ctx context.Context, live client.Object) error {
	value, _ := c.memory.foreign.Get(c.ownedID())
	w, isPending := value.(withdrawal)
	if !isPending || w.uid != live.GetUID() || c.dryRun {
		return c.foreign(live)
	}
	complete, err := c.reread(ctx, live)
	if err != nil {
		return err
	}
	if controller := metav1.GetControllerOfNoCopy(complete); controller == nil || c.isWanted(controller) {
		return c.foreign(live) // the other left it meanwhile
	}
	if _, err := c.withDigest(); err != nil {
		return err
	}
	return c.withdrawAdded(ctx, complete, w)
}

// giveUpAdded removes what our apply added. All else is meanwhile booked under an entry of updates:
// the API server removes a struct that nobody owns anything in, with what it holds.
func (c *child) giveUpAdded(ctx context.Context, after client.Object, added *fieldpath.Set) (client.Object, error) {
	isKept := func(path fieldpath.Path) bool { return !added.Has(path) }
	_, err := c.patchEntries(ctx, releasing, after, func(p *managedfields.Patch, live client.Object) {
		own := managedfields.Applied(live, c.fieldOwner)
		if kept := c.strike(p, live, metav1.ManagedFieldsOperationApply, isKept); !kept.Empty() {
			entry := managedfields.WithFields(*own, kept)
			entry.Operation = metav1.ManagedFieldsOperationUpdate
			p.Give(entry)
		}
	})
	if err != nil {
		return nil, err
	}
	left, err := c.applyNothing(ctx, after)
	if err != nil {
		return nil, err
	}
	return c.patchEntries(ctx, releasing, left, func(p *managedfields.Patch, live client.Object) {
		c.strike(p, live, metav1.ManagedFieldsOperationUpdate, func(fieldpath.Path) bool { return true })
	})
}

// holds reports whether obj has something at path, as far as its Go type tells.
func holds(obj client.Object, path fieldpath.Path) bool {
	steps := managedfields.Steps(path)
	depth, err := canon.Specifies(obj, steps)
	return err != nil || depth == len(steps)
}

// dropReference removes the reference to the owner that nobody insists on: with it the object
// would go when the owner does.
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

// giveUpBut removes from live what only our applies own, and makes nobody's what isKept says.
func (c *child) giveUpBut(ctx context.Context, live client.Object, isKept func(fieldpath.Path) bool) (client.Object, error) {
	_, err := c.patchEntries(ctx, releasing, live, func(p *managedfields.Patch, live client.Object) {
		c.strike(p, live, metav1.ManagedFieldsOperationApply, isKept)
	})
	if err != nil {
		return nil, err
	}
	return c.applyNothing(ctx, live)
}

// applyNothing takes back all that we applied to live: the API server removes what nobody
// else owns.
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

// givenUp lists what is no longer as before of what was ours.
func (c *child) givenUp(before, after client.Object) []Change {
	own := c.ownedIn(before)
	var changes []Change
	for _, change := range canon.Diff(before, after) {
		if len(before.GetManagedFields()) == 0 || managedfields.Owns(own, change.Path) {
			changes = append(changes, changeOf(change))
		}
	}
	return changes
}

func isContent(path fieldpath.Path) bool { return !managedfields.IsAt(path, []string{"metadata"}) }

// isOfDigest reports whether path is where our digest is kept.
func (c *child) isOfDigest(path fieldpath.Path) bool {
	if len(path) != 3 || isContent(path) || path[1].FieldName == nil || path[2].FieldName == nil {
		return false
	}
	place := item{member: *path[1].FieldName, key: *path[2].FieldName}
	return place.in(c.stamped) && !place.in(c.desired)
}

// noteReleased remembers that nothing of ours is left in an object that looks so, and that it is
// no longer ours.
func (c *child) noteReleased(live client.Object) {
	c.memory.released(c.ownedID(), sight{look: c.lookOf(live), version: live.GetResourceVersion()})
}

func (m *memory) released(key ownedKey, s sight) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records.Remove(key)
	m.foreign.Add(key, s)
}

// isReleased reports whether live is the object that noteReleased remembers, or a copy from before.
func (c *child) isReleased(live client.Object) bool {
	if c.memory.foreign.Len() == 0 {
		return false
	}
	value, _ := c.memory.foreign.Get(c.ownedID())
	known, ok := value.(sight)
	return ok && known.look.uid == live.GetUID() &&
		(older(live.GetResourceVersion(), known.version) || known.look == c.lookOf(live))
}

// A sight is an object as it was at a resourceVersion.
type sight struct {
	look    look
	version string
}

// isBeside reports whether live, which is not ours, has fields of ours all the same, for no
// owner: it was adopted beside its controller. If we applied the reference to that controller,
// the fields are there on its behalf.
func (c *child) isBeside(live client.Object) bool {
	controller, own := metav1.GetControllerOfNoCopy(live), managedfields.Applied(live, c.fieldOwner)
	if c.controller != nil || controller == nil || own == nil || ownsReference(own, controller) {
		return false
	}
	digest, adopted := c.digestOn(live)
	return adopted || digest == ""
}
