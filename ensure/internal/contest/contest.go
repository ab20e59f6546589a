package contest

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	maxReverts = 5 // by others, within window
	window     = 2 * time.Minute

	maxStates  = 20 // of callers of this process, each replaced before it stood for shortLived
	shortLived = 5 * time.Second
	// fewStates are at most as many as different callers may want.
	fewStates = 3

	// firstWait is the wait without writes at the beginning of a contest. The wait doubles with each write that is lost again.
	firstWait   = 10 * time.Second
	longestWait = 5 * time.Minute
	// longest is how long after the last try a contest ends in any case.
	longest = 2 * longestWait

	// maxPaths bounds the paths that a contest names.
	maxPaths = 64
)

// A Generation is that of an owner; zero without one. A kind without generations has the same one until the owner is deleted.
type Generation struct {
	Owner  types.UID
	Number int64
}

// isAfter reports whether g is of another owner than other, or later; false without an owner.
func (g Generation) isAfter(other Generation) bool {
	return g.Owner != "" && (g.Owner != other.Owner || g.Number > other.Number)
}

// A contest counts the writes of a child that were lost. The contest is on once the wait is not zero.
type contest struct {
	owner   Generation // the latest that wanted the child
	digest  string     // of the desired state that others revert
	reverts []write    // within window
	version string     // of the answer that was counted last

	states     []write // of callers of this process, one after another, none of which stood for shortLived
	isDisputed bool    // the latest of states: a call wanted another one before it stood for shortLived

	betweenCallers bool   // the contest is about states
	rival          string // a field manager, AnotherCaller, or the field owner; empty if not known
	paths          []string

	wait   time.Duration // between two tries; zero while no contest is on
	paused time.Duration // the wait of a contest that may go on
	wrote  time.Time     // when a write was counted last
	tried  time.Time     // when a write was allowed last
}

// A write is one that counts.
type write struct {
	at     time.Time
	digest string
	paths  []string // that the write changed, as far as the writer saw
	rival  string   // that had changed the paths, for a revert; empty if not known
}

// isOver reports whether nothing counts any longer.
func (c *contest) isOver(now time.Time) bool {
	if c.wait+c.paused > 0 {
		return now.Sub(c.tried) >= longest
	}
	return now.Sub(c.wrote) >= window
}

// revert counts a write that reverted changes of a rival, and reports whether the child is contested.
func (c *contest) revert(digest string, paths []string, rival string, now time.Time) bool {
	c.wrote = now
	if c.wait > 0 {
		c.rival = cmp.Or(c.rival, rival) // the text has to stay the same
		c.prolong([]write{{paths: paths}}, now)
		return true
	}
	c.digest = digest
	c.expire(now)
	c.reverts = append(c.reverts, write{at: now, paths: paths, rival: rival})
	if len(c.reverts) < maxReverts {
		return false
	}
	c.betweenCallers, c.paused, c.paths, c.rival = false, 0, nil, rivalOf(c.reverts)
	c.prolong(c.reverts, now)
	return true
}

// expire forgets reverts that are too old to count.
func (c *contest) expire(now time.Time) {
	c.reverts = slices.DeleteFunc(c.reverts, func(w write) bool { return now.Sub(w.at) >= window })
}

// rivalOf returns the latest rival of reverts that is known.
func rivalOf(reverts []write) (rival string) {
	for _, revert := range reverts {
		rival = cmp.Or(revert.rival, rival)
	}
	return rival
}

// meet notes that a call wants a desired state. If the latest state stood for shortLived before a call wanted another one, that
// one counts as the first, and a contest between callers pauses.
func (c *contest) meet(digest string, now time.Time) {
	switch latest := c.latest(); {
	case latest == nil || latest.digest == digest || c.isDisputed:
	case now.Sub(latest.at) < shortLived:
		c.isDisputed = true
	default:
		c.states = nil
		if c.betweenCallers {
			c.pause()
		}
	}
}

// supersede counts a state that replaced another one, and reports whether the child is contested. fieldOwner is the rival if
// desired is not deterministic. A contest that paused goes on with a state that replaced one that did not stand.
func (c *contest) supersede(state write, fieldOwner string) bool {
	c.meet(state.digest, state.at)
	c.states, c.isDisputed, c.wrote = append(c.states, state), false, state.at
	if len(c.states) > maxStates {
		c.states = slices.Delete(c.states, 0, 1)
	}
	switch {
	case c.wait > 0, c.paused > 0 && len(c.states) > 1:
		c.prolong([]write{state}, state.at)
	case len(c.states) == maxStates:
		c.betweenCallers, c.rival = true, AnotherCaller
		if c.countStates() > fewStates {
			c.rival = fieldOwner
		}
		c.prolong(c.states, state.at)
	default:
		return false
	}
	return true
}

// latest returns the latest of states, nil if there is none.
func (c *contest) latest() *write {
	if len(c.states) == 0 {
		return nil
	}
	return &c.states[len(c.states)-1]
}

func (c *contest) countStates() int {
	digests := map[string]bool{}
	for _, state := range c.states {
		digests[state.digest] = true
	}
	return len(digests)
}

// hasWritten reports whether digest is that of one of states. For Absent, only the latest state counts: another program may
// have deleted the child since.
func (c *contest) hasWritten(digest string) bool {
	if digest == Absent {
		return c.latest() != nil && c.latest().digest == Absent
	}
	return slices.ContainsFunc(c.states, func(state write) bool { return state.digest == digest })
}

// pause ends the wait.
func (c *contest) pause() { c.wait, c.paused, c.isDisputed = 0, max(c.wait, c.paused), false }

// prolong begins the wait, or doubles the one so far, and adds the paths of lost writes to the contested ones.
func (c *contest) prolong(lost []write, now time.Time) {
	c.wait = min(max(2*c.wait, 2*c.paused, firstWait), longestWait)
	c.paused, c.tried = 0, now
	for _, write := range lost {
		for _, path := range write.paths {
			if !slices.Contains(c.paths, path) && len(c.paths) < maxPaths {
				c.paths = append(c.paths, path)
			}
		}
	}
}
