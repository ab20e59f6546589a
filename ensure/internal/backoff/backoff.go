// Package backoff decides how long a call that failed is not sent again: until then, the call is
// answered with the error of the last attempt. The package sends no request.
package backoff

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/internal/lru"
)

// Each wait counts once per request that the call took, and doubles with each failure in a row.
const (
	firstWait = 5 * time.Second
	// busyWait is the first wait for a server that is busy or out of reach.
	busyWait = time.Second
	// longestWait bounds all waits. The longest wait after a call of n requests is n+1 minutes, so
	// that there is less than one request a minute in the end.
	longestWait = 5 * time.Minute
	// longestChanged is the longest wait once the content of the live object has changed.
	longestChanged = time.Minute
	// freeRaces are the races in a row that are tried again at once.
	freeRaces = 2
)

// A Key identifies the calls that back off together: those of one function that writes, for one child
// on behalf of one owner.
type Key struct {
	Child memory.OwnedKey
	Call  string
}

// Inputs decide, together with the content of the live object, how a call ends.
type Inputs struct {
	IsRead  bool
	UID     types.UID // of the live object; empty if there is none
	Digest  string    // of the desired state
	Options any       // that allow writes: a comparable value
	// Generation is that of the owner, when pruning.
	Generation int64
}

// An Attempt is the last call that failed.
type Attempt struct {
	Inputs Inputs
	Err    error
	Count  int // of failures in a row; zero if Err was found without a request

	content string
	at      time.Time
	isRace  bool
	wait    time.Duration // while the content of the live object is the same
	changed time.Duration // once the content has changed
}

// A Failure is a call that failed after it sent requests.
type Failure struct {
	Err      error
	Requests int
	Content  string // fingerprint of the live object; empty without an object, or if not known

	IsRace        bool // may be over as soon as the cache shows the object as it is
	IsTerminating bool // over once the object is deleted
	IsBusy        bool // the API server is busy or out of reach
	IsFinal       bool // another attempt fails as well, unless a person acts
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

// Counts reports whether the attempt was made with the same inputs, and is not too old.
func (a Attempt) Counts(inputs Inputs, now time.Time) bool {
	return a.Err != nil && a.Inputs == inputs && now.Sub(a.at) <= a.wait+longestWait
}

// Left returns how long the call is answered with this attempt. isContent reports whether the live
// object still has a content.
func (a Attempt) Left(isContent func(string) bool, now time.Time) time.Duration {
	wait := a.wait
	if wait > a.changed && !isContent(a.content) {
		wait = a.changed
	}
	return a.at.Add(wait).Sub(now)
}

// NoteRepeat notes an error that was found without a request, and reports whether it is the error of
// the last attempt.
func (t *Table) NoteRepeat(key Key, inputs Inputs, err error, now time.Time) bool {
	known, _ := t.Get(key)
	isSame := known.Counts(inputs, now) && known.Err.Error() == err.Error()
	if !isSame || known.Count > 0 {
		t.Set(key, Attempt{Inputs: inputs, Err: err, at: now})
	}
	return isSame
}

// NoteFailure notes a failure, and returns how long to wait. before is the last attempt that was
// known when the call began; nil if there was none. A later one is that of another pass, which asked
// the same at the same time.
func (t *Table) NoteFailure(key Key, inputs Inputs, failure Failure, before *Attempt, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, _ := t.Get(key)
	isSame := known.Counts(inputs, now)
	if isSame && (before == nil || known.at.After(before.at)) {
		return known.wait
	}
	next := Attempt{
		Inputs: inputs, content: failure.Content, Err: failure.Err, at: now, Count: 1, isRace: failure.IsRace,
	}
	if isSame && known.isRace == next.isRace {
		next.Count += known.Count
	}
	next.wait, next.changed = failure.waits(next.Count)
	t.Set(key, next)
	return next.wait
}

// waits returns how long to wait after so many failures in a row: while the content of the live
// object is the same, and once it has changed.
func (f Failure) waits(count int) (wait, changed time.Duration) {
	first, longest := times(f.Requests, firstWait), min(times(f.Requests+1, time.Minute), longestWait)
	switch {
	case f.IsRace:
		if count -= freeRaces; count <= 0 {
			return 0, 0
		}
	case f.IsTerminating:
		longest = longestChanged
	case f.IsBusy:
		first = times(f.Requests, busyWait)
	}
	doubled := first << min(count-1, 16)
	wait = longest
	if !f.IsFinal {
		wait = min(doubled, longest)
	}
	return wait, min(wait, doubled, longestChanged)
}

func times(n int, wait time.Duration) time.Duration { return time.Duration(n) * wait }
