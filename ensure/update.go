package ensure

import (
	"context"
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
	"github.com/trueup-go/trueup/internal/paths"
)

// An update applies desired to an object that exists.
type update struct{ *child }

// run applies desired to live after correcting the managed fields of live.
func (u update) run(ctx context.Context, live client.Object, cause Cause) (outcome, error) {
	live, err := u.latest(ctx, live)
	if err != nil {
		return outcome{}, err
	}
	h, err := u.planTransfer(live)
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
	handed, err := u.sendTransfer(ctx, live)
	if err != nil {
		return outcome{}, err
	}
	if err := u.checkParts(ctx, handed); err != nil {
		return outcome{}, err
	}
	found, err := u.apply(ctx, handed, cause)
	if err != nil {
		u.memory.Invalidate(u.ownedID())
		return outcome{}, err
	}
	u.noteMigrated(found.live)
	found.changes = noteRemoved(found.changes, u.containedIn(removed, found.changes))
	if h.operation == migrating {
		found.operation, found.cause = Updated, Migrated
	}
	return found, nil
}

// latest returns live from the API server if an older copy would not show which fields are not ours to
// remove.
func (u update) latest(ctx context.Context, live client.Object) (client.Object, error) {
	if len(u.release)+len(u.once) > 0 || u.keepsOwners(live) {
		return u.current(ctx, live)
	}
	return live, nil
}

// finish applies desired to live, which needs no transfer, or had one in a pass that got no
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
	if removed = u.containedIn(removed, found.changes); len(removed) > 0 {
		found.operation, found.cause, found.changes = Updated, cause, noteRemoved(found.changes, removed)
	}
	if len(live.GetManagedFields()) == 0 && u.store.Get(live) != "" {
		found.live = u.lateTransfer(ctx, found.live)
	}
	return found, nil
}

// lateTransfer corrects managed fields that only the answer to an apply shows, and returns the
// corrected object. If the correction fails, the answer to a later apply shows the fields again. Fields
// of old managers are left to the next pass, as an apply has to follow.
func (u update) lateTransfer(ctx context.Context, applied client.Object) client.Object {
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
	parts := slices.DeleteFunc(u.releasedPaths(), func(h releasedPath) bool { return !mayBePart(live, h.steps) })
	if len(parts) == 0 {
		return nil
	}
	before, err := delta.Values(live)
	if err != nil {
		return u.unencodableError(err)
	}
	parts = slices.DeleteFunc(parts, func(h releasedPath) bool { return before(h.steps) == nil })
	if len(parts) == 0 {
		return nil
	}
	answer, err := u.applyDesired(ctx, live.GetUID(), client.DryRunAll, client.DisableReadYourWritesConsistency)
	if err != nil {
		return nil //nolint:nilerr // the apply itself is refused then, or repaired
	}
	after, err := delta.Values(answer)
	if err != nil {
		return u.unencodableError(err)
	}
	for _, h := range parts {
		if after(h.steps) == nil {
			return u.refuse(h.path, "is given to "+h.option+", but the next apply would remove it, because the API server merges it "+
				"as part of a larger value: name the list or the map around it, or the item by all its keys")
		}
	}
	return nil
}

// apply puts live right, as a rule in one request, which the server may find to be
// nothing. It carries live's UID: without it an apply based on a stale read would bring a
// deleted object back.
func (u update) apply(ctx context.Context, live client.Object, cause Cause) (outcome, error) {
	applied, err := u.applyOrRepair(ctx, live, cause)
	return u.conclude(ctx, live, cause, applied, err)
}

// conclude returns the outcome of an application to live, or of a rehearsal of one.
func (u update) conclude(ctx context.Context, live client.Object, cause Cause, applied application, err error) (outcome, error) {
	if errors.Is(err, ErrImmutable) {
		return recreation(u).run(ctx, live, cause, err)
	}
	if err != nil {
		return outcome{}, err
	}
	u.loadRecord() // what other reconciles learnt meanwhile counts, too
	answer := applied.after
	found := outcome{live: answer, operation: Unchanged}
	changes := u.changesBy(applied)
	if len(changes) > 0 || u.isOutdated(live) && cause == DesiredChanged {
		found = outcome{live: answer, operation: Updated, cause: cause, changes: changes}
	}
	if controller := metav1.GetControllerOfNoCopy(answer); controller != nil && !u.isWanted(controller) && !u.adopt {
		u.report().recordWrite(ctx, found) // all the same: somebody took control between our read and our apply
		return outcome{}, withdrawal(u).withdraw(ctx, live, answer)
	}
	u.confirm(answer)
	if cause == DesiredChanged {
		found.kept = u.keptIn(live, applied)
	}
	if answer.GetDeletionTimestamp() != nil {
		u.report().recordWrite(ctx, found)
		return outcome{}, u.terminatingError("apply", "its deletion began meanwhile")
	}
	return found, nil
}

// applyOrRepair applies desired to live. Fields that others left in live can make the merge invalid
// although desired is valid: an edited Service port stays beside ours and has the same name. Then the
// conflicting fields are taken over, and the next apply removes them.
func (u update) applyOrRepair(ctx context.Context, live client.Object, cause Cause) (application, error) {
	applied, err := u.applyDesired(ctx, live.GetUID())
	if isUnconvertible(err) {
		live, applied, err = u.applyConvertible(ctx, live, err)
	}
	if err == nil {
		done, err := u.removeSources(ctx, application{before: live, after: applied})
		if err != nil || cause == Drifted {
			return done, err
		}
		return u.restoreEmpty(ctx, done)
	}
	if !namesFieldsOnly(err) {
		return application{}, err
	}
	r := repair{child: u.child, refusal: err}
	if err := r.observe(ctx, live.GetUID()); err != nil {
		return application{}, err
	}
	return r.run(ctx)
}

// applyConvertible applies desired to live again, after a refusal that isUnconvertible, and
// returns the object before and after.
func (u update) applyConvertible(ctx context.Context, live client.Object, refusal error) (before, after client.Object, err error) {
	if u.dryRun {
		return u.dryRunConvertible(ctx, live, refusal)
	}
	if live, err = u.makeConvertible(ctx, live, refusal); err != nil {
		return nil, nil, err
	}
	after, err = u.applyDesired(ctx, live.GetUID())
	return live, after, err
}

// dryRunConvertible tries the apply by a dry run of a patch, because a dry run of an apply after the
// rewriting would need managed fields that a dry run does not store.
func (u update) dryRunConvertible(ctx context.Context, live client.Object, refusal error) (before, after client.Object, err error) {
	r := repair{child: u.child, refusal: refusal}
	if err := r.observe(ctx, live.GetUID()); err != nil {
		return nil, nil, err
	}
	if !managedfields.HasOtherVersions(r.live, u.apiVersion) {
		return nil, nil, refusal
	}
	tried, err := r.rehearse(ctx, nil)
	return r.typed(), tried.after, err
}

// removeSources removes such sources after an apply.
func (u update) removeSources(ctx context.Context, applied application) (application, error) {
	hasOther := slices.ContainsFunc(u.unsatisfied(applied.after), func(change Change) bool {
		return strings.HasSuffix(change.Path, "].value")
	})
	if !hasOther {
		return applied, nil
	}
	r := repair{child: u.child}
	if err := r.observe(ctx, applied.after.GetUID()); err != nil {
		return application{}, err
	}
	if fixed := onlySources(r.merge.Fixed()); len(fixed) > 0 {
		return application{}, r.blockedError(fixed)
	}
	sources := onlySources(r.merge.Obstacles(nil))
	if len(sources) == 0 {
		return applied, nil
	}
	removed, err := r.remove(ctx, sources)
	if !u.dryRun {
		removed.before = applied.before
	}
	return removed, err
}

// changesBy returns the changes that an apply made, with the managers of removed fields.
func (u update) changesBy(applied application) []Change {
	var changes []Change
	if applied.tried { // made of an object that was just read: nobody wrote in between
		changes = u.changesOf(delta.Diff(applied.before, applied.after))
	} else {
		changes = u.changes(applied.before, applied.after)
	}
	return noteRemoved(changes, applied.removed)
}

// changes returns the changes that an apply made, by comparing live with the answer of the API server.
// live may be older than the object that the API server had. So nothing changed if the version of the
// answer is known already, or if only fields differ that others wrote meanwhile.
func (u update) changes(live, answer client.Object) []Change {
	version := answer.GetResourceVersion()
	known, remembered := u.record(answer)
	if !u.dryRun && (version == live.GetResourceVersion() || remembered && known.Version == version) {
		return nil
	}
	found := delta.Diff(live, answer)
	if len(found) == 0 {
		return nil
	}
	isOthers := u.changedByOthers(live, answer)
	return u.changesOf(slices.DeleteFunc(found, func(change delta.Change) bool { return isOthers(change.Path) }))
}

// changedByOthers reports whether another manager wrote a path between the read and the apply. In the
// metadata, the items of desired and the items that this apply removed are ours. Elsewhere, a path
// belongs to others if they own it and this field owner owned it neither before nor after. A change of
// a field that nobody owns, such as a default, counts as a change by the apply.
func (u update) changedByOthers(live, answer client.Object) func(path string) bool {
	before, after := u.ownedIn(live), u.ownedIn(answer)
	others := managedfields.Others(answer, u.fieldOwner)
	return func(path string) bool {
		if i, ok := itemAt(path); ok {
			return !i.in(u.desiredWithDigest) && (i.in(answer) || len(live.GetManagedFields()) > 0 && !managedfields.Owns(before, path))
		}
		isOurs := managedfields.Owns(before, path) || managedfields.Owns(after, path)
		return path != "" && !isOurs && managedfields.ManagerOf(others, path) != ""
	}
}

// containedIn returns the removed obstacles that changes contain, and those that changes cannot contain.
// An obstacle to which the API server gave a default value again is not removed.
func (u update) containedIn(removed []obstacle.Obstacle, changes []Change) []obstacle.Obstacle {
	return slices.DeleteFunc(slices.Clone(removed), func(o obstacle.Obstacle) bool {
		return !u.isUnknown(o) && !slices.ContainsFunc(changes, func(change Change) bool {
			steps := paths.Steps(change.Path)
			n := min(len(o.Path), len(steps))
			return managedfields.MayBeAt(o.Path[:n], steps[:n])
		})
	})
}

// noteRemoved adds the removed obstacles and their managers to changes. Without a Go type, changes name
// items by their index, and the next item may have taken the place of a removed one.
func noteRemoved(changes []Change, removed []obstacle.Obstacle) []Change {
	for _, o := range removed {
		text, noted := managedfields.Text(o.Path), false
		steps := paths.Steps(text)
		for i := range changes {
			at := paths.Steps(changes[i].Path)
			if pointerTo(at) == o.Pointer && !slices.Equal(at, steps) {
				changes[i].Path, at = text, steps
			}
			if n := min(len(at), len(steps)); slices.Equal(at[:n], steps[:n]) {
				changes[i].Manager, noted = appendManagers(changes[i].Manager, o.Managers), true
			}
		}
		if !noted {
			changes = append(changes, Change{Path: text, Manager: appendManagers("", o.Managers)})
		}
	}
	return changes
}

// pointerTo returns the JSON pointer that steps with indexes lead to.
func pointerTo(steps []string) string {
	pointer := ""
	for _, step := range steps {
		pointer = jsonpatch.Join(pointer, step)
	}
	return pointer
}

// appendManagers appends managers to a list with commas, each once.
func appendManagers(list string, managers []string) string {
	var all []string
	if list != "" {
		all = strings.Split(list, ", ")
	}
	for _, manager := range managers {
		all = appendNew(all, manager)
	}
	return strings.Join(all, ", ")
}
