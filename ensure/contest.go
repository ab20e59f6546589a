package ensure

import (
	"context"
	"math"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/contest"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/report"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// A contention is what a call has to do with a contest over its child.
type contention struct{ *child }

func (c *child) contest() contention { return contention{c} }

// contestCall returns the facts about this call that decide about a contest.
func (c contention) contestCall() contest.Call {
	call := contest.Call{
		Child: c.ID(), Wanted: contest.Wanted{Digest: c.Digest}, Now: c.clock.Now(), HasTry: c.hasTry, DryRun: c.dryRun,
	}
	if c.controlled {
		call.Owner = contest.Generation{Owner: c.owner.GetUID(), Number: c.owner.GetGeneration()}
		if c.owner.GetDeletionTimestamp() != nil {
			call.Owner.Number = math.MaxInt64
		}
	}
	return call
}

// tryToWrite fails if a contest forbids to write now. If a try is due, this call has it.
func (c contention) tryToWrite() error {
	verdict := c.contests.Try(c.contestCall())
	c.child.hasTry = c.hasTry || verdict.HasTry
	return c.contestedError(verdict)
}

// finishUnchanged returns the outcome of a call that had nothing to write. During a contest that is
// an error, until the last write was left alone for long enough.
func (c contention) finishUnchanged(found layer.Outcome) (layer.Outcome, error) {
	if c.contests.IsEmpty() {
		return found, nil
	}
	call := c.contestCall()
	call.IsStale = found.Stale
	return found.Unless(c.contestedError(c.contests.Unchanged(call)))
}

// finishWrite returns the outcome of a write. live is the object before the write; nil if there was
// none. The reverted paths are counted; one revert too many is ErrContested.
func (c contention) finishWrite(ctx context.Context, live client.Object, found layer.Outcome) (layer.Outcome, error) {
	c.reporter.Wrote(ctx, &c.Child, found)
	if c.supersedes(live, found) {
		return c.finishSuperseding(live, found)
	}
	paths := c.reverted(live, found)
	if len(paths) == 0 || c.dryRun {
		return c.finishUnchanged(found)
	}
	write := contest.Write{Paths: c.Operator.Digests.Without(paths)}
	if live != nil {
		write.Version, write.Rival = found.Live.GetResourceVersion(), c.rivalIn(live, paths)
	}
	return found.Unless(c.contestedError(c.contests.Reverted(c.contestCall(), write)))
}

// finishSuperseding returns the outcome of a write that changed the desired state of the child. One
// change too many is ErrContested. live is the object before the write, nil if there is none now.
func (c contention) finishSuperseding(live client.Object, found layer.Outcome) (layer.Outcome, error) {
	changes := found.Changes
	if len(changes) == 0 && found.Operation == layer.Updated { // another pass got the same answer
		changes = c.unsatisfied(live)
	}
	paths := c.Operator.Digests.Without(layer.Paths(changes))
	return found.Unless(c.contestedError(c.contests.Superseded(c.contestCall(), paths, c.Operator.FieldOwner)))
}

// contestedError returns the error of a verdict.
func (c contention) contestedError(verdict contest.Verdict) error {
	if !verdict.Contested {
		return nil
	}
	if verdict.Begins {
		report.ContestBegan(c.Kind.GVK)
	}
	out := c.Subject.Fail(ErrContested, verdict.Operation, verdict.Text(c.Operator.FieldOwner, c.migrateFrom), verdict.Paths...)
	out.Rival, out.After = verdict.Rival, verdict.Wait
	return out
}

// supersedes reports whether a write replaced another desired state that this Ensurer wrote, on
// behalf of whichever owner. The result of that write may not be known yet.
func (c contention) supersedes(live client.Object, found layer.Outcome) bool {
	if c.dryRun || found.Cause == "" {
		return false
	}
	if c.lastApplied.Digest != "" && c.lastApplied.Digest != c.Digest {
		return true
	}
	stored := contest.Absent
	if live != nil {
		stored, _ = c.Operator.Stored(live)
	}
	return stored != c.Digest && c.contests.HasWritten(c.ID(), stored)
}

// reverted returns the paths that a write changed although the API server was content with the same
// desired state before. Fields that this field owner owned neither before nor after do not count:
// others changed them between the read and the write.
func (c contention) reverted(live client.Object, found layer.Outcome) []string {
	switch {
	case c.last.Digest != c.Digest:
		return nil
	case live != nil:
		return c.revertedIn(live, found)
	case found.Operation == layer.Recreated: // the changes are those of the deleted object
		return layer.Paths(found.Changes)
	case found.Operation == layer.Created && !c.last.Deleted:
		return []string{contest.Deletion}
	}
	return nil
}

// revertedIn returns the reverted paths of an object that existed. An object with another UID than
// the last known one means that somebody replaced it, unless this Ensurer had deleted it.
func (c contention) revertedIn(live client.Object, found layer.Outcome) []string {
	isOther := live.GetUID() != c.last.UID
	if found.Operation == layer.Unchanged || c.last.IsNewerThan(live.GetResourceVersion()) || isOther && c.last.Deleted {
		return nil
	}
	before, after := c.Operator.Owned(live), c.Operator.Owned(found.Live)
	unknown := !managedfields.HasAny(found.Live) // the fake client may give none
	var paths []string
	for _, change := range found.Changes {
		isOurs := after.Owns(change.Path) || before.Owns(change.Path)
		if change.Path != "" && (unknown || isOurs || change.Path == managedFieldsPath || c.isRetiredPath(change.Path)) {
			paths = append(paths, change.Path)
		}
	}
	return paths
}

// withRival returns a copy of live, not yet written, whose managed fields show who wrote it. That is
// live, unless the cache strips the managed fields. Then the API server is asked, once per contest:
// before the write that may begin it, which takes the fields back.
func (c contention) withRival(ctx context.Context, live client.Object) (client.Object, error) {
	if managedfields.HasAny(live) || !c.contests.NeedsRival(c.contestCall()) {
		return live, nil
	}
	complete, err := c.server.ReadServer(ctx)
	if err != nil || complete == nil || complete.GetUID() != live.GetUID() {
		return live, err
	}
	return complete, nil
}

// rivalIn returns who changed paths in live, before they were set back; empty if that is not known.
func (c contention) rivalIn(live client.Object, paths []string) string {
	stored, _ := c.Operator.Stored(live)
	digest := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return !c.Operator.Digests.Has(path) })
	if stored != "" && stored != c.Digest && managedfields.OwnersIn(managedfields.Others(live, c.Operator.FieldOwner)).Of(digest...) == "" {
		return contest.AnotherInstance(c.Operator.FieldOwner)
	}
	return contest.RivalIn(live, c.Operator.FieldOwner, paths)
}
