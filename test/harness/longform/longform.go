// Package longform has tests of the long form: make test-full runs them, make test does not.
package longform

import (
	"flag"
	"testing"
)

// Main runs the tests of a package, and none with -short. It returns the exit code.
func Main(run func() int) int {
	flag.Parse()
	if testing.Short() {
		return 0
	}
	return run()
}

// Only skips a test with -short.
func Only(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("only in the long form")
	}
}
