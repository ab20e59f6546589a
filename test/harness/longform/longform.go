// Package longform has tests of the long form: make test-full runs them, make test does not.
package longform

import "testing"

// Only skips a test with -short.
func Only(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("only in the long form")
	}
}
