package contest

import (
	"context"
	"math"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// A Guard keeps one call from writing while its child is contested, and counts what the call reverts. No contest concerns a dry
// run.
type Guard struct {
	Table  *Table
	Child  *layer.Child
	Server *server.Session
	Clock  clock.PassiveClock

	hasTry bool           // the call may write during a contest
	before memory.Applied // the desired state that was applied before this call wrote, for whichever owner
}

// call returns the facts about this call that decide about a contest.
func (g *Guard) call() Call {
	call := Call{Child: g.Child.ID(), Digest: g.Child.Digest, Now: g.Clock.Now()}
	if owner := g.Child.Owner; owner != nil {
		call.Owner = Generation{Owner: owner.GetUID(), Number: owner.GetGeneration()}
		if owner.GetDeletionTimestamp() != nil {
			call.Owner.Number = math.MaxInt64
		}
	}
	return call
}

// isFree reports whether no contest concerns this call, without the lock of the table.
func (g *Guard) isFree() bool { return g.hasTry || g.Child.DryRun || g.Table.IsEmpty() }

// IsWaiting reports whether Try would fail.
func (g *Guard) IsWaiting() bool { return !g.isFree() && g.Table.IsWaiting(g.call()) }

// Try fails if a contest forbids to write now. If a try is due, this call has it.
func (g *Guard) Try() error {
	g.before, _ = g.Server.Memory.Applied.Get(g.Child.ID())
	if g.isFree() {
		return nil
	}
	verdict := g.Table.Try(g.call())
	g.hasTry = verdict.HasTry
	return g.errorOf(verdict)
}

// Unchanged returns the outcome of a call that had nothing to write. During a contest that is
// an error, until the last write was left alone for long enough.
func (g *Guard) Unchanged(found layer.Outcome) (layer.Outcome, error) {
	if g.Child.DryRun || g.Table.IsEmpty() {
		return found, nil
	}
	return found.Unless(g.errorOf(g.Table.Unchanged(g.call(), found.Stale)))
}

// Wrote returns the outcome of a write. live is the object before the write, nil if there was none. The reverted paths are
// counted; one revert too many is ErrContested.
func (g *Guard) Wrote(live client.Object, found layer.Outcome) (layer.Outcome, error) {
	if g.supersedes(live, found) {
		return g.Superseded(live, found)
	}
	paths := g.reverted(live, found)
	if len(paths) == 0 || g.Child.DryRun {
		return g.Unchanged(found)
	}
	write := Write{Paths: g.Child.Operator.Digests.Without(paths)}
	if live != nil {
		write.Version, write.Rival = found.Live.GetResourceVersion(), g.rivalIn(live, paths)
	}
	return found.Unless(g.errorOf(g.Table.Count(g.call(), write)))
}

// Superseded returns the outcome of a write that changed the desired state of the child. One
// change too many is ErrContested. live is the object before the write, nil if there is none now.
func (g *Guard) Superseded(live client.Object, found layer.Outcome) (layer.Outcome, error) {
	changes := found.Changes
	if len(changes) == 0 && found.Operation == layer.Updated { // another pass got the same answer
		changes = g.Child.Unsatisfied(live)
	}
	write := Write{IsState: true, Paths: g.Child.Operator.Digests.Without(layer.Paths(changes)), Rival: g.Child.Operator.FieldOwner}
	return found.Unless(g.errorOf(g.Table.Count(g.call(), write)))
}

// errorOf returns the error of a verdict.
func (g *Guard) errorOf(verdict Verdict) error {
	if !verdict.Contested {
		return nil
	}
	text := verdict.Text(g.Child.Operator.FieldOwner, g.Child.Older)
	out := g.Child.Subject.Fail(fault.ErrContested, verdict.Operation, text, verdict.Paths...)
	out.Rival, out.After, out.BeginsContest = verdict.Rival, verdict.Wait, verdict.Begins
	return out
}

// supersedes reports whether a write replaced another desired state that this Ensurer wrote, on
// behalf of whichever owner. The result of that write may not be known yet.
func (g *Guard) supersedes(live client.Object, found layer.Outcome) bool {
	if g.Child.DryRun || found.Cause == "" {
		return false
	}
	if g.before.Digest != "" && g.before.Digest != g.Child.Digest {
		return true
	}
	stored := Absent
	if live != nil {
		stored, _ = g.Child.Operator.Stored(live)
	}
	return stored != g.Child.Digest && g.Table.HasWritten(g.Child.ID(), stored)
}

// reverted returns the paths that a write changed although the API server was content with the same
// desired state before. Fields that this field owner owned neither before nor after do not count,
// unless they are retired: others changed them between the read and the write.
func (g *Guard) reverted(live client.Object, found layer.Outcome) []string {
	last := g.Server.Known
	switch {
	case last.Digest != g.Child.Digest:
		return nil
	case live != nil:
		return g.revertedIn(live, found)
	case found.Operation == layer.Recreated: // the changes are those of the deleted object
		return layer.Paths(found.Changes)
	case found.Operation == layer.Created && !last.Deleted:
		return []string{Deletion}
	}
	return nil
}

// revertedIn returns the reverted paths of an object that existed. An object with another UID than
// the last known one means that somebody replaced it, unless this Ensurer had deleted it.
func (g *Guard) revertedIn(live client.Object, found layer.Outcome) []string {
	last := g.Server.Known
	isOther := live.GetUID() != last.UID
	if found.Operation == layer.Unchanged || last.IsNewerThan(live.GetResourceVersion()) || isOther && last.Deleted {
		return nil
	}
	before, after := g.Child.Operator.Owned(live), g.Child.Operator.Owned(found.Live)
	var paths []string
	for _, change := range found.Changes {
		isOwned := after.Owns(change.Path) || before.Owns(change.Path) || change.Path == layer.ManagedFieldsPath
		if change.Path != "" && (isOwned || g.Child.IsRetired(change.Path)) {
			paths = append(paths, change.Path)
		}
	}
	return paths
}

// WithRival returns a copy of live, nil or not yet written, whose managed fields show who wrote it. That is
// live, unless the cache strips the managed fields. Then the API server is asked before the write that begins a contest, and
// that takes the fields back.
func (g *Guard) WithRival(ctx context.Context, live client.Object) (client.Object, error) {
	if live == nil || managedfields.HasAny(live) || !g.Table.NeedsRival(g.call()) {
		return live, nil
	}
	complete, err := g.Server.ReadServer(ctx)
	if err != nil || complete == nil || complete.GetUID() != live.GetUID() {
		return live, err
	}
	return complete, nil
}

// rivalIn returns who changed paths in live, before they were set back; empty if that is not known.
func (g *Guard) rivalIn(live client.Object, paths []string) string {
	operator := g.Child.Operator
	stored, _ := operator.Stored(live)
	digest := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return !operator.Digests.Has(path) })
	others := managedfields.OwnersIn(managedfields.Others(live, operator.FieldOwner))
	if stored != "" && stored != g.Child.Digest && others.Of(digest...) == "" {
		return AnotherInstance(operator.FieldOwner)
	}
	return RivalIn(live, operator.FieldOwner, paths)
}

// RivalIn returns the field manager that changed paths in obj, before fieldOwner set them back; empty
// if the managed fields do not show that.
func RivalIn(obj metav1.Object, fieldOwner string, paths []string) string {
	others := managedfields.Others(obj, fieldOwner)
	if manager := managedfields.OwnersIn(others).Of(paths...); manager != "" {
		return manager
	}
	own := managedfields.Applied(obj, fieldOwner)
	if len(others) > 0 && own != nil && !managedfields.WrittenAt(&others[0]).Before(managedfields.WrittenAt(own)) {
		return others[0].Manager // a removed field has no owner, but its remover wrote another field, too
	}
	return ""
}
