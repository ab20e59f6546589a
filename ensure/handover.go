package ensure

import (
	"context"
	"slices"

	"github.com/trueup-go/trueup/internal/delta"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/managedfields"
)

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

// An update applies desired to an object that exists.
type update struct{ *child }

// run applies desired to live after correcting the managed fields of live.
func (u update) run(ctx context.Context, live client.Object, cause Cause) (outcome, error) {
	if len(u.release)+len(u.once) > 0 || u.leavesOwners(live) || !u.takeoverIn(live).fields.Empty() {
		var err error
		if live, err = u.current(ctx, live); err != nil {
			return outcome{}, err
		}
	}
	h, err := u.handover(live)
	if err != nil {
		return outcome{}, err
	}
	if len(h.patch.Operations()) == 0 {
		return u.finish(ctx, live, cause)
	}
	if h.operation == migrating {
		cause = Migrated
	}
	if u.dryRun {
		rehearsed, err := u.rehearse(ctx, live)
		return u.conclude(ctx, live, cause, rehearsed, err)
	}
	removed, err := u.removals(ctx, live, h)
	if err != nil {
		return outcome{}, err
	}
	if err := u.checkPods(ctx, live, removed); err != nil {
		return outcome{}, err
	}
	handed, err := u.patchManagers(ctx, live)
	if err != nil {
		return outcome{}, err
	}
	if err := u.checkParts(ctx, handed); err != nil {
		return outcome{}, err
	}
	found, err := u.apply(ctx, handed, cause)
	if err != nil {
		u.memory.Doubt(u.ownedID())
		return outcome{}, err
	}
	u.noteMigrated(found.live)
	found.changes = noteRemoved(found.changes, u.among(removed, found.changes))
	if h.operation == migrating {
		found.operation, found.cause = Updated, Migrated
	}
	return found, nil
}

// finish applies desired to live, which needs no handover, or had one in a pass that got no
// further: then the apply is the rest of that.
func (u update) finish(ctx context.Context, live client.Object, cause Cause) (outcome, error) {
	removed := u.unfinished(live)
	if len(removed) > 0 {
		cause = Migrated
	}
	if err := u.checkParts(ctx, live); err != nil {
		return outcome{}, err
	}
	found, err := u.apply(ctx, live, cause)
	if err != nil {
		return outcome{}, err
	}
	u.noteMigrated(found.live)
	if removed = u.among(removed, found.changes); len(removed) > 0 {
		found.operation, found.cause, found.changes = Updated, cause, noteRemoved(found.changes, removed)
	}
	if len(live.GetManagedFields()) == 0 && (!u.adopted || u.store.Get(live) != "") {
		found.live = u.lateHandover(ctx, found.live)
	}
	return found, nil
}

// lateHandover corrects managed fields that only the answer to an apply shows, and returns the
// corrected object. If the correction fails, the answer to a later apply shows the fields again. Fields
// of old managers are left to the next pass, as an apply has to follow.
func (u update) lateHandover(ctx context.Context, applied client.Object) client.Object {
	if u.dryRun {
		return applied
	}
	patched, err := u.patchEntries(ctx, releasing, applied, func(p *managedfields.Patch, live client.Object) {
		u.regain(p, live, u.oldEntries(live))
	})
	if err != nil || patched == applied {
		return applied
	}
	u.confirm(patched)
	return patched
}

// checkParts refuses an apply that would remove a field which is left to others, because the API server
// merges the field as part of a larger value that is applied. The API server is asked only if the
// managed fields show that this may happen.
func (u update) checkParts(ctx context.Context, live client.Object) error {
	parts := slices.DeleteFunc(u.handed(), func(h handed) bool { return !mayBePart(live, h.steps) })
	if len(parts) == 0 {
		return nil
	}
	before, err := delta.Values(live)
	if err != nil {
		return u.unfit(err)
	}
	parts = slices.DeleteFunc(parts, func(h handed) bool { return before(h.steps) == nil })
	if len(parts) == 0 {
		return nil
	}
	answer, err := u.sendApply(ctx, live.GetUID(), client.DryRunAll, client.DisableReadYourWritesConsistency)
	if err != nil {
		return nil //nolint:nilerr // the apply itself is refused then, or repaired
	}
	after, err := delta.Values(answer)
	if err != nil {
		return u.unfit(err)
	}
	for _, h := range parts {
		if after(h.steps) == nil {
			return u.refuse(h.path, "is given to "+h.option+", but would be removed by the next apply, as the API server writes it "+
				"only together with more: name the list or the map that it is in, or an item by all its keys")
		}
	}
	return nil
}
