package fit

import (
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"k8s.io/apimachinery/pkg/util/sets"
)

// labelsOf walks an expression, records errors, and returns the labels that the result may have.
func (c *checker) labelsOf(expr parser.Expr) sets.Set[string] {
	switch e := expr.(type) {
	case *parser.VectorSelector:
		return c.selected(e)
	case *parser.MatrixSelector:
		return c.labelsOf(e.VectorSelector)
	case *parser.SubqueryExpr:
		return c.labelsOf(e.Expr)
	case *parser.ParenExpr:
		return c.labelsOf(e.Expr)
	case *parser.UnaryExpr:
		return c.labelsOf(e.Expr)
	case *parser.Call:
		return c.called(e)
	case *parser.AggregateExpr:
		return c.aggregated(e)
	case *parser.BinaryExpr:
		return c.combined(e)
	case *parser.NumberLiteral, *parser.StringLiteral:
		return sets.New[string]()
	}
	c.wrong("%s is a %T, which this check does not know", expr, expr)
	return sets.New[string]()
}

// selected looks for series that match a selector. A label that none of them has is reported as an
// unknown label.
func (c *checker) selected(e *parser.VectorSelector) sets.Set[string] {
	named := c.named(e)
	has, found := sets.New[string](), false
	for _, series := range named {
		series.Range(func(l labels.Label) { has.Insert(l.Name) })
		if labels.Selector(e.LabelMatchers).Matches(series) {
			found = true
			c.shown.Insert(series.Get(model.MetricNameLabel))
		}
	}
	switch unknown := slices.IndexFunc(e.LabelMatchers, func(m *labels.Matcher) bool { return !has.Has(m.Name) }); {
	case len(named) == 0:
		c.wrong("there is no metric %s", e.Name)
	case unknown >= 0:
		c.wrong("there is no label %s in %s", e.LabelMatchers[unknown].Name, e)
	case !found:
		c.wrong("nothing is selected by %s", e)
	}
	return has.Delete(model.MetricNameLabel)
}

// named are the series of the name that a selector asks for.
func (c *checker) named(e *parser.VectorSelector) []labels.Labels {
	var named []labels.Labels
	for _, series := range c.served {
		if !slices.ContainsFunc(e.LabelMatchers, func(m *labels.Matcher) bool {
			return m.Name == model.MetricNameLabel && !m.Matches(series.Get(m.Name))
		}) {
			named = append(named, series)
		}
	}
	return named
}

// called is about functions that keep labels, and about the one that takes one.
func (c *checker) called(e *parser.Call) sets.Set[string] {
	has := sets.New[string]()
	for _, arg := range e.Args {
		has = has.Union(c.labelsOf(arg))
	}
	if e.Func.Name == "histogram_quantile" {
		c.require(has, e, model.BucketLabel)
		has.Delete(model.BucketLabel)
	}
	return has
}

func (c *checker) aggregated(e *parser.AggregateExpr) sets.Set[string] {
	has := c.labelsOf(e.Expr)
	c.require(has, e, e.Grouping...)
	switch {
	case e.Op == parser.TOPK || e.Op == parser.BOTTOMK:
		return has
	case e.Without:
		return has.Delete(e.Grouping...)
	}
	return sets.New(e.Grouping...)
}

func (c *checker) combined(e *parser.BinaryExpr) sets.Set[string] {
	left, right := c.labelsOf(e.LHS), c.labelsOf(e.RHS)
	if e.VectorMatching == nil { // one side is a number
		return left.Union(right)
	}
	c.require(left.Union(right), e, e.VectorMatching.MatchingLabels...)
	c.require(left.Union(right), e, e.VectorMatching.Include...)
	if e.Op == parser.LOR {
		return left.Union(right)
	}
	return left.Union(sets.New(e.VectorMatching.Include...))
}

// require notes labels that are named and that there are not.
func (c *checker) require(has sets.Set[string], e parser.Expr, named ...string) {
	for _, label := range named {
		if !has.Has(label) {
			c.wrong("there is no label %s to go by in %s", label, e)
		}
	}
}
