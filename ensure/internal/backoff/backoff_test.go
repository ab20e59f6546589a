package backoff_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/ensure/internal/backoff"
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// A call that fails again as soon as it may be sent again waits for so many seconds each time.
func TestWaits(t *testing.T) {
	cases := map[string]struct {
		reason   string
		requests int
		seconds  []int
	}{
		"a call of one request":   {"the wait doubles, to less than one request a minute", 1, []int{5, 10, 20, 40, 80, 120, 120}},
		"a call of two requests":  {"each request counts", 2, []int{10, 20, 40, 80, 160, 180, 180}},
		"a call of many requests": {"no wait is longer than five minutes", 9, []int{45, 90, 180, 300, 300}},
		"a call of a hundred":     {"the first wait is none either", 100, []int{300, 300}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			table, now := backoff.NewTable(1), start
			for i, seconds := range tc.seconds {
				wait := time.Duration(seconds) * time.Second
				before, _ := table.Get(backoff.Key{})
				require.Equal(t, wait, table.NoteFailure(backoff.Key{}, v1, backoff.Failure{Err: errRefused, Requests: tc.requests}, &before, now), "%s: %d", tc.reason, i)
				known, _ := table.Get(backoff.Key{})
				require.Equal(t, wait, known.Left(now))
				now = now.Add(wait)
			}
		})
	}
}

var (
	v1, v2     = backoff.Inputs{Digest: "v1"}, backoff.Inputs{Digest: "v2"}
	errRefused = errors.New("refused")
)

// fail notes a failed call of one request, and returns its wait.
func fail(table *backoff.Table, in backoff.Inputs, before *backoff.Attempt, at time.Time) time.Duration {
	return table.NoteFailure(backoff.Key{}, in, backoff.Failure{Err: errRefused, Requests: 1}, before, at)
}

func TestAnAttemptCountsForTheSameInputs(t *testing.T) {
	table := backoff.NewTable(1)
	fail(table, v1, nil, start)
	known, ok := table.Get(backoff.Key{})
	require.True(t, ok)
	require.True(t, known.Counts(v1, start))
	require.False(t, known.Counts(v2, start), "desired changed")
	require.True(t, known.Counts(v1, start.Add(5*time.Minute)))
	require.False(t, known.Counts(v1, start.Add(6*time.Minute)), "it is too old")
	require.False(t, backoff.Attempt{}.Counts(backoff.Inputs{}, time.Time{}), "there is none")
	require.Equal(t, 5*time.Second, fail(table, v2, &known, start.Add(5*time.Second)), "other inputs start anew")
}

// A call that fails with other inputs each time waits, too, after so many.
func TestTooManyChangesOfInputs(t *testing.T) {
	table, now := backoff.NewTable(1), start
	next := func() (backoff.Attempt, backoff.Inputs) {
		known, _ := table.Get(backoff.Key{})
		return known, backoff.Inputs{Digest: strconv.Itoa(int(now.Sub(start)))}
	}
	for range 21 {
		known, in := next()
		require.False(t, known.Counts(in, now))
		require.Equal(t, 5*time.Second, fail(table, in, &known, now))
		now = now.Add(time.Second)
	}
	for _, seconds := range []int{10, 20, 40} {
		known, in := next()
		require.True(t, known.Counts(in, now), "20 changes within two minutes")
		now = now.Add(known.Left(now))
		require.Equal(t, time.Duration(seconds)*time.Second, fail(table, in, &known, now))
	}
	known, in := next()
	require.True(t, known.Counts(in, now.Add(4*time.Minute)), "until a call succeeds")
	require.False(t, known.Counts(in, now.Add(time.Hour)), "it is too old")
}

// An error that is found without a request ends no wait of another call.
func TestARepeatKeepsTheWaitOfAnotherCall(t *testing.T) {
	table := backoff.NewTable(1)
	fail(table, v1, nil, start)
	require.False(t, table.NoteRepeat(backoff.Key{}, v2, errors.New("foreign"), start.Add(time.Second)))
	known, _ := table.Get(backoff.Key{})
	require.True(t, known.Counts(v1, start.Add(time.Second)))
	require.Equal(t, 4*time.Second, known.Left(start.Add(time.Second)))
}

// The first two conflicts in a row are no reason to wait: the cache is about to show why.
func TestConflicts(t *testing.T) {
	table := backoff.NewTable(1)
	before := backoff.Attempt{}
	for range 3 {
		fail(table, v1, &before, start)
		before, _ = table.Get(backoff.Key{})
	}
	for _, seconds := range []int{0, 0, 5, 10, 20} {
		before, _ = table.Get(backoff.Key{})
		wait := table.NoteFailure(backoff.Key{}, v1, backoff.Failure{Err: errRefused, Requests: 1, IsRace: true}, &before, start)
		require.Equal(t, time.Duration(seconds)*time.Second, wait)
	}
}

func TestPassesThatFailAtTheSameTimeCountOnce(t *testing.T) {
	table := backoff.NewTable(1)
	require.Equal(t, 5*time.Second, fail(table, v1, nil, start))
	require.Equal(t, 5*time.Second, fail(table, v1, nil, start.Add(time.Second)))
	known, _ := table.Get(backoff.Key{})
	require.Equal(t, 1, known.Count)
}

// An error that is found without a request is logged once.
func TestRepeat(t *testing.T) {
	table := backoff.NewTable(1)
	foreign := errors.New("foreign")
	require.False(t, table.NoteRepeat(backoff.Key{}, v1, foreign, start))
	require.True(t, table.NoteRepeat(backoff.Key{}, v1, foreign, start))
	require.False(t, table.NoteRepeat(backoff.Key{}, v1, errors.New("hidden"), start))
	before, _ := table.Get(backoff.Key{})
	fail(table, v1, &before, start.Add(time.Second))
	require.True(t, table.NoteRepeat(backoff.Key{}, v1, errRefused, start.Add(time.Minute)))
	known, _ := table.Get(backoff.Key{})
	require.Zero(t, known.Count, "what follows is no failure in a row")
	require.LessOrEqual(t, known.Left(start.Add(time.Minute)), time.Duration(0))
}
