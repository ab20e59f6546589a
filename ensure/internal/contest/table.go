// Package contest decides when writing a child stops being useful, because somebody reverts each
// write: another program, another caller in the same process, or the caller itself, whose desired
// state is another in each call. From the writes and reverts, a Table derives a verdict: it sends
// no request and reads no clock. A Guard asks the Table on behalf of a call.
//
// A contest begins with the fifth revert of one field within two minutes, with the fifth deletion,
// or when callers of this process keep superseding each other's desired states. Nothing is written
// for ten seconds then. After that, each call that writes doubles the wait, up to five minutes. The
// contest ends once a write was left alone for twice as long as the wait, once desired changes, or
// ten minutes after the last try. A contest between callers does not end with a change of desired, but
// with the next generation of the owner. The contest pauses if no call wants another desired state for
// five seconds after a write, and goes on with the next desired state that stands for less.
package contest

import (
	"sync"
	"time"

	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/internal/lru"
)

const (
	// reverts of one path within window begin a contest.
	reverts = 5
	window  = 2 * time.Minute

	// firstWait is the wait without writes at the beginning of a contest. The wait doubles with each write
	// that is reverted again.
	firstWait   = 10 * time.Second
	longestWait = 5 * time.Minute
	// longest is how long after the last try a contest ends in any case.
	longest = 2 * longestWait
)

// LeastWait is the shortest wait of a verdict: something may have changed afterwards.
const LeastWait = time.Second

// A Call is one call for a child.
type Call struct {
	Wanted  Wanted
	Child   memory.ChildKey
	Now     time.Time
	HasTry  bool // that of an earlier verdict on the same call
	IsStale bool // the copy of the live object is from before the last write
	DryRun  bool // no contest concerns the call
}

// A Write is a write of a call that reverted changes of others.
type Write struct {
	// Paths are the fields that the write set back, or Deletion.
	Paths []string
	// Version is the resourceVersion of the answer, for an object that existed. Passes that run at
	// the same time may get one answer, which counts once.
	Version string
	// Rival is the field manager that had changed the fields; empty if not known.
	Rival string
}

// Deletion stands for the deletion of the child among the paths of a Write. No field has this path.
const Deletion = ""

// A Table holds the contests over children. A lost entry costs a few more writes. It is safe for
// concurrent use.
type Table struct {
	mu       sync.Mutex
	contests *lru.Table[memory.ChildKey, *contest]
	until    time.Time // when nothing in the table counts any longer
}

// NewTable returns a table of contests over at most the given number of children.
func NewTable(entries int) *Table {
	return &Table{contests: lru.New[memory.ChildKey, *contest](entries)}
}

// IsEmpty reports whether nothing is counted for any child.
func (t *Table) IsEmpty() bool { return t.contests.IsEmpty() }

// IsWaiting reports whether Try would refuse a write.
func (t *Table) IsWaiting(call Call) bool {
	return t.ifOn(call, func(on *contest) Verdict {
		return Verdict{Contested: !call.HasTry && call.Now.Before(on.tried.Add(on.wait))}
	}).Contested
}

// Try refuses a write during a contest, but for one try each time that the wait is over. The first
// call that asks then has the try.
func (t *Table) Try(call Call) Verdict {
	return t.ifOn(call, func(on *contest) Verdict {
		wait := on.tried.Add(on.wait).Sub(call.Now)
		switch {
		case call.HasTry:
		case wait > 0:
			return on.verdict(call, wait, false)
		default:
			on.tried = call.Now
		}
		return Verdict{HasTry: true}
	})
}

// Unchanged notes a call that had nothing to write. During a contest, the call still fails until the
// last write was left alone for long enough, which ends the contest, or pauses one between callers: they
// may only have waited as they were told. A stale copy does not show that.
func (t *Table) Unchanged(call Call) Verdict {
	return t.ifOn(call, func(on *contest) Verdict {
		wait := on.wrote.Add(2 * on.wait).Sub(call.Now)
		switch isOver := wait <= 0 && !call.IsStale; {
		case isOver && on.betweenCallers:
			on.pause()
			return Verdict{}
		case isOver:
			t.contests.Remove(call.Child)
			return Verdict{}
		}
		return on.verdict(call, wait, false)
	})
}

// Reverted counts a write that reverted changes of others. One revert too many begins a contest, and
// each revert during a contest prolongs the wait.
func (t *Table) Reverted(call Call, write Write) Verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.getOrBegin(call)
	wasOn := known.wait > 0
	known.name(write.Rival)
	if write.Version == "" || write.Version != known.version {
		known.version = write.Version
		known.count(write.Paths, call.Now)
	}
	if known.wait == 0 {
		return Verdict{}
	}
	return known.verdict(call, known.wait, !wasOn)
}

// Superseded counts a write that put another desired state in place of one that this process had
// written. paths are those that differed, none if an old copy was read that did not show them.
// fieldOwner is the rival if desired is not deterministic.
func (t *Table) Superseded(call Call, paths []string, fieldOwner string) Verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.getOrBegin(call)
	wasOn := known.wait > 0
	switch rival := known.supersede(call.Wanted, paths, call.Now, fieldOwner); {
	case wasOn:
	case rival == "":
		return Verdict{}
	default:
		known.betweenCallers, known.rival = true, rival
	}
	known.prolong(known.latestPaths(), call.Now)
	return known.verdict(call, known.wait, !wasOn)
}

// HasWritten reports whether this process wrote the desired state with this digest to child lately,
// or, for Absent, deleted the child last.
func (t *Table) HasWritten(child memory.ChildKey, digest string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, ok := t.contests.Get(child)
	return ok && known.hasWritten(digest)
}

// NeedsRival reports whether the next write may begin a contest whose rival is not known. It is true
// once per contest, as the answer costs a request.
func (t *Table) NeedsRival(call Call) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.get(call)
	if known == nil || known.asked || known.rival != "" || known.wait == 0 && !known.isRecent(call.Now) {
		return false
	}
	for path, times := range known.reverted {
		known.asked = known.asked || path != Deletion && len(times) >= reverts-1
	}
	return known.asked
}

// ifOn returns the verdict of judge if a contest is on, and else none. There is mostly none over any
// child, as reverts that are too old to count are forgotten.
func (t *Table) ifOn(call Call, judge func(*contest) Verdict) Verdict {
	if call.DryRun || t.IsEmpty() {
		return Verdict{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !call.Now.Before(t.until) {
		t.contests.Clear()
		return Verdict{}
	}
	switch known := t.get(call); {
	case known == nil:
	case known.wait > 0 && !known.hasStood(call.Wanted.Digest, call.Now):
		t.until = call.Now.Add(longest)
		return judge(known)
	case known.wait > 0:
		known.pause()
	case !known.isRecent(call.Now):
		t.contests.Remove(call.Child)
	default:
		known.repeat(call.Wanted.Digest, call.Now)
	}
	return Verdict{}
}

// get returns the contest over a child and this desired state, nil if there is none. A contest over
// another desired state ends, and so does one between callers with the next generation of the owner.
// The caller holds the lock.
func (t *Table) get(call Call) *contest {
	known, ok := t.contests.Get(call.Child)
	switch {
	case !ok:
		return nil
	case known.wait > 0 && call.Now.Sub(known.tried) >= longest, known.betweenCallers && call.Wanted.Owner.isAfter(known.owner):
		t.contests.Remove(call.Child)
		return nil
	case !known.betweenCallers && known.digest != call.Wanted.Digest:
		*known = contest{digest: call.Wanted.Digest, reverted: map[string][]time.Time{}, states: known.states, owner: known.owner}
	}
	return known
}

// getOrBegin is like get, and begins to count if there is no contest. The caller holds the lock.
func (t *Table) getOrBegin(call Call) *contest {
	known := t.get(call)
	if known == nil || known.wait == 0 && !known.isRecent(call.Now) {
		known = &contest{digest: call.Wanted.Digest, reverted: map[string][]time.Time{}}
		t.contests.Set(call.Child, known)
	}
	t.until = call.Now.Add(longest)
	return known
}
