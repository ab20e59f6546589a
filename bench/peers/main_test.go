package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/bench/internal/contest"
	"github.com/trueup-go/trueup/bench/internal/replay"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/longform"
)

var shared *cluster.Cluster

var sharedEnvironment = sync.OnceValues(func() (*environment, error) {
	return newEnvironment(context.Background(), shared)
})

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	flag.Parse()
	if testing.Short() { // all that needs a cluster is in the long form
		os.Exit(m.Run())
	}
	os.Exit(cluster.Main(m, &shared))
}

// TestMeasure measures each contestant with a few children, and writes the page and the plots. Requests do not
// depend on the machine.
func TestMeasure(t *testing.T) {
	longform.Only(t)
	e, err := sharedEnvironment()
	require.NoError(t, err)
	few := comparedSize{Children: 8}
	for _, contestant := range contestants() {
		t.Run(contestant.name, func(t *testing.T) {
			r, err := e.measure(t.Context(), contestant, few.Children)
			require.NoError(t, err)
			few.Results = append(few.Results, r)
			require.Empty(t, r.Drifted)
			for _, step := range r.Steps {
				require.Positive(t, step.Allocations, step.Name)
				require.GreaterOrEqual(t, step.P99, step.P50, step.Name)
			}
			require.InDelta(t, 1, r.Steps[0].Writes, 0.001)
			require.GreaterOrEqual(t, r.Steps[0].EtcdWrites, 1.0)
		})
	}
	requireFewestRequests(t, few.Results[0])

	c := comparison{Sizes: []comparedSize{few}, Burst: burst{Rates: []rate{{"trueup", 1}}}}
	var out bytes.Buffer
	require.NoError(t, page{comparison: c, Machine: thisMachine()}.write(&out))
	for _, contestant := range contestants() {
		require.Contains(t, out.String(), "| "+contestant.name+" |")
	}
	folder := t.TempDir()
	require.NoError(t, c.plot(folder))
	plots, err := filepath.Glob(filepath.Join(folder, "*.svg"))
	require.NoError(t, err)
	require.Len(t, plots, 3*len(themes))
}

// requireFewestRequests checks that trueup sends no request that is not needed.
func requireFewestRequests(t *testing.T, trueup result) {
	t.Helper()
	require.Empty(t, trueup.Lost)
	for _, step := range trueup.Steps {
		switch step.Name {
		case "nothing to do", "a status changed", "restart":
			require.Zero(t, step.Requests(), step.Name)
		default:
			require.InDelta(t, 1, step.Writes, 0.001, step.Name)
		}
	}
}

// TestRecord records what bench replays, and replays that.
func TestRecord(t *testing.T) {
	longform.Only(t)
	e, err := sharedEnvironment()
	require.NoError(t, err)
	folder := t.TempDir()
	require.NoError(t, e.record(t.Context(), folder))
	for _, c := range contest.Contestants() {
		for _, child := range contest.Children() {
			r, err := replay.Open(t.Context(), os.DirFS(folder), c, child, nil)
			require.NoError(t, err)
			for _, step := range replay.Steps() {
				pass, err := r.Prepare(t.Context(), step)
				require.NoError(t, err)
				require.NoError(t, pass(), "%s, %s, %s", c.Name, child.Kind.Kind, step)
			}
		}
	}
}

// TestBurst has all contestants take turns.
func TestBurst(t *testing.T) {
	longform.Only(t)
	e, err := sharedEnvironment()
	require.NoError(t, err)
	times := make([][]time.Duration, len(contestants()))
	for round := range 2 {
		require.NoError(t, e.burstOfEach(t.Context(), 2, round, times))
	}
	for i, c := range contestants() {
		require.Len(t, times[i], 2, c.name)
		require.Positive(t, slices.Min(times[i]), c.name)
	}
}

func TestMedian(t *testing.T) {
	require.Equal(t, 2*time.Second, median([]time.Duration{3 * time.Second, time.Second, 2 * time.Second}))
	require.Equal(t, 3*time.Second, median([]time.Duration{9 * time.Second, time.Second, 4 * time.Second, 2 * time.Second}))
}

func TestAhead(t *testing.T) {
	of := func(name string, c cost) result { return result{Name: name, Steps: []step{{"create", c}}} }
	c := comparison{Sizes: []comparedSize{{Results: []result{
		of("trueup", cost{Writes: 2, Operator: 1, Bytes: 100}),
		of("a peer", cost{Writes: 1, Operator: 0.95, Bytes: 50}),
		of("another", cost{Writes: 2, Operator: 1, Bytes: 100}),
	}}}, Burst: burst{Owners: 50, Rates: []rate{{"trueup", 1}, {"a peer", 0.8}, {"another", 1.25}}}}
	require.Equal(t, []string{"a peer, create: requests, bytes 0.50", "another, 50 new owners at once: time 0.80"}, c.Ahead())
}

func TestFormatRatio(t *testing.T) {
	require.Equal(t, "1.25", formatRatio(5, 4))
	require.Equal(t, "0.0013", formatRatio(0.00127, 1))
	require.Equal(t, "–", formatRatio(1, 0))
}
