package main_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/tools/dashboard/acts"
	"github.com/trueup-go/trueup/test/tools/dashboard/fit"
	"github.com/trueup-go/trueup/test/tools/dashboard/grafana"
	"github.com/trueup-go/trueup/test/tools/dashboard/record"
)

// TestDashboard has operators use all their features, and looks for the figures in the dashboard.
func TestDashboard(t *testing.T) {
	longform.Only(t)
	d, err := grafana.Read("../../../docs/dashboard.json")
	require.NoError(t, err)
	recording, err := acts.Run(t.Context(), acts.Quick())
	require.NoError(t, err)
	require.Empty(t, fit.Check(d, recording.Latest()))

	values := d.Values(5*time.Second, recording.Length())
	for _, panel := range d.Charts() {
		for _, target := range panel.Targets {
			query, err := values.Fill(target.Expr)
			require.NoError(t, err)
			figures, err := recording.Range(t.Context(), query)
			require.NoError(t, err)
			require.NotEmpty(t, figures, "panel %q shows nothing", panel.Title)
		}
	}
}

// TestLayout checks rules that Grafana does not enforce but people notice.
func TestLayout(t *testing.T) {
	d, err := grafana.Read("../../../docs/dashboard.json")
	require.NoError(t, err)
	ids, taken := map[int]string{}, map[[2]int]string{}
	for _, panel := range d.Panels {
		require.Empty(t, ids[panel.ID], "panels %q share an ID", panel.Title)
		ids[panel.ID] = panel.Title
		at := panel.GridPos
		require.LessOrEqual(t, at.X+at.Width, 24, panel.Title)
		for x := at.X; x < at.X+at.Width; x++ {
			for y := at.Y; y < at.Y+at.Height; y++ {
				require.Empty(t, taken[[2]int{x, y}], "panel %q lies over another", panel.Title)
				taken[[2]int{x, y}] = panel.Title
			}
		}
	}
	for _, panel := range d.Charts() {
		require.Contains(t, panel.Description, "Healthy:", panel.Title)
		if panel.Type != "heatmap" { // whose unit is its axis's
			require.NotEmpty(t, panel.FieldConfig.Defaults.Unit, panel.Title)
		}
	}
}

// TestFirst is why the queries are longer than an increase, which does not see that a series begins.
func TestFirst(t *testing.T) {
	d, err := grafana.Read("../../../docs/dashboard.json")
	require.NoError(t, err)
	recording, err := record.Read("testdata/run.yaml")
	require.NoError(t, err)
	panel, err := d.Chart("Contests begun")
	require.NoError(t, err)
	query, err := d.Values(10*time.Second, 10*time.Second).Fill(panel.Targets[0].Expr)
	require.NoError(t, err)
	highest := func(query string) float64 {
		figures, err := recording.Range(t.Context(), query)
		require.NoError(t, err)
		require.Len(t, figures, 1)
		return slices.MaxFunc(figures[0].Floats, func(a, b promql.FPoint) int { return cmp.Compare(a.F, b.F) }).F
	}
	require.InDelta(t, 0, highest(`sum(increase(trueup_ensure_contests_total[10s]))`), 0)
	require.InDelta(t, 1, highest(query), 0)
}

// TestGone shows why queries over the whole range must not begin with current series: a replaced
// operator serves no metrics any more, but its past figures count.
func TestGone(t *testing.T) {
	d, err := grafana.Read("../../../docs/dashboard.json")
	require.NoError(t, err)
	operation := map[string]string{"trueup_ensure_requests_total": "Failed"}
	for title, metric := range map[string]string{
		"Writes": "trueup_ensure_writes_total", "Failed requests": "trueup_ensure_requests_total",
		"Contests begun": "trueup_ensure_contests_total",
	} {
		recording := record.New(time.Minute)
		series := labels.FromStrings("__name__", metric, "job", "a", "namespace", "b", "kind", "Site", "operation", operation[metric])
		for round, value := range []float64{0, 0, 3, 3, 4} {
			if value > 0 {
				recording.Add(round, []record.Sample{{Family: metric, Series: series, Value: value}})
			}
		}
		recording.Add(20, nil)
		panel, err := d.Chart(title)
		require.NoError(t, err)
		query, err := d.Values(time.Minute, recording.Length()).Fill(panel.Targets[0].Expr)
		require.NoError(t, err)
		holds, err := recording.Holds(t.Context(), query+" == 4")
		require.NoError(t, err)
		require.True(t, holds, title)
	}
}
