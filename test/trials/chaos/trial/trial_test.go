package trial_test

import (
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/trials/chaos/trial"
)

// TestRun is a few seconds of chaos. Whether everything is at rest soon is for longer runs: an operator may wait for
// minutes after a refusal.
func TestRun(t *testing.T) {
	longform.Only(t)
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	plan := trial.New(1, 10, 4*time.Second)
	plan.Earlier, plan.Rest, plan.Quiet = false, time.Second, time.Second
	report, err := trial.Run(t.Context(), plan, t.Output())
	require.NoError(t, err)
	t.Logf("\n%s", report)
	require.Positive(t, report.Done)
	require.Positive(t, report.Marks)
	require.NotEmpty(t, report.Events)
	require.Empty(t, report.Lost)
	require.Empty(t, report.Unasked)
	require.Empty(t, report.Violations)
	require.Len(t, report.Operators(), 5)
}
