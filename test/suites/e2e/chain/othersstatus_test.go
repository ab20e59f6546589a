package chain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/examples/site/api/v1"
	"github.com/trueup-go/trueup/test/harness/longform"
)

// TestStatusOfOthers: a second instance of the Site's operator, without leader election, may write a status
// last and end.
func TestStatusOfOthers(t *testing.T) {
	longform.Only(t)
	require.NoError(t, define())
	f := newFixture(t, sites.StartWith(t, sites.Installed(t), "--sync-period=2s"), start(t, apps))
	f.create(t, v1.SiteSpec{AppVersion: "latest"})
	f.settle(t)
	sites.CheckStatus(t, f.site(t))
}
