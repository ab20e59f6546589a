package main

import (
	_ "embed"
	"fmt"
	"io"
	"math"
	"strings"
	"text/template"
)

// A comparison has the results of all contestants, in their order.
type comparison struct {
	Sizes []comparedSize
	Burst burst
}

// A comparedSize has the results with one number of children.
type comparedSize struct {
	Children int
	Results  []result
}

// A page is the content of docs/benchmarks.md.
type page struct {
	comparison

	Machine machine
	IsShort bool
	// Library are the sections about what needs no API server.
	Library string
}

//go:embed page.md.tmpl
var pageTemplate string

// write writes the page as Markdown.
func (p page) write(out io.Writer) error {
	parsed, err := template.New("page").Funcs(template.FuncMap{
		"count": formatCount, "join": func(words []string) string { return strings.Join(words, ", ") },
		"plainApply": onlyApplies,
		"ratio":      func(r float64) string { return fmt.Sprintf("%.2f", r) },
	}).Parse(pageTemplate)
	if err != nil {
		return err
	}
	return parsed.Execute(out, p)
}

// Largest returns the results with the most children.
func (c comparison) Largest() comparedSize { return c.Sizes[len(c.Sizes)-1] }

// StepNames returns the names of all steps.
func (s comparedSize) StepNames() []string {
	var names []string
	for _, step := range s.Results[0].Steps {
		names = append(names, step.Name)
	}
	return names
}

// Requests returns the number of requests per child.
func (c cost) Requests() float64 { return c.Writes + c.Reads + c.DryRuns }

// A figure is a part of a cost.
type figure struct {
	name string
	of   func(cost) float64
}

// figures are compared as ratios. Requests are shown as numbers.
var figures = []figure{
	{"bytes", func(c cost) float64 { return c.Bytes }},
	{"operator CPU", func(c cost) float64 { return c.Operator }},
	{"API server CPU", func(c cost) float64 { return c.Server }},
	{"allocations", func(c cost) float64 { return c.Allocations }},
	{"p50", func(c cost) float64 { return c.P50 }},
	{"p99", func(c cost) float64 { return c.P99 }},
}

// A table compares all contestants in one step.
type table struct {
	Step string
	Rows []row
}

type row struct {
	Name string
	cost
	// Ratios are those of the figures to the contestant that is most in use.
	Ratios []string
}

// FigureNames returns the titles of the columns with ratios.
func (table) FigureNames() []string {
	var names []string
	for _, f := range figures {
		names = append(names, f.name)
	}
	return names
}

// Tables returns a table for each step.
func (s comparedSize) Tables() []table {
	var tables []table
	for i, name := range s.StepNames() {
		t, reference := table{Step: name}, s.Results[mostUsed()].Steps[i].cost
		for _, result := range s.Results {
			r := row{Name: result.Name, cost: result.Steps[i].cost}
			for _, f := range figures {
				r.Ratios = append(r.Ratios, formatRatio(f.of(r.cost), f.of(reference)))
			}
			t.Rows = append(t.Rows, r)
		}
		tables = append(tables, t)
	}
	return tables
}

// clearly is the ratio to a figure of trueup below which a peer is called ahead.
const clearly = 0.9

// Ahead says in which steps a peer needs clearly less of something than trueup, with the most children, and which peer
// is clearly faster with new owners.
func (c comparison) Ahead() []string {
	var ahead []string
	largest := c.Largest()
	ours := largest.Results[0]
	for _, peer := range largest.Results[1:] {
		for i, step := range peer.Steps {
			var better []string
			if step.Requests() < clearly*ours.Steps[i].Requests() {
				better = append(better, "requests")
			}
			for _, f := range figures {
				if theirs, own := f.of(step.cost), f.of(ours.Steps[i].cost); theirs < clearly*own {
					better = append(better, fmt.Sprintf("%s %.2f", f.name, theirs/own))
				}
			}
			if len(better) > 0 {
				ahead = append(ahead, fmt.Sprintf("%s, %s: %s", peer.Name, step.Name, strings.Join(better, ", ")))
			}
		}
	}
	for _, peer := range c.Burst.Rates {
		if took := c.Burst.Rates[0].Ratio / peer.Ratio; took < clearly {
			ahead = append(ahead, fmt.Sprintf("%s, %d new owners at once: time %.2f", peer.Name, c.Burst.Owners, took))
		}
	}
	return ahead
}

// MemoryRatio returns the memory of a result relative to the least.
func (s comparedSize) MemoryRatio(r result) string {
	least := math.Inf(1)
	for _, other := range s.Results {
		least = min(least, other.Memory)
	}
	return formatRatio(r.Memory, least)
}

// formatCount formats a count per child, without digits that are always zero.
func formatCount(n float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", n), "0"), ".")
}

// formatRatio formats a ratio with two significant digits. There is none to a figure that is 0.
func formatRatio(of, to float64) string {
	switch ratio := of / to; {
	case to == 0:
		return "–"
	case ratio >= 0.1:
		return fmt.Sprintf("%.2f", ratio)
	default:
		return fmt.Sprintf("%.2g", ratio)
	}
}
