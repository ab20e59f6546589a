// Package backoff decides how long a call that failed is not sent again: until then, the call is
// answered with the error of the last attempt. The package sends no request.
package backoff

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/internal/lru"
)

const (
	// firstWait counts once per request that the call took. The wait doubles with each failure in a row.
	firstWait = 5 * time.Second
	// longestWait bounds all waits. The longest wait after a call of n requests is n+1 minutes, so
	// that there is less than one request a minute in the end.
	longestWait = 5 * time.Minute

	// freeRaces are the conflicts in a row after which a call is sent again at once.
	freeRaces = 2

	// maxChanges are how often a call may fail with other inputs than before, within window. Then the wait holds for all, until
	// a call succeeds.
	maxChanges = 20
	window     = 2 * time.Minute
)

// A Key identifies the calls that back off together: those of one function that writes, for one child
// on behalf of one owner.
type Key struct {
	Child memory.OwnedKey
	Call  string
}

// Inputs are what a call begins with. A call with other inputs than the one that failed does not wait, until too many failed.
type Inputs struct {
	Digest     string // of the desired state
	Allowed    any    // the writes that the caller allows: a comparable value
	Handover   string // the fields that change their owner
	Generation int64  // of the owner
	IsRead     bool
	UID        types.UID // of the live object; empty if there is none
}

// An Attempt is the last call that failed.
type Attempt struct {
	Err   error
	Count int // of failures in a row; zero if Err was found without a request

	inputs   Inputs
	at       time.Time
	isRace   bool
	wait     time.Duration
	changes  []time.Time // of the inputs, from one failure to the next, within window
	isForAll bool        // the wait holds for other inputs, too
}

// A Failure is a call that failed after it sent requests.
type Failure struct {
	Err      error
	Requests int
	IsRace   bool // the object was no longer the one that was read
}

// A Table holds the last failed attempt of each call. It is safe for concurrent use.
type Table struct {
	*lru.Table[Key, Attempt]

	mu sync.Mutex // guards changes that depend on a known attempt
}

// NewTable returns a table of at most the given number of attempts.
func NewTable(entries int) *Table {
	return &Table{Table: lru.New[Key, Attempt](entries)}
}

// Counts reports whether the attempt says how a call with these inputs ends: it had the same, or its wait holds for all. An
// attempt is forgotten in the end.
func (a Attempt) Counts(inputs Inputs, now time.Time) bool {
	if a.Err == nil || now.Sub(a.at) > a.wait+longestWait {
		return false
	}
	return a.inputs == inputs || a.isForAll
}

// Left returns how long the call is answered with this attempt.
func (a Attempt) Left(now time.Time) time.Duration { return a.at.Add(a.wait).Sub(now) }

// NoteRepeat notes an error that was found without a request, and reports whether it is the error of
// the last attempt.
func (t *Table) NoteRepeat(key Key, inputs Inputs, err error, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, _ := t.Get(key)
	if known.inputs != inputs && known.Left(now) > 0 {
		return false // another call waits
	}
	isSame := known.Counts(inputs, now) && known.Err.Error() == err.Error()
	if !isSame || known.Count > 0 {
		t.Set(key, Attempt{inputs: inputs, Err: err, at: now, changes: known.changes})
	}
	return isSame
}

// NoteFailure notes a failure, and returns how long to wait. before is the last attempt that was known when the call began;
// nil if there was none. A later one is that of another pass, which asked the same at the same time.
func (t *Table) NoteFailure(key Key, inputs Inputs, failure Failure, before *Attempt, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, ok := t.Get(key)
	counts := known.Counts(inputs, now)
	if counts && (before == nil || known.at.After(before.at)) {
		return known.wait
	}
	next := Attempt{
		inputs: inputs, Err: failure.Err, at: now, Count: 1, isRace: failure.IsRace, changes: recent(known.changes, now),
	}
	if ok && known.inputs != inputs {
		next.changes = append(next.changes, now)
	}
	if counts && known.isRace == next.isRace {
		next.Count += known.Count
	}
	next.isForAll = counts && known.isForAll || len(next.changes) >= maxChanges
	next.wait = failure.wait(next.Count)
	t.Set(key, next)
	return next.wait
}

// wait returns how long to wait after so many failures in a row.
func (f Failure) wait(count int) time.Duration {
	if f.IsRace {
		if count -= freeRaces; count <= 0 {
			return 0
		}
	}
	return min(times(f.Requests, firstWait)<<min(count-1, 16), times(f.Requests+1, time.Minute), longestWait)
}

// recent returns those of changes that count.
func recent(changes []time.Time, now time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(changes), func(at time.Time) bool { return now.Sub(at) >= window })
}

func times(n int, wait time.Duration) time.Duration { return time.Duration(n) * wait }
