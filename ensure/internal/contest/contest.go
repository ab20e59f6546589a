package contest

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	maxReverts = 5  // of one desired state, within window
	maxStates  = 20 // of which all but the last were lost, within window
	window     = 2 * time.Minute
	shortLived = 5 * time.Second
	// fewStates are at most as many as different callers may want.
	fewStates = 3

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

// A contest counts the writes of a child that were lost.
type contest struct {
	owner Generation // that wants the child

	digest     string    // of the desired state that was written last
	wrote      time.Time // when it was
	isDisputed bool      // a call wanted another state before this one stood for shortLived
	version    string    // of the answer that was counted last
	losses     []loss

	betweenCallers bool   // the contest is about states
	rival          string // a field manager, AnotherCaller, or the field owner; empty if not known
	paths          []string
	wait           time.Duration // between two tries; zero before there is a contest
	tried          time.Time     // when a write was allowed last
	rests          bool          // a write stood
}

// A loss is a write that was lost.
type loss struct {
	at      time.Time
	digest  string   // of the state that was lost to another one
	isState bool     // it was lost to another state of this process
	rival   string   // that reverted it; empty if not known
	paths   []string // that differed, as far as the writer saw
}

func (c *contest) isOn() bool { return c.wait > 0 && !c.rests }

// isOver reports whether nothing counts any longer.
func (c *contest) isOver(now time.Time) bool {
	if c.wait == 0 {
		return now.Sub(c.wrote) >= window
	}
	return now.Sub(c.tried) >= longest
}

// meet notes that a call wants a desired state. What happened to another one, or for another generation of the owner, does not
// count for it.
func (c *contest) meet(call Call) {
	if call.Owner.isAfter(c.owner) {
		c.owner, c.losses, c.wrote, c.isDisputed, c.rests = call.Owner, nil, time.Time{}, false, true
	}
	if call.Digest == c.digest {
		return
	}
	c.losses = slices.DeleteFunc(c.losses, func(l loss) bool { return !l.isState })
	if call.Now.Sub(c.wrote) < shortLived {
		c.isDisputed = true
	}
	c.rests = c.rests || !c.isDisputed || !c.betweenCallers
}

// note notes a write. One that passes at the same time got an answer about counts once.
func (c *contest) note(call Call, write Write) {
	switch {
	case !write.IsState && (write.Version == "" || write.Version != c.version):
		c.lose(loss{at: call.Now, rival: write.Rival, paths: write.Paths}, "")
	case write.IsState && c.digest == call.Digest && !c.wrote.IsZero():
		if call.Digest != Absent {
			return
		}
		c.lose(loss{at: call.Now, paths: []string{Deletion}}, "") // others have made the child since
	case write.IsState && c.isDisputed:
		c.lose(loss{at: call.Now, digest: c.digest, isState: true, rival: AnotherCaller, paths: write.Paths}, write.Rival)
	}
	c.version, c.digest, c.wrote, c.isDisputed = write.Version, call.Digest, call.Now, false
}

// lose counts a loss. One too many begins the contest, and each one after that doubles the wait. many is the rival if that
// many desired states were lost that different callers cannot have wanted them.
func (c *contest) lose(lost loss, many string) {
	c.losses = slices.DeleteFunc(append(c.losses, lost), func(l loss) bool { return lost.at.Sub(l.at) >= window })
	alike := []loss{lost}
	if !c.isOn() && (c.wait == 0 || c.betweenCallers != lost.isState) {
		alike = c.within(lost.at, lost.isState)
		if lost.isState && len(alike)+1 < maxStates || !lost.isState && len(alike) < maxReverts {
			return
		}
		c.betweenCallers, c.paths, c.rival = lost.isState, nil, rivalOf(alike)
		if lost.isState && countStates(alike) > fewStates {
			c.rival = many
		}
	}
	c.rival = cmp.Or(c.rival, lost.rival) // the text has to stay the same
	c.wait, c.tried, c.rests = min(max(2*c.wait, firstWait), longestWait), lost.at, false
	for _, one := range alike {
		for _, path := range one.paths {
			if !slices.Contains(c.paths, path) && len(c.paths) < maxPaths {
				c.paths = append(c.paths, path)
			}
		}
	}
}

// within returns the losses that are not too old to count, and that were lost to states, or to others.
func (c *contest) within(now time.Time, toStates bool) []loss {
	isOut := func(l loss) bool { return now.Sub(l.at) >= window || l.isState != toStates }
	return slices.DeleteFunc(slices.Clone(c.losses), isOut)
}

// rivalOf returns the latest rival of losses that is known.
func rivalOf(losses []loss) (rival string) {
	for _, lost := range losses {
		rival = cmp.Or(lost.rival, rival)
	}
	return rival
}

func countStates(losses []loss) int {
	digests := map[string]bool{}
	for _, lost := range losses {
		digests[lost.digest] = true
	}
	return len(digests)
}
