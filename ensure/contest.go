package ensure

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/lru"
)

const (
	// A contest begins when the same was undone undoings times within undoingWindow.
	undoings      = 5
	undoingWindow = 2 * time.Minute
	// undonePaths bounds the paths that are counted for a child.
	undonePaths = 64

	// firstHold is how long nothing is written once a contest begins. It doubles with each
	// try that is undone again.
	firstHold   = 10 * time.Second
	longestHold = 5 * time.Minute
	// leastWait is until something can be seen to have changed.
	leastWait = time.Second
)

// deletion is counted like a path. No field has this one.
const deletion = ""

// contests are what others undid lately. Losing an entry costs a few more writes.
type contests struct {
	mu    sync.Mutex
	table *lru.Cache // childKey to *contest, guarded by mu
}

// A contest is what others did to one desired state of a child. It is on once it holds.
type contest struct {
	digest  string                 // of the desired state
	undone  map[string][]time.Time // when each path was put back
	version string                 // of the answer that was counted last
	rival   string
	asked   bool // who the rival is

	hold  time.Duration // 0: not on
	paths []string      // what is contested
	wrote time.Time     // when we last put something back
	tried time.Time     // when we last asked the server to
}

func newContests(entries int) *contests { return &contests{table: lru.New(entries)} }

// of returns what is known of a child and this desired state, nil if nothing. A contest
// over another desired state ends here. The lock is held.
func (t *contests) of(key childKey, digest string) *contest {
	value, _ := t.table.Get(key)
	found, ok := value.(*contest)
	switch {
	case !ok:
		return nil
	case found.digest != digest:
		t.table.Remove(key)
		return nil
	}
	return found
}

// begun is as of, and makes what is not known yet. The lock is held.
func (t *contests) begun(key childKey, digest string, now time.Time) *contest {
	found := t.of(key, digest)
	if found == nil || found.hold == 0 && !found.isRecent(now) {
		found = &contest{digest: digest, undone: map[string][]time.Time{}}
		t.table.Add(key, found)
	}
	return found
}

// forget is for a child that is no longer wanted.
func (t *contests) forget(key childKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.table.Remove(key)
}

// asksWho reports whether the server is to be asked who the rival is, before a write that
// may begin a contest. It says so once.
func (t *contests) asksWho(key childKey, digest string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.of(key, digest)
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
		s.undone[path] = slices.DeleteFunc(times, func(at time.Time) bool { return now.Sub(at) >= undoingWindow })
		if len(s.undone[path]) == 0 {
			delete(s.undone, path)
		}
	}
	return len(s.undone) > 0
}

// count notes that paths were put back. The one too many begins the contest, and each one
// after that prolongs it.
func (s *contest) count(paths []string, now time.Time) (begins bool) {
	if s.hold > 0 {
		s.hold = min(2*s.hold, longestHold)
		s.wrote, s.tried = now, now
		s.add(paths)
		return false
	}
	for _, path := range paths {
		if times, known := s.undone[path]; known || len(s.undone) < undonePaths {
			s.undone[path] = append(times, now)
		}
	}
	s.add(slices.DeleteFunc(paths, func(path string) bool { return len(s.undone[path]) < undoings }))
	if len(s.paths) == 0 {
		return false
	}
	s.hold, s.wrote, s.tried = firstHold, now, now
	return true
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
