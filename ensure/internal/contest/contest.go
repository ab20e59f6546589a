package contest

import (
	"cmp"
	"slices"
	"time"
)

// maxPaths bounds the paths that are counted for a child.
const maxPaths = 64

// A contest counts the reverts of one desired state of a child, and the desired states that callers
// of this process wrote. The contest is on once the wait is not zero.
type contest struct {
	digest   string                 // of the desired state that others revert
	reverted map[string][]time.Time // when each path was set back
	version  string                 // of the answer that was counted last
	rival    string
	asked    bool // the API server, for the rival

	states         []state    // that callers of this process wrote, the oldest first
	owner          Generation // the latest that wanted one of states
	betweenCallers bool       // the contest is about states

	wait   time.Duration // between two tries; zero while no contest is on
	paused time.Duration // the wait of a contest that may go on
	paths  []string      // that are contested
	wrote  time.Time     // when a field was set back last
	tried  time.Time     // when a write was allowed last
}

// isRecent forgets reverts and states that are too old to count, and reports whether any is left.
func (c *contest) isRecent(now time.Time) bool {
	for path, times := range c.reverted {
		c.reverted[path] = slices.DeleteFunc(times, func(at time.Time) bool { return now.Sub(at) >= window })
		if len(c.reverted[path]) == 0 {
			delete(c.reverted, path)
		}
	}
	c.states = slices.DeleteFunc(c.states, func(s state) bool { return now.Sub(s.at) >= window })
	return len(c.reverted)+len(c.states) > 0 || c.paused > 0 && now.Sub(c.tried) < longest
}

// count counts a revert of paths. One too many begins the contest, and each one during a contest
// prolongs the wait.
func (c *contest) count(paths []string, now time.Time) {
	if c.wait > 0 {
		c.prolong(paths, now)
		return
	}
	for _, path := range paths {
		if times, known := c.reverted[path]; known || len(c.reverted) < maxPaths {
			c.reverted[path] = append(times, now)
		}
	}
	contested := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return len(c.reverted[path]) < reverts })
	if len(contested) > 0 {
		c.prolong(contested, now)
	}
}

// pause ends the wait. The next state that is not kept resumes the contest.
func (c *contest) pause() { c.wait, c.paused = 0, c.wait }

// prolong begins the wait, or doubles the one so far, and adds paths to the contested ones.
func (c *contest) prolong(paths []string, now time.Time) {
	c.wait = min(max(2*c.wait, 2*c.paused, firstWait), longestWait)
	c.paused = 0
	c.wrote, c.tried = now, now
	for _, path := range paths {
		if !slices.Contains(c.paths, path) && len(c.paths) < maxPaths {
			c.paths = append(c.paths, path)
		}
	}
}

// name notes the rival. During a contest the first one that is known stays.
func (c *contest) name(rival string) {
	if c.wait == 0 {
		c.rival = cmp.Or(rival, c.rival)
	} else {
		c.rival = cmp.Or(c.rival, rival)
	}
}
