// Package contest decides when writing a child stops being useful, because each write is lost again: to another program, to
// another caller in the same process, or to the caller itself, whose desired state is another in each call. A Table counts the
// lost writes, and derives a verdict: it sends no request and reads no clock. A Guard asks the Table on behalf of a call.
//
// A write is lost if others revert it, or if a call of this process wants another desired state before it stood for five
// seconds. Within two minutes, the fifth revert of one desired state begins a contest, and so does the twentieth state if those
// before were lost.
// Nothing is written for ten seconds then. After that, each loss doubles the wait, up to five minutes. A contest rests once a
// write stood for twice the wait, with the owner's next generation, and with another desired state: in a contest between callers,
// which is about that, if the last one stood for five seconds. It goes on with the next loss, and ends ten minutes after the last
// try.
package contest

import (
	"slices"
	"sync"
	"time"

	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/internal/lru"
)

// LeastWait is the shortest wait of a verdict: something may have changed afterwards.
const LeastWait = time.Second

// AnotherCaller is the rival of a caller that shares its process with another.
const AnotherCaller = "another caller in this process"

// Absent is the digest of a child that is to be absent.
const Absent = ""

// Deletion stands for the deletion of the child among the paths of a Write. No field has this path.
const Deletion = ""

// A Call is one call for a child.
type Call struct {
	Child  memory.ChildKey
	Digest string     // of the desired state that the call wants
	Owner  Generation // that wants it
	Now    time.Time
}

// A Write is a write of a call that reverted changes of others, or that put another desired state in place of one that this
// process had written.
type Write struct {
	IsState bool // it replaced another desired state
	// Paths are the fields that the write set back, or Deletion. For a state, they are those that differed, none if an old copy
	// was read that did not show them.
	Paths []string
	// Version is the resourceVersion of the answer about changes of others, for an object that existed. Passes that run at
	// the same time may get one answer, which counts once.
	Version string
	// Rival is the field manager that had changed the fields; empty if not known. For a state, it is the rival if desired is
	// not deterministic.
	Rival string
}

// A Table holds the contests over children. A lost entry costs a few more writes. It is safe for
// concurrent use.
type Table struct {
	mu       sync.Mutex
	contests *lru.Table[memory.ChildKey, *contest]
}

// NewTable returns a table of contests over at most the given number of children.
func NewTable(entries int) *Table {
	return &Table{contests: lru.New[memory.ChildKey, *contest](entries)}
}

// IsEmpty reports whether nothing is counted for any child.
func (t *Table) IsEmpty() bool { return t.contests.IsEmpty() }

// IsWaiting reports whether Try would refuse a write.
func (t *Table) IsWaiting(call Call) bool {
	c := t.peek(call)
	return c.isOn() && call.Now.Before(c.tried.Add(c.wait))
}

// Try refuses a write during a contest, but for one try each time that the wait is over. The first
// call that asks then has the try.
func (t *Table) Try(call Call) Verdict {
	return t.during(call, func(on *contest) Verdict {
		if wait := on.tried.Add(on.wait).Sub(call.Now); wait > 0 {
			return on.verdict(call, wait, false)
		}
		on.tried = call.Now
		return Verdict{HasTry: true}
	})
}

// Unchanged notes a call that had nothing to write. During a contest, the call still fails until the
// last write was left alone for long enough. A stale copy does not show that.
func (t *Table) Unchanged(call Call, isStale bool) Verdict {
	return t.during(call, func(on *contest) Verdict {
		wait := on.wrote.Add(2 * on.wait).Sub(call.Now)
		if isKept := wait <= 0 && !isStale; isKept {
			on.rests, on.isDisputed = true, false // until the next loss
			return Verdict{}
		}
		return on.verdict(call, wait, false)
	})
}

// Count counts a write.
func (t *Table) Count(call Call, write Write) Verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.get(call)
	if c == nil {
		c = &contest{owner: call.Owner}
		t.contests.Set(call.Child, c)
	}
	wasOn := c.isOn()
	c.note(call, write)
	if !c.isOn() {
		return Verdict{}
	}
	return c.verdict(call, c.wait, !wasOn)
}

// HasWritten reports whether this process wrote the desired state with this digest to child lately,
// or, for Absent, deleted the child last.
func (t *Table) HasWritten(child memory.ChildKey, digest string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.contests.Get(child)
	return ok && (digest == c.digest ||
		digest != Absent && slices.ContainsFunc(c.losses, func(l loss) bool { return l.isState && l.digest == digest }))
}

// NeedsRival reports whether the next revert begins a contest whose rival is not known.
func (t *Table) NeedsRival(call Call) bool {
	c := t.peek(call)
	reverts := c.within(call.Now, false)
	return c.wait == 0 && len(reverts) == maxReverts-1 && rivalOf(reverts) == ""
}

// peek returns what would count for a child if call were made now.
func (t *Table) peek(call Call) contest {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.contests.Get(call.Child)
	if !ok || c.isOver(call.Now) {
		return contest{}
	}
	seen := *c
	seen.losses = slices.Clone(c.losses)
	seen.meet(call)
	return seen
}

// during returns the verdict of judge if a contest is on, and else none.
func (t *Table) during(call Call, judge func(*contest) Verdict) Verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.get(call); c != nil && c.isOn() {
		return judge(c)
	}
	return Verdict{}
}

// get returns what counts for a child, nil if there is nothing, and notes that the call wants its desired state.
// The caller holds the lock.
func (t *Table) get(call Call) *contest {
	c, ok := t.contests.Get(call.Child)
	switch {
	case !ok:
		return nil
	case c.isOver(call.Now):
		t.contests.Remove(call.Child)
		return nil
	}
	c.meet(call)
	return c
}
