package ensure

import (
	"cmp"
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/backoff"
	"github.com/trueup-go/trueup/ensure/internal/contest"
	"github.com/trueup-go/trueup/ensure/internal/fields"
	"github.com/trueup-go/trueup/ensure/internal/handover"
	"github.com/trueup-go/trueup/ensure/internal/kept"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/made"
	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/ensure/internal/recreate"
	"github.com/trueup-go/trueup/ensure/internal/repair"
	"github.com/trueup-go/trueup/ensure/internal/report"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/ensure/internal/withdraw"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/observer"
)

// This file lists the layers, and has the write of an object, in which they take part. The rest of the package knows none of them.

// tables are what the layers of an Ensurer remember.
type tables struct {
	attempts *backoff.Table
	contests *contest.Table
	deleted  *recreate.Table
	made     *made.Table
	reporter report.Reporter
}

func newTables(entries int, known *memory.Memory, recorder events.EventRecorder) *tables {
	return &tables{
		attempts: backoff.NewTable(entries),
		contests: contest.NewTable(entries),
		deleted:  recreate.NewTable(entries),
		made:     made.NewTable(entries),
		reporter: report.Reporter{Recorder: recorder, Memory: known},
	}
}

// leastWait is how long a refusal to write holds at least.
const leastWait = contest.LeastWait

// layers are those of a pass.
type layers struct {
	tables  *tables
	child   *layer.Child
	applier *server.Applier
	backoff backoff.Call
	contest contest.Guard
}

// connect makes what sends and watches the requests of a pass whose desired state, key and controller are known.
func (p *pass) connect(call layer.Call) {
	e := p.ensurer
	p.child.Call, p.child.Older = call, p.options.migrateFrom
	if call == layer.Ensure && p.options.changesOwnership() {
		p.child.Handover = p.options.handover()
	}
	p.layers = layers{
		tables: e.tables, child: &p.child, applier: &p.applier,
		backoff: backoff.Call{Table: e.tables.attempts, Child: &p.child, Options: &p.options.policy, Clock: e.clock},
		contest: contest.Guard{Table: e.tables.contests, Child: &p.child, Server: &p.server, Clock: e.clock},
	}
	p.server = server.Session{Client: e.client, Reader: e.reader, Memory: e.memory, Child: &p.child, Gate: &p.layers.backoff}
	p.server.LoadKnown()
	p.applier = server.Applier{Server: &p.server}
}

// readIgnored reads the paths that are neither compared nor applied to an object that exists.
func (p *pass) readIgnored() (err error) {
	p.child.Ignored, err = p.given().Ignored(&p.child, p.ensurer.labels)
	return err
}

func (p *pass) given() fields.Given {
	return fields.Given{Once: p.options.once, Release: p.options.release, Retire: p.options.retire}
}

// setBirth keeps a copy of desired for the creation, if that sends more than later writes.
func (p *pass) setBirth() {
	if len(p.child.Ignored) > 0 {
		p.child.Birth = p.child.Kind.ShallowCopy(p.child.Desired)
		fields.RemoveIgnoredItems(p.child.Desired, p.child.Ignored)
	}
}

// readPaths reads the paths that are left to others, or taken from older versions.
func (p *pass) readPaths() (err error) {
	if slices.Contains(p.child.Older, "") {
		return p.child.Subject.Refuse("", "ensure.MigrateFrom needs the names of managers, as metadata.managedFields of the child has them")
	}
	p.child.Left, p.child.Retired, err = p.given().Read(&p.applier)
	return err
}

// begin notes the live object with which the pass begins, nil if there is none.
func (l *layers) begin(live client.Object) { l.backoff.Begin(live) }

// hasFailed reports whether the last pass with the same desired state failed at a request.
func (l *layers) hasFailed() bool { return l.backoff.HasFailed() }

// isWaiting reports whether mayWrite would fail.
func (l *layers) isWaiting() bool { return l.contest.IsWaiting() }

// mayWrite fails if the pass may not write now.
func (l *layers) mayWrite() error { return l.contest.Try() }

// noteUID notes the UID of the live object. If another object was deleted to be created again, that is settled.
func (l *layers) noteUID(uid types.UID) { recreate.Drop(l.tables.deleted, l.child, uid) }

// deleted returns the deleted object that the child is to replace, and whether there is one.
func (l *layers) deleted() (recreate.Replacement, bool) {
	return l.tables.deleted.Get(l.child.OwnedID())
}

// forgetDeleted forgets the deleted object.
func (l *layers) forgetDeleted() { l.tables.deleted.Remove(l.child.OwnedID()) }

// noteMade notes the live object that a pass has found or made, if a list may not show it yet.
func (l *layers) noteMade(found layer.Outcome) {
	isNew := found.Operation == layer.Created || found.Operation == layer.Recreated || l.applier.Server.IsCacheBehind
	if isNew && found.Live != nil && !l.child.DryRun {
		l.tables.made.Note(l.child, found.Live)
	}
}

// forgetMade forgets an object that was removed.
func (l *layers) forgetMade(live client.Object) {
	if !l.child.DryRun {
		l.tables.made.Forget(l.child, live.GetUID())
	}
}

// unlisted are the objects that were made for the owner, and that no list of their kind has shown, this one included.
func (l *layers) unlisted(list client.ObjectList) []client.Object {
	return l.tables.made.Unlisted(l.child, list)
}

// handoverIn returns which fields changed their owner in live, a confirmed copy.
func (l *layers) handoverIn(live client.Object) memory.Handover {
	return handover.Of(l.applier).In(live)
}

// isPending reports whether live has to be written although it is as desired.
func (l *layers) isPending(live client.Object) bool { return handover.Of(l.applier).IsPending(live) }

// rest returns the outcome of a pass that has nothing to write.
func (l *layers) rest(found layer.Outcome) (layer.Outcome, error) {
	return l.contest.Unchanged(found)
}

// write brings live, nil if there is none, to the desired state.
func (p *pass) write(ctx context.Context, live client.Object, cause layer.Cause) (found layer.Outcome, err error) {
	if err := p.layers.mayWrite(); err != nil {
		return layer.Outcome{}, err
	}
	if live, err = p.layers.contest.WithRival(ctx, live); err != nil {
		return layer.Outcome{}, err
	}
	if live == nil {
		found, err = p.create(ctx)
	} else {
		found, err = p.update(ctx, live, cause)
	}
	p.layers.report(ctx, found) // also what was written before a failure
	if err != nil {
		return layer.Outcome{}, err
	}
	return p.layers.contest.Wrote(live, found)
}

// report tells of a write.
func (l *layers) report(ctx context.Context, found layer.Outcome) {
	l.tables.reporter.Wrote(ctx, l.child, found)
}

// end notes the end of the pass, and returns its outcome.
func (p *pass) end(ctx context.Context, found layer.Outcome, err error) (layer.Outcome, error) {
	err = p.layers.backoff.End(err, p.server.Requests)
	p.layers.tables.reporter.Ended(&p.server, found, err)
	if errors.Is(err, ErrContested) && p.child.Call == layer.Ensure {
		observer.Report(ctx, published(err))
	}
	return found, err
}

// endRemoval notes the end of a pass that removes the child, or gives it up.
func (p *pass) endRemoval(ctx context.Context, found layer.Outcome, err error) (layer.Outcome, error) {
	p.layers.report(ctx, found)
	if err == nil && found.Cause == layer.Unwanted && !p.child.DryRun {
		found, err = p.layers.contest.Superseded(nil, found)
	}
	return p.end(ctx, found, err)
}

// update brings live to the desired state.
func (p *pass) update(ctx context.Context, live client.Object, cause layer.Cause) (layer.Outcome, error) {
	h := handover.Of(&p.applier)
	live, err := h.Latest(ctx, live)
	if err != nil {
		return layer.Outcome{}, err
	}
	if metav1.GetControllerOfNoCopy(live) == nil {
		if err := p.checkOwnerIsThere(ctx, "apply"); err != nil {
			return layer.Outcome{}, err
		}
	}
	if p.child.Kind.IsSecret() && !p.options.overwriteData {
		if err := h.CheckSecret(live); err != nil {
			return layer.Outcome{}, err
		}
	}
	before, err := h.Plan(ctx, live)
	if err == nil {
		err = fields.CheckLeft(&p.applier, live, before)
	}
	if err != nil {
		return layer.Outcome{}, err
	}
	held, isMigration := h.Held(live), h.IsMigration(before.Managers())
	applied, live, err := p.apply(ctx, h, live, before, cause)
	switch { // docs/design/layers.md says where a new rule about refusals goes
	case errors.Is(err, ErrImmutable):
		return p.recreate(ctx, live, cause, err)
	case err != nil:
		return layer.Outcome{}, err
	case isMigration:
		cause = layer.Migrated
	}
	return p.conclude(ctx, h, live, cause, applied, held)
}

// apply moves fields in live, as before does, and applies desired. It returns live as it was applied to. What is retired
// moves only if a dry run shows that the API server accepts the apply then: another desired state could not undo the move.
func (p *pass) apply(
	ctx context.Context, h handover.Handover, live client.Object, before *managedfields.Patch, cause layer.Cause,
) (applied server.Application, _ client.Object, err error) {
	if !before.IsEmpty() && (p.child.DryRun || len(p.child.Retired) > 0) {
		if applied, err = repair.Rehearse(ctx, &p.applier, live, nil); err != nil || p.child.DryRun {
			return applied, live, err
		}
	}
	prepared, err := h.Prepare(ctx, live, before)
	if err != nil {
		return server.Application{}, live, err
	}
	applied, err = repair.Apply(ctx, &p.applier, prepared, cause)
	return applied, prepared, err
}

// conclude returns the outcome of an application to live, or of a rehearsal of one. held are the entries that older
// versions had before.
func (p *pass) conclude(
	ctx context.Context, h handover.Handover, live client.Object, cause layer.Cause,
	applied server.Application, held []metav1.ManagedFieldsEntry,
) (layer.Outcome, error) {
	p.server.LoadKnown() // what other passes learnt meanwhile counts, too
	answer := applied.After
	found := layer.Outcome{Live: answer, Operation: layer.Unchanged}
	changes := p.changes(applied)
	if len(applied.Removed) > 0 {
		changes = repair.NoteRemoved(changes, applied.Removed)
	}
	if len(p.child.Retired) > 0 {
		changes = h.NoteRetired(changes, held)
	}
	if len(changes) > 0 || p.server.IsOutdated(live) && cause == layer.DesiredChanged {
		found = layer.Outcome{Live: answer, Operation: layer.Updated, Cause: cause, Changes: changes}
	}
	if p.child.IsControlledByOther(answer) && !p.options.adopt { // it took control between our read and our apply
		return found, foreignError(&p.child, answer)
	}
	found, err := p.finish(ctx, h, live, cause, applied, found)
	if err == nil && answer.GetDeletionTimestamp() != nil {
		err = p.terminatingError("apply", "its deletion began meanwhile")
	}
	return found, err
}

// finish settles the managed fields after the application to live, remembers the answer, and completes the outcome.
func (p *pass) finish(
	ctx context.Context, h handover.Handover, live client.Object, cause layer.Cause, applied server.Application, found layer.Outcome,
) (layer.Outcome, error) {
	settled, from, err := h.Settle(ctx, applied.After)
	if err != nil {
		p.server.Memory.Invalidate(p.child.OwnedID())
		return found, err
	}
	p.confirm(settled)
	found.Live = settled
	isMigration := h.IsMigration(from)
	if cause == layer.Drifted && (isMigration || h.HasLostEntry(live, from)) {
		found.Operation, found.Cause = layer.Updated, cause
		found.Changes = append(found.Changes, layer.Change{Path: layer.ManagedFieldsPath})
	}
	switch {
	case isMigration || cause == layer.Migrated:
		found.Operation, found.Cause, found.Kept = layer.Updated, layer.Migrated, kept.ByOlder(ctx, &p.applier, applied.After)
	case cause == layer.DesiredChanged:
		found.Kept = kept.In(&p.applier, live, applied)
	}
	return found, nil
}

// recreate deletes live, which cannot be changed as desired, and creates the child again, if that is allowed and of use. Else
// the refusal stands.
func (p *pass) recreate(ctx context.Context, live client.Object, cause layer.Cause, refusal error) (layer.Outcome, error) {
	judged, ok := errors.AsType[*repair.RefusalError](refusal)
	if !ok || p.applier.IsAdopted || p.options.adopt || p.options.ifExists {
		return layer.Outcome{}, refusal
	}
	r := recreate.Recreation{
		Policy: recreate.Policy{Dependents: p.options.recreate, OnDrift: p.options.onDrift, DeletesData: p.options.deleteData},
		Table:  p.layers.tables.deleted, Server: &p.server, Live: live, Cause: cause,
		RefusesDriftOnly: func(ctx context.Context) (bool, error) { return judged.RefusesDriftOnly(ctx, &p.applier) },
	}
	if isAllowed, err := r.IsAllowed(ctx); err != nil || !isAllowed {
		return layer.Outcome{}, cmp.Or(err, refusal)
	}
	found, err := r.Delete(ctx, refusal)
	if err != nil || p.child.DryRun {
		return found, err
	}
	p.layers.report(ctx, found)
	return p.create(ctx)
}

// leftBefore returns the outcome for live if an earlier call gave it up, or saw that it is not ours.
func (l *layers) leftBefore(live client.Object) (layer.Outcome, bool) {
	return withdraw.Of(l.applier).Released(live)
}

// leave remembers that live is not ours, and returns that outcome.
func (l *layers) leave(live client.Object) layer.Outcome { return withdraw.Of(l.applier).Leave(live) }

// giveUp removes what we have applied to live, and leaves it.
func (l *layers) giveUp(ctx context.Context, live client.Object) (layer.Outcome, error) {
	return withdraw.Of(l.applier).Release(ctx, live)
}

// isAdoptedBesideController reports whether live, which is not ours, was adopted beside its controller.
func (l *layers) isAdoptedBesideController(live client.Object) bool {
	return withdraw.Of(l.applier).IsAdoptedBesideController(live)
}

// giveUpFields removes what we have applied to live, which is being deleted: with our finalizers, it would never go.
func (l *layers) giveUpFields(ctx context.Context, live client.Object) (layer.Outcome, error) {
	w := withdraw.Of(l.applier)
	before, after, err := w.Fields(ctx, live)
	if err != nil {
		return layer.Outcome{}, err
	}
	return layer.Outcome{Live: after, Operation: layer.Deleting, Changes: w.Changes(before, after)}, nil
}
