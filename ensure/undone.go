package ensure

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/managedfields"
)

// duringContest runs do if one is on. Nearly always there is none anywhere, as what was undone
// too long ago to count is forgotten.
func (c *child) duringContest(do func(*contest)) {
	contests := c.memory.contests
	if contests.table.Len() == 0 || c.dryRun {
		return
	}
	contests.mu.Lock()
	defer contests.mu.Unlock()
	now := c.clock.Now()
	if !now.Before(contests.until) {
		contests.table.Clear()
		return
	}
	switch found := contests.of(c.id(), c.intent(), now); {
	case found == nil:
	case found.hold > 0:
		contests.until = now.Add(longestContest)
		do(found)
	case !found.isRecent(now):
		contests.table.Remove(c.id())
	default:
		found.repeat(c.digest, now)
	}
}

// isHeld reports whether nothing would be written now.
func (c *child) isHeld() (is bool) {
	c.duringContest(func(on *contest) { is = !c.mayTry && c.clock.Now().Before(on.tried.Add(on.hold)) })
	return is
}

// held refuses to write while a contest is on, but for one try each time that Error.After
// is over: the first to come has it.
func (c *child) held() (err error) {
	c.duringContest(func(on *contest) {
		now := c.clock.Now()
		wait := on.tried.Add(on.hold).Sub(now)
		switch {
		case c.mayTry:
		case wait > 0:
			err = c.contested(on, wait)
		default:
			on.tried, c.mayTry = now, true
		}
	})
	return err
}

// standing is the outcome when there is nothing to put back. During a contest that is no
// good news until our last write has stood for a while.
func (c *child) standing(found outcome) (_ outcome, err error) {
	c.duringContest(func(on *contest) {
		wait := on.wrote.Add(2 * on.hold).Sub(c.clock.Now())
		if wait <= 0 && !found.stale {
			c.memory.contests.table.Remove(c.id())
			return
		}
		found, err = outcome{}, c.contested(on, wait)
	})
	return found, err
}

// written is the outcome of a write, with live as it was before, nil if there was nothing.
// What the write put back is counted; the one too many is ErrContested.
func (c *child) written(live client.Object, found outcome) (outcome, error) {
	c.wrote(found)
	if c.isRevision(live, found) {
		return c.revised(found)
	}
	paths := c.undone(live, found)
	if len(paths) == 0 || c.dryRun {
		return c.standing(found)
	}
	version, rival := "", ""
	if live != nil {
		version, rival = found.live.GetResourceVersion(), c.rival(live, paths)
	}
	contests, now := c.memory.contests, c.clock.Now()
	contests.mu.Lock()
	defer contests.mu.Unlock()
	known := contests.begun(c.id(), c.intent(), now)
	known.name(rival)
	if version == "" || version != known.version { // else another reconcile has counted this write
		known.version = version
		if known.count(c.withoutDigest(paths), now) {
			c.countContest()
		}
	}
	if known.hold == 0 {
		return found, nil
	}
	return outcome{}, c.contested(known, known.hold)
}

// undone are the paths that a write put back: that it changed, though desired is what the
// server was content with before. What was not ours before or after counts for nothing: it
// was changed by others between our read and our write.
func (c *child) undone(live client.Object, found outcome) []string {
	switch {
	case c.last.digest != c.digest:
		return nil
	case live != nil:
		return c.undoneIn(live, found)
	case found.operation == Recreated: // what was wrong with the one that is gone by now
		return pathsOf(found.changes)
	case found.operation == Created && !c.last.removed:
		return []string{deletion}
	}
	return nil
}

// undoneIn are those that live had otherwise. If it is another object than we knew, somebody
// took ours away to put it there, unless that was us.
func (c *child) undoneIn(live client.Object, found outcome) []string {
	isOther := live.GetUID() != c.last.uid
	if found.operation == Unchanged || predates(live, c.last) || isOther && c.last.removed {
		return nil
	}
	before, after := c.ownedBefore(live), c.ownedIn(found.live)
	unknown := len(found.live.GetManagedFields()) == 0 // the fake client may give none
	var paths []string
	for _, change := range found.changes {
		if change.Path != "" && (unknown || managedfields.Owns(after, change.Path) || managedfields.Owns(before, change.Path)) {
			paths = append(paths, change.Path)
		}
	}
	return paths
}

// ownedBefore are the fields that were ours when we began to write, those that we took over
// from old managers included.
func (c *child) ownedBefore(live client.Object) *fieldpath.Set {
	owned := c.ownedIn(live)
	for _, at := range c.oldEntries(live) {
		owned = owned.Union(managedfields.Fields(&live.GetManagedFields()[at]))
	}
	return owned
}

// withoutDigest leaves out where the digest is kept, unless nothing else was undone.
func (c *child) withoutDigest(paths []string) []string {
	if rest := slices.DeleteFunc(slices.Clone(paths), c.isDigest); len(rest) > 0 {
		return rest
	}
	return paths
}
