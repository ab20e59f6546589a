package faults_test

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/trials/soak/faults"
)

var seed = flag.Uint64("seed", 0, "repeats the run of that seed; 0 stands for a random one")

func TestNothingIsLostDoubledOrLeftBehind(t *testing.T) {
	log.SetLogger(logr.Discard())
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	report, err := faults.Run(t.Context(), faults.Short(*seed), t.Output())
	require.NoError(t, err)
	t.Logf("\n%s", report)
	require.NoError(t, report.Missed())
	for _, result := range report.Results {
		require.True(t, result.IsSkipped() || len(result.Happened) > 0, result.Trial)
	}
}
