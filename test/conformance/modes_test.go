package conformance_test

import (
	"strconv"
	"testing"
)

// inEveryMode checks each of the kinds with every sort of client, each in a bench of
// its own.
func inEveryMode(t *testing.T, kinds []subject, check func(*bench)) {
	t.Helper()
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			a := m.open(t)
			for _, s := range kinds {
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					check(newBench(t, a, s))
				})
			}
		})
	}
}

// inTurn checks the first of the kinds with every sort of client, and the others, which
// differ from it in little, with one each.
func inTurn(t *testing.T, kinds []subject, check func(*bench)) {
	t.Helper()
	for turn, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			a := m.open(t)
			for i, s := range kinds {
				if i > 0 && i%len(modes) != turn {
					continue
				}
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					check(newBench(t, a, s))
				})
			}
		})
	}
}

func text(n int32) string { return strconv.Itoa(int(n)) }
