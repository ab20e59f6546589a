package picture

import (
	"context"
	"errors"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/trueup-go/trueup/test/tools/dashboard/grafana"
	"github.com/trueup-go/trueup/test/tools/dashboard/record"
)

// Colours that colour-blind people can distinguish, by M. Okabe and K. Ito.
var (
	black      = color.RGBA{A: 255}
	orange     = color.RGBA{R: 230, G: 159, A: 255}
	skyBlue    = color.RGBA{R: 86, G: 180, B: 233, A: 255}
	green      = color.RGBA{G: 158, B: 115, A: 255}
	blue       = color.RGBA{G: 114, B: 178, A: 255}
	vermillion = color.RGBA{R: 213, G: 94, A: 255}
	purple     = color.RGBA{R: 204, G: 121, B: 167, A: 255}
)

var palette = []color.RGBA{blue, vermillion, green, purple, orange, skyBlue, black}

// colours assigns colours to series that several charts show, by the beginning of the name.
var colours = []struct {
	begins string
	color  color.RGBA
}{
	{"Created", blue},
	{"Updated Drifted", orange},
	{"Updated", green},
	{"Deleting", purple},
	{"Gone", black},
	{"Unchanged", skyBlue},
	{"Failed", vermillion},
}

func colourOf(legend string, i int) color.RGBA {
	for _, known := range colours {
		if strings.HasPrefix(legend, known.begins) {
			return known.color
		}
	}
	return palette[i%len(palette)]
}

// chart draws a panel.
func chart(
	ctx context.Context, panel grafana.Panel, values grafana.Values, r *record.Recording,
) (*plot.Plot, plot.Legend, error) {
	p := newPlot(r)
	legend := plot.NewLegend()
	legend.TextStyle.Font.Size = textSize
	legend.Top, legend.Left = true, true
	legend.ThumbnailWidth = 14
	legend.Padding = 2
	var lines []line
	for _, target := range panel.Targets {
		query, err := values.Fill(target.Expr)
		if err != nil {
			return nil, legend, err
		}
		matrix, err := r.Range(ctx, query)
		if err != nil {
			return nil, legend, err
		}
		for _, one := range matrix {
			name := target.Legend(one.Metric.Get)
			lines = append(lines, line{name: name, runs: runs(one.Floats, r.Interval())})
		}
	}
	if len(lines) == 0 {
		return nil, legend, errors.New("it shows nothing")
	}
	slices.SortStableFunc(lines, func(a, b line) int { return strings.Compare(a.name, b.name) })
	for i, line := range lines {
		line.draw(p, &legend, colourOf(line.name, i), stepOf(panel))
	}
	return p, legend, nil
}

// stepOf returns the panel's style of line.
func stepOf(panel grafana.Panel) plotter.StepKind {
	if panel.FieldConfig.Defaults.Custom.LineInterpolation == "stepAfter" {
		return plotter.PostStep
	}
	return plotter.NoStep
}

// A line is a series with its name in the legend.
type line struct {
	name string
	runs []plotter.XYs
}

// draw draws the line and shades the area below, so that overlapping lines remain visible.
func (l line) draw(p *plot.Plot, legend *plot.Legend, colour color.RGBA, step plotter.StepKind) {
	shade := color.NRGBA{R: colour.R, G: colour.G, B: colour.B, A: 45}
	for i, points := range l.runs {
		drawn := &plotter.Line{
			XYs: points, StepStyle: step, FillColor: shade,
			LineStyle: draw.LineStyle{Color: colour, Width: 1.8},
		}
		p.Add(drawn)
		if i == 0 {
			legend.Add(l.name, &plotter.Line{LineStyle: drawn.LineStyle})
		}
	}
}

// runs returns the points as runs without a gap. Points of a line along the axis, at 0, are left
// out, as they would hide others.
func runs(points []promql.FPoint, interval time.Duration) []plotter.XYs {
	var runs []plotter.XYs
	before := time.Duration(math.MinInt64)
	for i, point := range points {
		flat := isZero(points, i-1) && isZero(points, i) && isZero(points, i+1)
		if flat || math.IsNaN(point.F) {
			continue
		}
		at := record.At(point)
		if len(runs) == 0 || at-before > interval {
			runs = append(runs, nil)
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], plotter.XY{X: at.Seconds(), Y: point.F})
		before = at
	}
	return runs
}

// isZero reports whether a point is 0, or there is none.
func isZero(points []promql.FPoint, i int) bool {
	return i < 0 || i >= len(points) || points[i].F == 0
}

// newPlot returns an empty plot of the whole run that distinguishes the phases.
func newPlot(r *record.Recording) *plot.Plot {
	p := plot.New()
	p.X.Min, p.X.Max = 0, r.Length().Seconds()
	p.X.Padding, p.Y.Padding = 0, 0
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font.Size, axis.Tick.Label.Font.Size = textSize, textSize
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = color.Gray{Y: 150}, color.Gray{Y: 150}
		axis.LineStyle.Width, axis.Tick.LineStyle.Width = thin, thin
	}
	p.Add(phases{r.Phases()}, grid())
	return p
}

func grid() *plotter.Grid {
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color, grid.Horizontal.Width = color.Gray{Y: 225}, thin
	return grid
}

func textStyle(size vg.Length, x draw.XAlignment, y draw.YAlignment) text.Style {
	style := plot.New().Title.TextStyle
	style.Font.Size, style.XAlign, style.YAlign = size, x, y
	return style
}

// timeline shows the axis of the time, which the plots above do without.
func timeline(axis *plot.Axis) {
	axis.Label.Text = "seconds since the first scrape"
	axis.LineStyle.Width, axis.Tick.LineStyle.Width, axis.Tick.Length = thin, thin, 5
	axis.Tick.Marker = plot.TickerFunc(func(_, last float64) []plot.Tick { return every(30, last) })
}

func every(step, last float64) []plot.Tick {
	var ticks []plot.Tick
	for at := 0.0; at <= last; at += step {
		ticks = append(ticks, plot.Tick{Value: at, Label: strconv.Itoa(int(at))})
	}
	return ticks
}

func perMinute(axis *plot.Axis) { fromZero(axis, "per minute") }

func sinceStart(axis *plot.Axis) { fromZero(axis, "since start") }

// fromZero marks an axis of whole numbers at about four places.
func fromZero(axis *plot.Axis, label string) {
	axis.Label.Text = label
	axis.Min, axis.Max = 0, 1.1*max(axis.Max, 1)
	step := 1.0
	for i := 0; axis.Max/step > 4; i++ {
		step *= []float64{2, 2.5, 2}[i%3]
	}
	axis.Tick.Marker = plot.TickerFunc(func(_, last float64) []plot.Tick { return every(step, last) })
}

func logSeconds(axis *plot.Axis) {
	axis.Label.Text = "seconds"
	axis.Scale = plot.LogScale{}
	marks := []float64{0.5, 2, 10, 30, 60, 120, 300, 600}
	longest := slices.IndexFunc(marks, func(mark float64) bool { return mark > axis.Max })
	if longest < 0 {
		longest = len(marks) - 1
	}
	axis.Min, axis.Max = marks[0]*0.8, marks[longest]*1.1
	var ticks []plot.Tick
	for _, mark := range marks {
		ticks = append(ticks, plot.Tick{Value: mark, Label: strconv.FormatFloat(mark, 'g', -1, 64)})
	}
	axis.Tick.Marker = plot.ConstantTicks(ticks)
}
