package record_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/tools/dashboard/record"
)

const exposition = `# TYPE writes_total counter
writes_total{cause="Missing",group=""} 3
# TYPE held_seconds histogram
held_seconds_bucket{le="1"} 1
held_seconds_bucket{le="+Inf"} 2
held_seconds_sum 7
held_seconds_count 2
`

func scrape(t *testing.T, body string) []record.Sample {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	samples, err := record.Scrape(t.Context(), record.Target{URL: server.URL, Labels: map[string]string{"job": "a"}})
	require.NoError(t, err)
	return samples
}

func TestScrape(t *testing.T) {
	type line struct {
		Family, Series string
		Value          float64
	}
	var got []line
	for _, sample := range scrape(t, exposition) {
		got = append(got, line{sample.Family, sample.Series.String(), sample.Value})
	}
	want := []line{
		{"held_seconds", `{__name__="held_seconds_bucket", job="a", le="1"}`, 1},
		{"held_seconds", `{__name__="held_seconds_bucket", job="a", le="+Inf"}`, 2},
		{"held_seconds", `{__name__="held_seconds_sum", job="a"}`, 7},
		{"held_seconds", `{__name__="held_seconds_count", job="a"}`, 2},
		{"writes_total", `{__name__="writes_total", cause="Missing", job="a"}`, 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("an empty label is none:", diff)
	}
}

func TestScrapeRefused(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	_, err := record.Scrape(t.Context(), record.Target{URL: server.URL})
	require.ErrorContains(t, err, "404")
}

// TestFile writes a recording, reads it, and sends the same queries to both.
func TestFile(t *testing.T) {
	r := record.New(time.Second)
	r.Add(0, scrape(t, "a_total 0\nb_total 1\n")) // another takes its place
	for round, value := range []string{"1", "1", "1", "", "2.5", "3"} {
		if value == "" {
			continue // a gap
		}
		r.Add(round, scrape(t, "a_total "+value+"\nb_total 1\n"))
	}
	r.Add(6, scrape(t, "a_total 3\nc 1e+20\n"))
	r.Phase("before", 0, 2*time.Second)
	r.Act("second", 1500*time.Millisecond, 2*time.Second)
	r.Act("first", time.Second, 2*time.Second)
	path := filepath.Join(t.TempDir(), "run.yaml")
	require.NoError(t, r.Write(path, func(name string) bool { return name != "b_total" }))
	again, err := record.Read(path)
	require.NoError(t, err)

	require.Equal(t, 6*time.Second, again.Length())
	require.Equal(t, time.Second, again.Interval())
	require.Equal(t, []record.Span{{Name: "before", From: 0, To: 2}}, again.Phases())
	require.Equal(t, []record.Span{{Name: "first", From: 1, To: 2}, {Name: "second", From: 1.5, To: 2}}, again.Acts())
	for query, want := range map[string]string{
		"a_total":                      "1@0 1@1 1@2 1@3 2.5@4 3@5 3@6",
		"count_over_time(a_total[2s])": "1@0 2@1 2@2 1@3 1@4 2@5 2@6",
		"c":                            "1e+20@6",
		"b_total":                      "",
	} {
		figures, err := again.Range(t.Context(), query)
		require.NoError(t, err)
		var points []string
		for _, one := range figures {
			for _, point := range one.Floats {
				points = append(points, fmt.Sprintf("%g@%g", point.F, record.At(point).Seconds()))
			}
		}
		require.Equal(t, want, strings.Join(points, " "), query)
	}
	holds, err := again.Holds(t.Context(), "a_total > 2.9")
	require.NoError(t, err)
	require.True(t, holds)
	holds, err = again.Holds(t.Context(), "a_total < 2.9")
	require.NoError(t, err)
	require.False(t, holds, "it did earlier")
	_, err = again.Holds(t.Context(), "sum by (")
	require.ErrorContains(t, err, "cannot parse")
}
