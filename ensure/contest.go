package ensure

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/lru"
)

const (
	// A contest begins when the same was undone undoings times within contestWindow.
	undoings      = 5
	contestWindow = 2 * time.Minute
	// undonePaths bounds the paths that are counted for a child.
	undonePaths = 64

	// firstHold is how long nothing is written once a contest begins. It doubles with each
	// try that is undone again.
	firstHold   = 10 * time.Second
	longestHold = 5 * time.Minute
	// longestContest is how long after its last try any contest is over.
	longestContest = 2 * longestHold
	// leastWait is until something can be seen to have changed.
	leastWait = time.Second
)

// deletion is counted like a path. No field has this one.
const deletion = ""

// contests are what others undid lately, and what we changed ourselves. Losing an entry costs a
// few more writes.
type contests struct {
	mu    sync.Mutex
	table *lru.Cache // childKey to *contest, guarded by mu
	until time.Time  // nothing in the table counts any longer
}

// A contest is what others did to one desired state of a child, or what callers of one Ensurer
// did to each other's. It is on once it holds.
type contest struct {
	digest  string                 // of the desired state that others undo
	undone  map[string][]time.Time // when each path was put back
	version string                 // of the answer that was counted last
	rival   string
	asked   bool // who the rival is

	revisions []revision // of desired, the oldest first
	owner     generation // the latest that wanted one
	between   bool       // several desired states

	hold  time.Duration // 0: not on
	paths []string      // what is contested
	wrote time.Time     // when we last put something back
	tried time.Time     // when we last asked the server to
}

func newContests(entries int) *contests { return &contests{table: lru.New(entries)} }

// of returns what is known of a child and this desired state, nil if nothing. A contest over
// another desired state ends here, and one between several with the next generation of the
// owner. The lock is held.
func (t *contests) of(key childKey, wanted intent, now time.Time) *contest {
	value, _ := t.table.Get(key)
	found, ok := value.(*contest)
	switch {
	case !ok:
		return nil
	case found.hold > 0 && now.Sub(found.tried) >= longestContest, found.between && wanted.owner.isAfter(found.owner):
		t.table.Remove(key)
		return nil
	case !found.between && found.digest != wanted.digest:
		*found = contest{digest: wanted.digest, undone: map[string][]time.Time{}, revisions: found.revisions, owner: found.owner}
	}
	return found
}

// begun is as of, and makes what is not known yet. The lock is held.
func (t *contests) begun(key childKey, wanted intent, now time.Time) *contest {
	found := t.of(key, wanted, now)
	if found == nil || found.hold == 0 && !found.isRecent(now) {
		found = &contest{digest: wanted.digest, undone: map[string][]time.Time{}}
		t.table.Add(key, found)
	}
	t.until = now.Add(longestContest)
	return found
}

// asksWho reports whether the server is to be asked who the rival is, before a write that
// may begin a contest. It says so once.
func (t *contests) asksWho(key childKey, wanted intent, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.of(key, wanted, now)
	if found == nil || found.asked || found.rival != "" || found.hold == 0 && !found.isRecent(now) {
		return false
	}
	for path, times := range found.undone {
		found.asked = found.asked || path != deletion && len(times) >= undoings-1
	}
	return found.asked
}

// isRecent forgets what is too long ago to count, and reports whether anything is left.
func (s *contest) isRecent(now time.Time) bool {
	for path, times := range s.undone {
		s.undone[path] = slices.DeleteFunc(times, func(at time.Time) bool { return now.Sub(at) >= contestWindow })
		if len(s.undone[path]) == 0 {
			delete(s.undone, path)
		}
	}
	s.revisions = slices.DeleteFunc(s.revisions, func(revision revision) bool { return now.Sub(revision.at) >= contestWindow })
	return len(s.undone)+len(s.revisions) > 0
}

// count notes that paths were put back. The one too many begins the contest, and each one
// after that prolongs it.
func (s *contest) count(paths []string, now time.Time) (begins bool) {
	if s.hold > 0 {
		s.prolong(paths, now)
		return false
	}
	for _, path := range paths {
		if times, known := s.undone[path]; known || len(s.undone) < undonePaths {
			s.undone[path] = append(times, now)
		}
	}
	contested := slices.DeleteFunc(paths, func(path string) bool { return len(s.undone[path]) < undoings })
	if len(contested) == 0 {
		return false
	}
	s.prolong(contested, now)
	return true
}

// prolong doubles the hold, or begins it.
func (s *contest) prolong(paths []string, now time.Time) {
	s.hold = min(max(2*s.hold, firstHold), longestHold)
	s.wrote, s.tried = now, now
	s.add(paths)
}

// name notes who the rival is. During a contest the first that is known stays.
func (s *contest) name(rival string) {
	if s.hold == 0 {
		s.rival = cmp.Or(rival, s.rival)
	} else {
		s.rival = cmp.Or(s.rival, rival)
	}
}

func (s *contest) add(paths []string) {
	for _, path := range paths {
		if !slices.Contains(s.paths, path) && len(s.paths) < undonePaths {
			s.paths = append(s.paths, path)
		}
	}
}
