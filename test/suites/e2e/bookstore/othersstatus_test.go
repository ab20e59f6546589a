package bookstore_test

import (
	"testing"

	"github.com/trueup-go/trueup/test/harness/longform"
)

// TestStatusOfOthers: somebody may write the status by hand.
func TestStatusOfOthers(t *testing.T) {
	longform.Only(t)
	f := newFixture(t, startWith(t, installed(t), "--sync-period=2s"))
	tests.CheckStatus(t, f.named())
}
