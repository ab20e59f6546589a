package contest

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A change of desired is no contest, unless two callers supersede each other's desired state, or
// desired is another in each call. The return of a desired state is counted if the superseded state
// was not kept: that state stood for less than shortLived, and no call asked for it again after
// repeatedAfter. Different states are counted since the last one that was kept. A new generation of
// the owner is a reason for another desired state: only states of one generation are counted
// together.
const (
	// returns of a state within window begin a contest.
	returns = 5
	// maxDifferent different states within window begin a contest.
	maxDifferent = 20
	// fewStates are at most as many as different callers may want.
	fewStates = 3

	shortLived = 5 * time.Second
	// repeatedAfter is long enough for a time in seconds to be another.
	repeatedAfter = 2 * time.Second

	// maxStates bounds the states that are remembered of a child.
	maxStates = 48
)

// AnotherCaller is the rival of a caller that shares its process with another.
const AnotherCaller = "another caller in this process"

// Absent is the digest of a child that is to be absent.
const Absent = ""

// Wanted is the desired state that a call wants, and the generation of the owner that wants it.
type Wanted struct {
	Digest string
	Owner  Generation
}

// A Generation is that of an owner; zero without one. A kind without generations has the same one
// until the owner is deleted.
type Generation struct {
	Owner  types.UID
	Number int64
}

// isAfter reports whether g is of another owner than other, or later; false without an owner.
func (g Generation) isAfter(other Generation) bool {
	return g.Owner != "" && (g.Owner != other.Owner || g.Number > other.Number)
}

// A state is a desired state that superseded another one on the API server.
type state struct {
	wanted     Wanted
	at         time.Time
	paths      []string // that differed from the superseded state, as far as the writer saw
	kept       bool     // stood long enough, or was asked for again
	returns    bool     // superseded a state that was not kept, and had been written before
	challenged bool     // a call wanted another state while this one was held
}

// supersede notes a state. After one state too many, supersede returns the rival: another caller or,
// if desired is never the same, the field owner itself. In a pause, one state that is not kept is too many.
func (c *contest) supersede(wanted Wanted, paths []string, now time.Time, fieldOwner string) (rival string) {
	if wanted.Owner.isAfter(c.owner) {
		c.owner = wanted.Owner
	}
	next, resumes := state{wanted: wanted, at: now, paths: paths}, false
	switch last := c.current(); {
	case last == nil:
	case last.wanted.Digest == wanted.Digest: // another pass has noted it
		return ""
	default:
		last.kept = last.kept || now.Sub(last.at) >= shortLived
		resumes = c.paused > 0 && !last.kept
		next.returns = !last.kept && last.wanted.Digest != Absent &&
			slices.ContainsFunc(c.states, func(s state) bool { return s.wanted == wanted })
	}
	if len(c.states) == maxStates {
		c.states = slices.Delete(c.states, 0, 1)
	}
	c.states = append(c.states, next)
	different := c.countDifferent()
	switch {
	case resumes:
		return c.rival
	case different >= maxDifferent, c.countReturns() >= returns && different > fewStates:
		return fieldOwner
	case c.countReturns() >= returns:
		return AnotherCaller
	}
	return ""
}

// current returns the latest state, nil if there is none.
func (c *contest) current() *state {
	if len(c.states) == 0 {
		return nil
	}
	return &c.states[len(c.states)-1]
}

// latestPaths returns the paths of the latest state for which they are known.
func (c *contest) latestPaths() []string {
	for _, s := range slices.Backward(c.states) {
		if len(s.paths) > 0 {
			return s.paths
		}
	}
	return nil
}

func (c *contest) countReturns() (count int) {
	for _, s := range c.states {
		if s.returns {
			count++
		}
	}
	return count
}

// countDifferent counts the states that the current generation wanted since the last one that was
// kept.
func (c *contest) countDifferent() int {
	digests := map[string]bool{}
	for _, s := range slices.Backward(c.states) {
		if s.kept {
			break
		}
		if s.wanted.Owner == c.current().wanted.Owner {
			digests[s.wanted.Digest] = true
		}
	}
	return len(digests)
}

// repeat notes that a call wants a desired state.
func (c *contest) repeat(digest string, now time.Time) {
	if last := c.current(); last != nil && last.wanted.Digest == digest && now.Sub(last.at) >= repeatedAfter {
		last.kept = true
	}
}

// hasStood notes that a call wants a desired state during a contest between callers, and reports whether
// no call wanted another state for long enough after the last write. Only the first call that does shows
// that.
func (c *contest) hasStood(digest string, now time.Time) bool {
	last := c.current()
	if !c.betweenCallers || last == nil || last.challenged || last.wanted.Digest == digest {
		return false
	}
	last.challenged = true
	return now.Sub(last.at) >= shortLived
}

// hasWritten reports whether digest is that of a state written lately. For Absent, only the latest
// state counts: another program may have deleted the child since.
func (c *contest) hasWritten(digest string) bool {
	if digest == Absent {
		return c.current() != nil && c.current().wanted.Digest == Absent
	}
	return slices.ContainsFunc(c.states, func(s state) bool { return s.wanted.Digest == digest })
}
