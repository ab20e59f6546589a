package application_test

import "testing"

// TestStatusOfOthers: a second instance, without leader election, may write a status last and end.
func TestStatusOfOthers(t *testing.T) {
	f := newFixture(t, startWith(t, installed(t), "--sync-period=2s"))
	tests.CheckStatus(t, f.named())
}
