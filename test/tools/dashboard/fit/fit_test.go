package fit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trueup-go/trueup/test/tools/dashboard/fit"
	"github.com/trueup-go/trueup/test/tools/dashboard/grafana"
	"github.com/trueup-go/trueup/test/tools/dashboard/record"
)

func served() []record.Sample {
	sample := func(family, name string, rest ...string) record.Sample {
		return record.Sample{Family: family, Series: labels.FromStrings(append(rest, "__name__", name, "job", "a")...)}
	}
	return []record.Sample{
		sample("trueup_writes_total", "trueup_writes_total", "cause", "Missing"),
		sample("trueup_seconds", "trueup_seconds_bucket", "kind", "Site", "le", "1"),
		sample("trueup_seconds", "trueup_seconds_count", "kind", "Site"),
		sample("up", "up"),
	}
}

func TestCheck(t *testing.T) {
	const (
		writes  = `sum by (cause) (rate(trueup_writes_total{job=~"$job"}[$__rate_interval])) * 60000 / ${__rate_interval_ms}`
		seconds = `histogram_quantile(0.5, sum by (le, kind) (increase(trueup_seconds_bucket[5m])))`
		where   = `panel "p", query A: `
	)
	for name, test := range map[string]struct {
		expr, legend string
		want         []string
	}{
		"fits":           {expr: `up`, legend: "{{job}}"},
		"vectors match":  {expr: `trueup_writes_total * on (job) group_left (kind) trueup_seconds_count`, legend: "{{kind}} {{cause}}"},
		"either side":    {expr: `trueup_seconds_count or trueup_writes_total`, legend: "{{kind}} {{cause}}"},
		"without":        {expr: `sum without (cause) (trueup_writes_total)`, legend: "{{job}}"},
		"no query":       {expr: `sum by (`, want: []string{where + `1:9: parse error: unclosed left parenthesis`}},
		"no variable":    {expr: `up{job="$jbo"}`, want: []string{where + `no such variable: jbo`}},
		"no metric":      {expr: `trueup_write_total`, want: []string{where + `there is no metric trueup_write_total`}},
		"no label":       {expr: `up{kind="Site"}`, want: []string{where + `there is no label kind in up{kind="Site"}`}},
		"no such value":  {expr: `trueup_writes_total{cause="X"}`, want: []string{where + `nothing is selected by trueup_writes_total{cause="X"}`}},
		"by no label":    {expr: `sum by (kind) (up)`, want: []string{where + `there is no label kind to go by in sum by (kind) (up)`}},
		"on no label":    {expr: `up / on (kind) up`, want: []string{where + `there is no label kind to go by in up / on (kind) up`}},
		"legend":         {expr: `sum(up)`, legend: "{{job}}", want: []string{where + `the legend names label job, which the result does not have`}},
		"legend without": {expr: `sum without (job) (up)`, legend: "{{ job }}", want: []string{where + `the legend names label job, which the result does not have`}},
		"no buckets": {
			expr: `histogram_quantile(0.5, trueup_seconds_count)`,
			want: []string{where + `there is no label le to go by in histogram_quantile(0.5, trueup_seconds_count)`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := &grafana.Dashboard{Panels: []grafana.Panel{
				{Type: "row", Title: "a headline"},
				{Title: "p", Targets: []grafana.Target{{Expr: test.expr, LegendFormat: test.legend, RefID: "A"}}},
				{Title: "rest", Targets: []grafana.Target{
					{Expr: writes, LegendFormat: "{{cause}}", RefID: "A"}, {Expr: seconds, LegendFormat: "{{kind}}", RefID: "B"},
				}},
			}}
			d.Templating.List = []grafana.Variable{{Name: "job", Type: "query", AllValue: ".*", Definition: "label_values(up, job)"}}
			if diff := cmp.Diff(test.want, fit.Check(d, served())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckAll(t *testing.T) {
	d := &grafana.Dashboard{Panels: []grafana.Panel{
		{Title: "p", Targets: []grafana.Target{{Expr: "trueup_seconds_count", RefID: "A"}}},
	}}
	d.Templating.List = []grafana.Variable{
		{Name: "cause", Type: "query", Definition: "label_values(trueup_writes_total, cause)"},
		{Name: "kind", Type: "query", Definition: "label_values(up, kind)"},
		{Name: "other", Type: "query", Definition: "metrics(up)"},
		{Name: "datasource", Type: "datasource"},
	}
	want := []string{
		`variable kind: there is no label kind in up`,
		`variable other: variable other: "metrics(up)" is not label_values(selector, label)`,
		`dashboard: no panel shows trueup_writes_total`,
	}
	if diff := cmp.Diff(want, fit.Check(d, served())); diff != "" {
		t.Error("a metric that only a variable asks for is not shown:", diff)
	}
}
