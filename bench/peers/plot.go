package main

import (
	"image/color"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A theme is the colors of a plot that depend on the page around it.
type theme struct {
	name string
	text color.Color
}

var themes = []theme{
	{"light", color.Gray{Y: 0x20}},
	{"dark", color.Gray{Y: 0xe0}},
}

// barColors can be told apart by people with any kind of color vision, on light and dark pages:
// Okabe and Ito, Color Universal Design, 2008.
var barColors = []color.Color{
	color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff},
	color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff},
	color.RGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff},
	color.RGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff},
	color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff},
	color.RGBA{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff},
}

const (
	plotWidth, plotHeight = 22 * vg.Centimeter, 11 * vg.Centimeter
	barWidth              = 4 * vg.Millimeter
)

// plot writes the plots of the results with the most children into a folder, once for each theme.
func (c comparison) plot(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	largest := c.Largest()
	for _, theme := range themes {
		err := largest.plot(filepath.Join(folder, "requests-"+theme.name+".svg"), theme, "requests per child",
			func(of, _ cost) float64 { return of.Requests() })
		if err != nil {
			return err
		}
		err = largest.plot(filepath.Join(folder, "processor-"+theme.name+".svg"), theme,
			"CPU of operator and API server per child, CreateOrUpdate = 1",
			func(of, reference cost) float64 {
				return (of.Operator + of.Server) / (reference.Operator + reference.Server)
			})
		if err != nil {
			return err
		}
		if err := largest.plotPasses(filepath.Join(folder, "passes-"+theme.name+".svg"), theme); err != nil {
			return err
		}
	}
	return nil
}

// tenPasses are ten passes of a day with an operator. Between two of them, the step says what happened.
var tenPasses = []string{
	"create", "nothing to do", "a status changed", "nothing to do", "drift", "nothing to do", "a status changed",
	"a change of desired", "nothing to do", "restart",
}

// plotPasses writes the number of requests after each of ten passes, for trueup, the peer that is most in use, and the
// one that only applies.
func (s comparedSize) plotPasses(path string, theme theme) error {
	p := plot.New()
	theme.apply(p)
	p.Y.Label.Text = "requests per child, in total"
	p.NominalX(tenPasses...)
	p.X.Tick.Label.Rotation = math.Pi / 6
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YTop
	p.Legend.Top, p.Legend.Left = true, true
	for _, i := range []int{onlyApplies(), mostUsed(), 0} {
		points, sum := make(plotter.XYs, len(tenPasses)), 0.0
		for j, name := range tenPasses {
			sum += s.Results[i].step(name).Requests()
			points[j] = plotter.XY{X: float64(j), Y: sum}
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.Color, line.Width = barColors[i%len(barColors)], vg.Points(2.5)
		p.Add(line)
		p.Legend.Add(s.Results[i].Name, line)
	}
	p.Y.Min = 0
	p.X.Max += 0.5 // leaves room for the last label
	return p.Save(plotWidth, plotHeight, path)
}

// plot writes a bar chart: one group of bars for each step, one bar for each contestant.
func (s comparedSize) plot(path string, theme theme, title string, value func(of, reference cost) float64) error {
	p := plot.New()
	theme.apply(p)
	p.Y.Label.Text = title
	p.NominalX(s.StepNames()...)
	p.Legend.Top = true
	reference := s.Results[mostUsed()]
	for i, result := range s.Results {
		var values plotter.Values
		for j, step := range result.Steps {
			values = append(values, value(step.cost, reference.Steps[j].cost))
		}
		bars, err := plotter.NewBarChart(values, barWidth)
		if err != nil {
			return err
		}
		bars.Color, bars.LineStyle.Width = barColors[i%len(barColors)], 0
		bars.Offset = barWidth * (vg.Length(i) - vg.Length(len(s.Results)-1)/2)
		p.Add(bars)
		p.Legend.Add(result.Name, bars)
	}
	p.Y.Max *= 1.4 // leaves room for the legend
	return p.Save(plotWidth, plotHeight, path)
}

func (t theme) apply(p *plot.Plot) {
	p.BackgroundColor = nil // that of the page
	p.Legend.TextStyle.Color = t.text
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color, axis.Tick.Color = t.text, t.text
		axis.Label.TextStyle.Color, axis.Tick.Label.Color = t.text, t.text
		for _, f := range []*font.Font{&axis.Label.TextStyle.Font, &axis.Tick.Label.Font} {
			f.Variant = "Sans"
		}
	}
	p.Legend.TextStyle.Font.Variant = "Sans"
}
