package ensure

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/managedfields"
)

// Operations of patches that change managed fields only, as errors name them.
const (
	migrating = "migrate" // gives the fields of old managers to this field owner, and released fields to nobody
	releasing = "release" // gives released fields, or fields that we own twice, to nobody
)

func isHandover(operation string) bool { return operation == migrating || operation == releasing }

func (o *options) handsOver() bool {
	return len(o.migrateFrom) > 0 || o.leaves()
}

// leaves reports whether an option leaves fields to others, or allows to remove them.
func (o *options) leaves() bool { return len(o.release)+len(o.once) > 0 || o.removeFromPods }

func (c *child) checkHandover() error {
	if !c.handsOver() {
		return nil
	}
	if err := c.checkManagers(); err != nil {
		return err
	}
	if err := c.checkOnce(); err != nil {
		return err
	}
	return c.checkReleased()
}

func (c *child) checkManagers() error {
	if slices.Contains(c.migrateFrom, "") {
		return c.refuse("", "ensure.MigrateFrom needs the names of managers, as metadata.managedFields of the child has them")
	}
	return nil
}

// handOver applies desired to live after correcting the managed fields of live.
func (c *child) handOver(ctx context.Context, live client.Object, cause Cause) (outcome, error) {
	if len(c.release)+len(c.once) > 0 || c.leavesOwners(live) || !c.takeoverIn(live).fields.Empty() {
		var err error
		if live, err = c.current(ctx, live); err != nil {
			return outcome{}, err
		}
	}
	h, err := c.handover(live)
	if err != nil {
		return outcome{}, err
	}
	if len(h.patch.Operations()) == 0 {
		return c.finish(ctx, live, cause)
	}
	if h.operation == migrating {
		cause = Migrated
	}
	if c.dryRun {
		rehearsed, err := c.rehearse(ctx, live)
		return c.conclude(ctx, live, cause, rehearsed, err)
	}
	removed, err := c.removals(ctx, live, h)
	if err != nil {
		return outcome{}, err
	}
	if err := c.checkPods(ctx, live, removed); err != nil {
		return outcome{}, err
	}
	handed, err := c.patchManagers(ctx, live)
	if err != nil {
		return outcome{}, err
	}
	if err := c.checkParts(ctx, handed); err != nil {
		return outcome{}, err
	}
	found, err := c.apply(ctx, handed, cause)
	if err != nil {
		c.memory.Doubt(c.ownedID())
		return outcome{}, err
	}
	c.noteMigrated(found.live)
	found.changes = noteRemoved(found.changes, c.among(removed, found.changes))
	if h.operation == migrating {
		found.operation, found.cause = Updated, Migrated
	}
	return found, nil
}

// finish applies desired to live, which needs no handover, or had one in a pass that got no
// further: then the apply is the rest of that.
func (c *child) finish(ctx context.Context, live client.Object, cause Cause) (outcome, error) {
	removed := c.unfinished(live)
	if len(removed) > 0 {
		cause = Migrated
	}
	if err := c.checkParts(ctx, live); err != nil {
		return outcome{}, err
	}
	found, err := c.apply(ctx, live, cause)
	if err != nil {
		return outcome{}, err
	}
	c.noteMigrated(found.live)
	if removed = c.among(removed, found.changes); len(removed) > 0 {
		found.operation, found.cause, found.changes = Updated, cause, noteRemoved(found.changes, removed)
	}
	if len(live.GetManagedFields()) == 0 && c.store.Get(live) != "" {
		found.live = c.lateHandover(ctx, found.live)
	}
	return found, nil
}

// lateHandover corrects managed fields that only the answer to an apply shows, and returns the
// corrected object. If the correction fails, the answer to a later apply shows the fields again. Fields
// of old managers are left to the next pass, as an apply has to follow.
func (c *child) lateHandover(ctx context.Context, applied client.Object) client.Object {
	if c.dryRun {
		return applied
	}
	patched, err := c.patchEntries(ctx, releasing, applied, func(p *managedfields.Patch, live client.Object) {
		c.regain(p, live, c.oldEntries(live))
	})
	if err != nil || patched == applied {
		return applied
	}
	c.confirm(patched)
	return patched
}

// patchManagers sends the handover of live, after a conversion of the managed fields if the API server
// needs one, and returns the answer.
func (c *child) patchManagers(ctx context.Context, live client.Object) (client.Object, error) {
	live, err := c.convertible(ctx, live)
	if err != nil {
		return nil, err
	}
	h, err := c.handover(live)
	if err != nil {
		return nil, err
	}
	return c.patchJSON(ctx, h.operation, h.patch.Operations())
}

// A handover gives this field owner the fields of the old managers and the fields that others took from
// it. Released fields get no owner.
type handover struct {
	operation string
	old       []int          // the entries of old managers
	own       *fieldpath.Set // that this field owner has applied before the handover
	patch     *managedfields.Patch
}

// handover returns the handover that live needs, with an empty patch if live needs none.
func (c *child) handover(live client.Object) (handover, error) {
	p, old := managedfields.NewPatch(live), c.oldEntries(live)
	entries := live.GetManagedFields()
	own := managedfields.Find(live, c.fieldOwner, metav1.ManagedFieldsOperationApply)
	entry := c.ownEntry(entries, own, old)
	before := managedfields.Fields(&entry)
	taken := p.Strike(old, func(path fieldpath.Path) bool { return !c.isLeft(path) })
	taken = taken.Union(c.regain(p, live, old))
	after, err := c.withoutReleased(live, before.Union(taken))
	if err != nil {
		return handover{}, err
	}
	_, after = managedfields.Split(after, c.isLeftOwner)
	if after, err = c.withoutTakenOver(live, after); err != nil {
		return handover{}, err
	}
	entry = managedfields.WithFields(entry, after)
	switch {
	case own < 0 && !after.Empty():
		p.Add(entry)
	case own >= 0 && (len(old) > 0 || !after.Equals(before)):
		p.Replace(own, entry)
	}
	if len(old) > 0 {
		return handover{migrating, old, before, p}, nil
	}
	return handover{releasing, nil, before, p}, nil
}

// ownEntry returns the entry of this field owner's applies, or a new one. A new entry has the API
// version that the old managers wrote, or the child's if they wrote several.
func (c *child) ownEntry(entries []metav1.ManagedFieldsEntry, own int, old []int) metav1.ManagedFieldsEntry {
	if own >= 0 {
		return entries[own]
	}
	entry := metav1.ManagedFieldsEntry{
		Manager: c.fieldOwner, Operation: metav1.ManagedFieldsOperationApply, APIVersion: c.apiVersion, FieldsType: "FieldsV1",
	}
	var versions []string
	for _, at := range old { // the newest comes last
		entry.Time = entries[at].Time
		versions = appendNew(versions, entries[at].APIVersion)
	}
	if len(versions) == 1 {
		entry.APIVersion = versions[0]
	}
	return entry
}

// patchEntries changes the managed fields of live as build says, on a fresh copy if others
// write in between, and returns the server's answer, or live if there was nothing to change.
func (c *child) patchEntries(
	ctx context.Context, operation string, live client.Object, build func(p *managedfields.Patch, live client.Object),
) (client.Object, error) {
	for range takeOverAttempts {
		p := managedfields.NewPatch(live)
		build(p, live)
		operations := p.Operations()
		if len(operations) == 0 {
			return live, nil
		}
		patched, err := c.patchJSON(ctx, operation, operations)
		if !hasMoved(err) {
			return patched, err
		}
		if live, err = c.reread(ctx, live); err != nil {
			return nil, err
		}
	}
	return nil, c.conflict(operation, "it was changed meanwhile", nil)
}

// strike removes the paths for which isStruck holds from our own entry of an operation, and
// returns them.
func (c *child) strike(
	p *managedfields.Patch, live client.Object, operation metav1.ManagedFieldsOperationType, isStruck func(fieldpath.Path) bool,
) *fieldpath.Set {
	own := managedfields.Find(live, c.fieldOwner, operation)
	if own < 0 {
		return fieldpath.NewSet()
	}
	return p.Strike([]int{own}, isStruck)
}
