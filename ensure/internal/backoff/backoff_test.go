package backoff_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/ensure/internal/backoff"
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// A call that fails again as soon as it may be sent again waits for so many seconds each time.
func TestWaits(t *testing.T) {
	cases := map[string]struct {
		reason  string
		failure backoff.Failure
		seconds []int
		changed []int // once the content of the live object has changed
	}{
		"a call of one request": {
			"the wait doubles, to less than one request a minute",
			backoff.Failure{Requests: 1},
			[]int{5, 10, 20, 40, 80, 120, 120},
			[]int{5, 10, 20, 40, 60, 60, 60},
		},
		"a call of two requests": {
			"each request counts", backoff.Failure{Requests: 2}, []int{10, 20, 40, 80, 160, 180}, []int{10, 20, 40, 60, 60, 60},
		},
		"a call of many requests": {
			"no wait is longer than five minutes", backoff.Failure{Requests: 9}, []int{45, 90, 180, 300, 300}, []int{45, 60, 60, 60, 60},
		},
		"a busy server": {
			"it may be back soon",
			backoff.Failure{Requests: 1, IsBusy: true},
			[]int{1, 2, 4, 8, 16, 32, 64, 120},
			[]int{1, 2, 4, 8, 16, 32, 60, 60},
		},
		"a race": {
			"two are tried again at once, as the cache is about to show why",
			backoff.Failure{Requests: 1, IsRace: true},
			[]int{0, 0, 5, 10, 20},
			[]int{0, 0, 5, 10, 20},
		},
		"a deletion": {
			"it ends by itself", backoff.Failure{Requests: 1, IsTerminating: true}, []int{5, 10, 20, 40, 60, 60}, []int{5, 10, 20, 40, 60, 60},
		},
		"a final refusal": {
			"only a user can end it", backoff.Failure{Requests: 2, IsFinal: true}, []int{180, 180}, []int{10, 20},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			table, now := backoff.NewTable(1), start
			failure := tc.failure
			failure.Err = errors.New("refused")
			for i, seconds := range tc.seconds {
				wait := time.Duration(seconds) * time.Second
				before, _ := table.Get(backoff.Key{})
				require.Equal(t, wait, table.NoteFailure(backoff.Key{}, v1, failure, &before, now), "%s: %d", tc.reason, i)
				known, _ := table.Get(backoff.Key{})
				require.Equal(t, wait, known.Left(is(true), now))
				require.Equal(t, time.Duration(tc.changed[i])*time.Second, known.Left(is(false), now), "%s: %d", tc.reason, i)
				now = now.Add(max(wait, time.Millisecond))
			}
		})
	}
}

var v1, v2 = backoff.Inputs{Digest: "v1"}, backoff.Inputs{Digest: "v2"}

func is(same bool) func(string) bool { return func(string) bool { return same } }

// fail notes a failed call of one request at start, and returns its wait.
func fail(table *backoff.Table, asked backoff.Inputs, before *backoff.Attempt, at time.Time) time.Duration {
	return table.NoteFailure(backoff.Key{}, asked, backoff.Failure{Err: errors.New("refused"), Requests: 1}, before, at)
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
	require.True(t, table.NoteRepeat(backoff.Key{}, v1, errors.New("refused"), start.Add(time.Minute)))
	known, _ := table.Get(backoff.Key{})
	require.Zero(t, known.Count, "what follows is no failure in a row")
	require.LessOrEqual(t, known.Left(is(true), start.Add(time.Minute)), time.Duration(0))
}
