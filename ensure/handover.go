package ensure

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/managedfields"
)

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
	if len(live.GetManagedFields()) == 0 && (!c.adopted || c.store.Get(live) != "") {
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

func (i *intent) checkHandover() error {
	if !i.handsOver() {
		return nil
	}
	if err := i.checkManagers(); err != nil {
		return err
	}
	if err := i.checkOnce(); err != nil {
		return err
	}
	return i.checkReleased()
}

func (i *intent) checkManagers() error {
	if slices.Contains(i.migrateFrom, "") {
		return i.refuse("", "ensure.MigrateFrom needs the names of managers, as metadata.managedFields of the child has them")
	}
	return nil
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
func (o *ownership) handover(live client.Object) (handover, error) {
	p, old := managedfields.NewPatch(live), o.oldEntries(live)
	entries := live.GetManagedFields()
	own := managedfields.Find(live, o.fieldOwner, metav1.ManagedFieldsOperationApply)
	entry := o.ownEntry(entries, own, old)
	before := managedfields.Fields(&entry)
	taken := p.Strike(old, func(path fieldpath.Path) bool { return !o.isLeft(path) })
	taken = taken.Union(o.regain(p, live, old))
	after, err := o.withoutReleased(live, before.Union(taken))
	if err != nil {
		return handover{}, err
	}
	_, after = managedfields.Split(after, o.isLeftOwner)
	if after, err = o.withoutTakenOver(live, after); err != nil {
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

// patchManagers sends the handover of live, after a conversion of the managed fields if the API server
// needs one, and returns the answer.
func (o *ownership) patchManagers(ctx context.Context, live client.Object) (client.Object, error) {
	live, err := o.convertible(ctx, live)
	if err != nil {
		return nil, err
	}
	h, err := o.handover(live)
	if err != nil {
		return nil, err
	}
	return o.patchJSON(ctx, h.operation, h.patch.Operations())
}

// oldEntries are the indexes of the entries to take over.
func (o *ownership) oldEntries(live client.Object) []int {
	if len(o.migrateFrom) == 0 {
		return nil
	}
	var old []int
	entries := live.GetManagedFields()
	for i := range entries {
		entry := &entries[i]
		isOwn := entry.Manager == o.fieldOwner && entry.Operation == metav1.ManagedFieldsOperationApply
		if isOwn || entry.Subresource != "" || !slices.Contains(o.migrateFrom, entry.Manager) {
			continue
		}
		if _, taken := managedfields.Split(managedfields.Fields(entry), o.isLeft); !taken.Empty() {
			old = append(old, i)
		}
	}
	return old
}

// isMigrating reports whether live is to be taken over from an old manager.
func (o *ownership) isMigrating(live client.Object) bool { return len(o.oldEntries(live)) > 0 }
