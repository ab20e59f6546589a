package postgreswriter_test

import (
	"testing"

	"github.com/trueup-go/trueup/test/harness/longform"
)

// TestStatusOfOthers: somebody may write the status by hand.
func TestStatusOfOthers(t *testing.T) {
	t.Parallel()
	longform.Only(t)
	d := newDatabase(t, server, "students")
	f := newFixtureWithOwnOperator(t, d, "--tables=students", "--check-interval=1h", "--sync-period=2s")
	f.create(t)
	f.settle(t)
	tests.CheckStatus(t, f.named())
}
