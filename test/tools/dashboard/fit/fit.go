// Package fit checks that a dashboard queries only metrics that operators serve, and shows all of
// trueup's metrics.
package fit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/trueup-go/trueup/test/tools/dashboard/grafana"
	"github.com/trueup-go/trueup/test/tools/dashboard/record"
)

// ours begins the names of the library's metrics.
const ours = "trueup_"

// Check lists the errors of a dashboard for operators that serve these samples: a query that
// Prometheus cannot parse; an unknown metric or label, in a query, in a legend or in the query of a
// variable; a selector without a match; and a metric of trueup that no panel shows.
func Check(d *grafana.Dashboard, samples []record.Sample) []string {
	return check(d, samples).problems
}

// Shown are the names of the series that the panels ask for.
func Shown(d *grafana.Dashboard, samples []record.Sample) sets.Set[string] {
	return check(d, samples).shown
}

func check(d *grafana.Dashboard, samples []record.Sample) *checker {
	c := &checker{values: d.Values(time.Minute, time.Hour), shown: sets.New[string]()}
	for _, sample := range samples {
		c.served = append(c.served, sample.Series)
	}
	for _, variable := range d.Templating.List {
		if variable.Type == "query" {
			c.where = "variable " + variable.Name
			c.variable(variable)
		}
	}
	c.shown.Clear() // to choose by a metric is not to show it
	for _, panel := range d.Charts() {
		for _, target := range panel.Targets {
			c.where = fmt.Sprintf("panel %q, query %s", panel.Title, target.RefID)
			c.target(target)
		}
	}
	c.where = "dashboard"
	for _, family := range families(samples) {
		if strings.HasPrefix(family.name, ours) && !c.shown.HasAny(family.series.UnsortedList()...) {
			c.wrong("no panel shows %s", family.name)
		}
	}
	return c
}

// checker looks at one query after another.
type checker struct {
	values   grafana.Values
	served   []labels.Labels
	shown    sets.Set[string] // names of series that queries select
	where    string
	problems []string
}

func (c *checker) wrong(format string, args ...any) {
	c.problems = append(c.problems, c.where+": "+fmt.Sprintf(format, args...))
}

func (c *checker) variable(v grafana.Variable) {
	selector, label, err := v.LabelValues()
	if err != nil {
		c.wrong("%v", err)
		return
	}
	if has, ok := c.query(selector); ok && !has.Has(label) {
		c.wrong("there is no label %s in %s", label, selector)
	}
}

func (c *checker) target(t grafana.Target) {
	has, ok := c.query(t.Expr)
	if !ok {
		return
	}
	for _, label := range t.LegendLabels() {
		if !has.Has(label) {
			c.wrong("the legend names label %s, which the result does not have", label)
		}
	}
}

// query checks a query and returns the labels that its result may have, and false if they are
// unknown.
func (c *checker) query(query string) (sets.Set[string], bool) {
	filled, err := c.values.Fill(query)
	if err != nil {
		c.wrong("%v", err)
		return nil, false
	}
	expr, err := record.Parser().ParseExpr(filled)
	if err != nil {
		c.wrong("%v", err)
		return nil, false
	}
	return c.labelsOf(expr), true
}

// A family is a metric and the names of its series: a histogram has several.
type family struct {
	name   string
	series sets.Set[string]
}

func families(samples []record.Sample) []family {
	found := map[string]family{}
	for _, sample := range samples {
		if found[sample.Family].series == nil {
			found[sample.Family] = family{sample.Family, sets.New[string]()}
		}
		found[sample.Family].series.Insert(sample.Series.Get(model.MetricNameLabel))
	}
	return slices.SortedFunc(maps.Values(found), func(a, b family) int { return strings.Compare(a.name, b.name) })
}
