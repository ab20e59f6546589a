package picture

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/trueup-go/trueup/test/tools/dashboard/record"
)

// strip shows the acts and names the phases.
func strip(r *record.Recording) *plot.Plot {
	p := newPlot(r)
	p.HideAxes()
	p.Y.Min, p.Y.Max = 0, 1
	p.Add(acts{r.Acts()}, names{r.Phases()})
	return p
}

// phases shades every other phase, and draws where each begins.
type phases struct{ spans []record.Span }

// Plot is called by gonum.
func (s phases) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for i, span := range s.spans {
		if i%2 == 1 {
			fill(c, color.RGBA{R: 253, G: 243, B: 231, A: 255}, x(span.From), x(span.To), c.Min.Y, c.Max.Y)
		}
		if i > 0 {
			c.StrokeLine2(draw.LineStyle{Color: color.Gray{Y: 130}, Width: 0.7, Dashes: []vg.Length{3, 3}},
				x(span.From), c.Min.Y, x(span.From), c.Max.Y)
		}
	}
}

// names writes the phases' names.
type names struct{ spans []record.Span }

// Plot is called by gonum.
func (s names) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	style := textStyle(titleSize, draw.XCenter, draw.YTop)
	for _, span := range s.spans {
		c.FillText(style, vg.Point{X: (x(span.From) + x(span.To)) / 2, Y: c.Max.Y - 2}, span.Name)
	}
}

// acts draws a bar for each act, below the names, and labels it.
type acts struct{ spans []record.Span }

// Plot is called by gonum.
func (s acts) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	top := c.Max.Y - titleSize - 5
	height := (top - c.Min.Y) / vg.Length(len(s.spans))
	for i, span := range s.spans {
		middle := top - height*(vg.Length(i)+0.5)
		from, to := x(span.From), x(span.To)
		fill(c, color.Gray{Y: 110}, from, max(to, from+2), middle-height*0.3, middle+height*0.3)
		at, style := vg.Point{X: to + 5, Y: middle}, textStyle(textSize, draw.XLeft, draw.YCenter)
		if at.X+style.Width(span.Name) > c.Max.X {
			at.X, style = from-5, textStyle(textSize, draw.XRight, draw.YCenter)
		}
		c.FillText(style, at, span.Name)
	}
}

func fill(c draw.Canvas, with color.Color, left, right, bottom, top vg.Length) {
	c.FillPolygon(with, []vg.Point{{X: left, Y: bottom}, {X: right, Y: bottom}, {X: right, Y: top}, {X: left, Y: top}})
}
