package grafana_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/tools/dashboard/grafana"
)

func TestFill(t *testing.T) {
	d := &grafana.Dashboard{}
	d.Templating.List = []grafana.Variable{{Name: "job", AllValue: ".*"}}
	values := d.Values(90*time.Second, time.Hour)
	for query, want := range map[string]string{
		`rate(a{job=~"$job"}[$__rate_interval])`: `rate(a{job=~".*"}[90s])`,
		`a{job=~"${job:regex}"} + ${__range}`:    `a{job=~".*"} + 3600s`,
		`a / $__rate_interval_ms`:                `a / 90000`,
		`a{b=~"x$"}`:                             `a{b=~"x$"}`,
	} {
		got, err := values.Fill(query)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := values.Fill(`a{x="$y", z="$job"}`)
	require.EqualError(t, err, "no such variable: y")
}

func TestLegend(t *testing.T) {
	target := grafana.Target{LegendFormat: "{{operation}} {{ cause }}"}
	require.Equal(t, []string{"operation", "cause"}, target.LegendLabels())
	of := map[string]string{"operation": "Deleting"}
	require.Equal(t, "Deleting", target.Legend(func(name string) string { return of[name] }), "a label that is not there is empty")
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.json")
	_, err := grafana.Read(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte(`{"panels":[{"type":"row","title":"a"},{"type":"stat","title":"b","id":2}]}`), 0o600))
	d, err := grafana.Read(path)
	require.NoError(t, err)
	require.Len(t, d.Charts(), 1)
	b, err := d.Chart("b")
	require.NoError(t, err)
	require.Equal(t, 2, b.ID)
	_, err = d.Chart("a")
	require.EqualError(t, err, `the dashboard has no panel "a"`)
	require.NoError(t, os.WriteFile(path, []byte(`{"panels":`), 0o600))
	_, err = grafana.Read(path)
	require.ErrorContains(t, err, "cannot read the dashboard")
}
