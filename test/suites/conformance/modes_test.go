package conformance_test

import (
	"strconv"
	"testing"

	"github.com/trueup-go/trueup/test/harness/page"
)

// A modeFilter reports whether case i is tried with the mode whose index is turn.
type modeFilter func(i, turn int) bool

// everyMode tries every case with every sort of client; with -short, each with one.
func everyMode(i, turn int) bool { return !testing.Short() || inTurn(i, turn) }

// inTurn tries every case with one sort of client.
func inTurn(i, turn int) bool { return i%len(modes) == turn }

// firstInEveryMode tests the first case with every sort of client, and the other, similar cases
// with one. With -short, every case is tested with one.
func firstInEveryMode(i, turn int) bool { return i == 0 && !testing.Short() || inTurn(i, turn) }

// firstAndLastMode tries every case with the first and the last sort of client; with
// -short, each with one of them.
func firstAndLastMode(i, turn int) bool {
	if turn != 0 && turn != len(modes)-1 {
		return false
	}
	return !testing.Short() || (i%2 == 0) == (turn == 0)
}

// some returns all cases. With -short, it returns a third of them, and which third depends on the test; a column of
// docs/versions.md has all.
func some[T any](t *testing.T, cases []T) []T {
	t.Helper()
	if !testing.Short() || page.Updating() {
		return cases
	}
	var third []T
	for i := len(t.Name()) % 3; i < len(cases); i += 3 {
		third = append(third, cases[i])
	}
	return third
}

// inModes runs check, in parallel, for each case and each sort of client in the schedule.
func inModes[T any](t *testing.T, cases []T, name func(T) string, tried modeFilter, check func(*testing.T, access, T)) {
	t.Helper()
	for turn, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			var taken []T
			for i, c := range cases {
				if tried(i, turn) {
					taken = append(taken, c)
				}
			}
			if len(taken) == 0 {
				return
			}
			a := m.open(t)
			for _, c := range taken {
				t.Run(name(c), func(t *testing.T) {
					t.Parallel()
					check(t, a, c)
				})
			}
		})
	}
}

// forEachFixture is inModes for kinds, each in its own fixture.
func forEachFixture(t *testing.T, kinds []kindCase, tried modeFilter, check func(*fixture)) {
	t.Helper()
	inModes(t, kinds, kindCase.title, tried, func(t *testing.T, a access, k kindCase) { check(newFixture(t, a, k)) })
}

func (k kindCase) title() string { return k.name }

func text(n int32) string { return strconv.Itoa(int(n)) }
