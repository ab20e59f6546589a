package ensure

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/migrate"
	"github.com/trueup-go/trueup/internal/obstacle"
	"github.com/trueup-go/trueup/internal/paths"
)

// An update applies desired to an object that exists.
type update struct{ *child }

// run applies desired to live, after the changes of the managed fields that the apply needs.
func (u update) run(ctx context.Context, live client.Object, cause layer.Cause) (layer.Outcome, error) {
	live, err := u.latest(ctx, live)
	if err != nil {
		return layer.Outcome{}, err
	}
	if metav1.GetControllerOfNoCopy(live) == nil {
		if err := u.checkOwnerIsThere(ctx, "apply"); err != nil {
			return layer.Outcome{}, err
		}
	}
	if err := cmp.Or(u.checkSecret(live), u.checkRetired(live)); err != nil {
		return layer.Outcome{}, err
	}
	if u.child.unowned, err = u.unownedToRetire(ctx, live); err != nil {
		return layer.Outcome{}, err
	}
	before := u.rules().Before(live)
	if err := u.checkLeft(live, before); err != nil {
		return layer.Outcome{}, err
	}
	held := u.rules().Held(live)
	applied, live, err := u.write(ctx, live, before, cause)
	if u.rules().Names(before.Managers()) {
		cause = layer.Migrated
	}
	return u.conclude(ctx, live, cause, applied, held, err)
}

// write moves fields in live, as before does, and applies desired. It returns live as it was applied to. What is retired
// moves only if a dry run shows that the API server accepts the apply then: another desired state could not undo the move.
func (u update) write(
	ctx context.Context, live client.Object, before *managedfields.Patch, cause layer.Cause,
) (applied application, _ client.Object, err error) {
	if !before.IsEmpty() && (u.DryRun || len(u.Retired) > 0) {
		if applied, err = u.rehearse(ctx, live); err != nil || u.DryRun {
			return applied, live, err
		}
	}
	prepared, err := u.prepare(ctx, live, before)
	if err != nil {
		return application{}, live, err
	}
	applied, err = u.applyOrRepair(ctx, prepared, cause)
	return applied, prepared, err
}

// latest returns live from the API server if an older copy would not show which fields change their owner.
func (u update) latest(ctx context.Context, live client.Object) (client.Object, error) {
	mayBeFormer := len(u.Operator.Former) > 0 && u.Operator.Store.Get(live) == ""
	if len(u.release)+len(u.once)+len(u.retire) > 0 || u.keepsOwners(live) || mayBeFormer {
		return u.current(ctx, live)
	}
	return live, nil
}

// rehearse tries the apply of desired to live by a dry run, as if the managed fields had been changed before.
func (u update) rehearse(ctx context.Context, live client.Object) (application, error) {
	tried := *u.child
	tried.DryRun, tried.server.Child = true, &tried.Child
	defer func() {
		u.child.isCreatable, u.child.isDriftRefused = tried.isCreatable, tried.isDriftRefused // for a recreation
		u.child.isUndecided = tried.isUndecided
		u.child.server.Requests = tried.server.Requests
	}()
	r := repair{child: &tried}
	if err := r.observe(ctx, live.GetUID()); err != nil {
		return application{}, err
	}
	ok, err := r.dryRunWithout(ctx, nil)
	switch {
	case err != nil:
		return application{}, err
	case ok:
		return application{before: r.typed(), after: r.accepted, tried: true}, nil
	}
	r.refusal = r.lastRefusal
	return r.run(ctx)
}

// conclude returns the outcome of an application to live, or of a rehearsal of one. held are the entries that older
// versions had before.
func (u update) conclude(
	ctx context.Context, live client.Object, cause layer.Cause, applied application, held []metav1.ManagedFieldsEntry, err error,
) (layer.Outcome, error) {
	if errors.Is(err, ErrImmutable) {
		return recreation(u).run(ctx, live, cause, err)
	}
	if err != nil {
		return layer.Outcome{}, err
	}
	u.loadRecord() // what other reconciles learnt meanwhile counts, too
	answer := applied.after
	found := layer.Outcome{Live: answer, Operation: layer.Unchanged}
	changes := u.noteRetired(u.changesBy(applied), held)
	if len(changes) > 0 || u.isOutdated(live) && cause == layer.DesiredChanged {
		found = layer.Outcome{Live: answer, Operation: layer.Updated, Cause: cause, Changes: changes}
	}
	if controller := metav1.GetControllerOfNoCopy(answer); controller != nil && !u.IsWanted(controller) && !u.adopt {
		u.reporter.Wrote(ctx, &u.Child, found) // all the same: somebody took control between our read and our apply
		return layer.Outcome{}, withdrawal(u).withdraw(ctx, live, answer)
	}
	found, err = u.finish(ctx, live, cause, applied, found)
	if err == nil && answer.GetDeletionTimestamp() != nil {
		err = u.terminatingError("apply", "its deletion began meanwhile")
	}
	if err != nil {
		u.reporter.Wrote(ctx, &u.Child, found)
		return layer.Outcome{}, err
	}
	return found, nil
}

// finish settles the managed fields after the application to live, remembers the result, and completes the outcome.
func (u update) finish(
	ctx context.Context, live client.Object, cause layer.Cause, applied application, found layer.Outcome,
) (layer.Outcome, error) {
	answer := applied.after
	settled, from, err := u.settle(ctx, answer)
	if err != nil {
		u.memory.Invalidate(u.OwnedID())
		return found, err
	}
	u.confirm(settled)
	if cause == layer.Drifted && (u.hasLostEntry(live, from) || u.rules().Names(from)) {
		found.Operation, found.Cause = layer.Updated, cause
		found.Changes = append(found.Changes, layer.Change{Path: layer.ManagedFieldsPath})
	}
	switch found.Live = settled; {
	case u.rules().Names(from) || cause == layer.Migrated:
		found.Operation, found.Cause, found.Kept = layer.Updated, layer.Migrated, u.leftByOlder(ctx, answer)
	case cause == layer.DesiredChanged:
		found.Kept = u.keptIn(live, applied)
	}
	return found, nil
}

// applyOrRepair applies desired to live, as a rule in one request, which the server may find to be nothing. It carries
// live's UID: without it an apply based on a stale read would bring a deleted object back. Fields that others left in
// live can make the merge invalid although desired is valid: an edited Service port stays beside ours and has the same
// name. Then the conflicting fields are taken over, and the next apply removes them.
func (u update) applyOrRepair(ctx context.Context, live client.Object, cause layer.Cause) (application, error) {
	applied, err := u.applyDesired(ctx, live.GetUID())
	if fault.IsUnconvertible(err) {
		if live, applied, err = u.applyConvertible(ctx, live, err); live == nil {
			return application{}, err
		}
	}
	before := live
	if err != nil && fault.NamesFieldsOnly(err) {
		r := repair{child: u.child, refusal: err}
		if err := r.observe(ctx, live.GetUID()); err != nil {
			return application{}, err
		}
		if r.live.GetResourceVersion() != live.GetResourceVersion() {
			// The refusal may be over: another process repaired the object at the same time.
			before = r.typed()
			applied, err = u.applyDesired(ctx, live.GetUID())
		}
		if fault.NamesFieldsOnly(err) {
			r.refusal = err
			return r.run(ctx)
		}
	}
	if err != nil {
		return application{}, err
	}
	done, err := u.removeSources(ctx, application{before: before, after: applied})
	if err != nil || cause == layer.Drifted {
		return done, err
	}
	return u.restoreEmpty(ctx, done)
}

// applyConvertible applies desired to live again, after a refusal that fault.IsUnconvertible, and
// returns the object before and after. Without an object before, nothing was applied.
func (u update) applyConvertible(ctx context.Context, live client.Object, refusal error) (before, after client.Object, err error) {
	if u.DryRun {
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
	if !managedfields.HasOtherVersions(r.live, u.Kind.APIVersion) {
		return nil, nil, refusal
	}
	tried, err := r.rehearse(ctx, nil)
	return r.typed(), tried.after, err
}

// removeSources removes such sources after an apply.
func (u update) removeSources(ctx context.Context, applied application) (application, error) {
	if !bytes.Contains(u.lastApply, []byte(`"value":""`)) {
		return applied, nil
	}
	hasOther := slices.ContainsFunc(u.Unsatisfied(applied.after), func(change layer.Change) bool {
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
	if !u.DryRun {
		removed.before = applied.before
	}
	return removed, err
}

// changesBy returns the changes that an apply made, with the managers of removed fields.
func (u update) changesBy(applied application) []layer.Change {
	var changes []layer.Change
	if applied.tried { // made of an object that was just read: nobody wrote in between
		changes = u.Changes(delta.Diff(applied.before, applied.after, u.Operator.Owned(applied.after)))
	} else {
		changes = u.changes(applied.before, applied.after)
	}
	return noteRemoved(changes, applied.removed)
}

// changes returns the changes that an apply made, by comparing live with the answer of the API server.
// live may be older than the object that the API server had. So nothing changed if the version of the
// answer is known already, or if only fields differ that others wrote meanwhile.
func (u update) changes(live, answer client.Object) []layer.Change {
	version := answer.GetResourceVersion()
	known, remembered := u.record(answer)
	if !u.DryRun && (version == live.GetResourceVersion() || remembered && known.Version == version) {
		return nil
	}
	own := u.Operator.Owned(answer)
	found := delta.Diff(live, answer, own)
	if len(found) == 0 {
		return nil
	}
	isOthers := u.changedByOthers(live, answer, own)
	return u.Changes(slices.DeleteFunc(found, func(change delta.Change) bool { return isOthers(change.Path) }))
}

// changedByOthers reports whether another manager wrote a path between the read and the apply. In the
// metadata, the items of desired and the items that this apply removed are ours. Elsewhere, a path
// belongs to others if they own it and this field owner owned it neither before nor after. A change of
// a field that nobody owns, such as a default, counts as a change by the apply. after are our fields in the answer.
func (u update) changedByOthers(live, answer client.Object, after managedfields.Owned) func(path string) bool {
	before := u.Operator.Owned(live)
	others := managedfields.OwnersIn(managedfields.Others(answer, u.Operator.FieldOwner))
	return func(path string) bool {
		if i, ok := layer.ItemAt(path); ok {
			return !i.In(u.desiredWithDigest) && (i.In(answer) || managedfields.HasAny(live) && !before.Owns(path))
		}
		isOurs := before.Owns(path) || after.Owns(path)
		return path != "" && !isOurs && others.Of(path) != ""
	}
}

// hasLostEntry reports whether somebody removed this field owner's entry from the managed fields of live, or all entries:
// then the API server noted at the apply that nobody is known to have set the fields of desired. from are the managers from
// which these fields were taken after the apply.
func (u update) hasLostEntry(live client.Object, from []string) bool {
	known, ok := u.record(live)
	isTold := u.Kind.IsReset(live) || managedfields.IsDisowned(live, u.Operator.FieldOwner) ||
		slices.Contains(from, migrate.BeforeFirstApply)
	return ok && known.Entry != "" && isTold
}

// noteRetired adds the managers of older versions to the changes at retired paths.
func (u update) noteRetired(changes []layer.Change, held []metav1.ManagedFieldsEntry) []layer.Change {
	owners := managedfields.OwnersIn(held)
	for i := range changes {
		if u.IsRetired(changes[i].Path) {
			changes[i].Manager = owners.Of(changes[i].Path)
		}
	}
	return changes
}

// noteRemoved adds the removed obstacles and their managers to changes. Without a Go type, changes name
// items by their index, and the next item may have taken the place of a removed one.
func noteRemoved(changes []layer.Change, removed []obstacle.Obstacle) []layer.Change {
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
			changes = append(changes, layer.Change{Path: text, Manager: appendManagers("", o.Managers)})
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
