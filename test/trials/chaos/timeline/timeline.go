// Package timeline draws what happens during a run: bars for what lasts, areas for what is counted, and lines for single
// moments, all on one axis of time.
package timeline

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"strings"
	"time"
)

// A Timeline is a picture of a run of a certain length.
type Timeline struct {
	Title  string
	Length time.Duration
	Lanes  []Lane
	Series []Series
	// Moments are the times that lines mark, by their names.
	Moments []Moment
}

// A Lane has bars that do not overlap.
type Lane struct {
	Name string
	Bars []Bar
}

// A Bar is something that lasts.
type Bar struct {
	Text     string
	From, To time.Duration
}

// A Series counts what happens at these times.
type Series struct {
	Name  string
	Times []time.Duration
}

// A Moment is a time with a name.
type Moment struct {
	Name string
	At   time.Duration
}

// A Theme has the colors of a picture.
type Theme struct{ Name, text, grid, bar, barText, area, moment string }

// Themes are those of light and dark pages. People with any kind of color vision can tell their colors apart: Okabe and
// Ito, Color Universal Design, 2008.
var Themes = []Theme{
	{"light", "#202020", "#d8d8d8", "#f0c27a", "#202020", "#0072b2", "#d55e00"},
	{"dark", "#e0e0e0", "#404040", "#8a5a00", "#ffffff", "#56b4e9", "#e69f00"},
}

// The sizes of a picture, in pixels.
const (
	width, left, top    = 1100, 150, 44
	laneHeight, barSize = 20, 15
	seriesHeight, gap   = 46, 6
	characterWidth      = 5.4 // of the text in bars
)

// Write writes the timeline as SVG.
func (t Timeline) Write(out io.Writer, theme Theme) error {
	p := &picture{Timeline: t, theme: theme}
	p.header()
	p.axis()
	y := top
	for _, lane := range t.Lanes {
		p.lane(lane, y)
		y += laneHeight
	}
	for _, series := range t.Series {
		y += gap
		p.series(series, y)
		y += seriesHeight
	}
	p.moments()
	p.text.WriteString("</svg>\n")
	_, err := io.WriteString(out, p.text.String())
	return err
}

type picture struct {
	Timeline

	theme Theme
	text  strings.Builder
}

func (p *picture) print(format string, args ...any) { fmt.Fprintf(&p.text, format+"\n", args...) }

func (p *picture) height() int {
	return top + len(p.Lanes)*laneHeight + len(p.Series)*(seriesHeight+gap) + gap
}

// x returns the place of a time.
func (p *picture) x(at time.Duration) float64 {
	return left + float64(width-left-gap)*at.Seconds()/max(p.Length.Seconds(), 1)
}

func (p *picture) header() {
	p.print(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" `+
		`font-family="sans-serif" font-size="11" fill="%s">`, width, p.height(), width, p.height(), p.theme.text)
	p.print(`<title>%s</title>`, html.EscapeString(p.Title))
}

// steps are the possible distances of the lines of the axis, of which there are at most maxSteps.
var steps = []time.Duration{
	time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute,
}

const maxSteps = 14

func (p *picture) axis() {
	step := time.Hour
	for _, wider := range steps {
		if p.Length/wider <= maxSteps {
			step = wider
			break
		}
	}
	for at := time.Duration(0); at <= p.Length; at += step {
		p.print(`<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="%s"/>`, p.x(at), p.x(at), top-gap, p.height(), p.theme.grid)
		p.print(`<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, p.x(at), top-2*gap, clock(at))
	}
}

func clock(at time.Duration) string {
	return fmt.Sprintf("%d:%02d", int(at.Minutes()), int(at.Seconds())%60)
}

func (p *picture) lane(lane Lane, y int) {
	p.print(`<text x="%d" y="%d" text-anchor="end">%s</text>`, left-gap, y+barSize-3, html.EscapeString(lane.Name))
	for _, bar := range lane.Bars {
		from, size := p.x(bar.From), max(p.x(bar.To)-p.x(bar.From), 2)
		p.print(`<g><title>%s %s to %s</title>`, html.EscapeString(bar.Text), clock(bar.From), clock(bar.To))
		p.print(`<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`, from, y, size, barSize, p.theme.bar)
		p.print(`<text x="%.1f" y="%d" font-size="9" fill="%s">%s</text>`,
			from+2, y+barSize-4, p.theme.barText, html.EscapeString(short(bar.Text, int(size/characterWidth))))
		p.print(`</g>`)
	}
}

// short returns the first words of a text that fit.
func short(text string, letters int) string {
	runes := []rune(text)
	if len(runes) <= letters {
		return text
	}
	text = string(runes[:letters+1])
	return text[:max(strings.LastIndexByte(text, ' '), 0)]
}

// series draws an area whose height is the number per second.
func (p *picture) series(series Series, y int) {
	const columns = 400
	counts := make([]float64, columns)
	for _, at := range series.Times {
		if at >= 0 && at < p.Length {
			counts[int(at*columns/p.Length)]++
		}
	}
	highest := 0.0
	for _, n := range counts {
		highest = max(highest, n)
	}
	column := p.Length / columns
	bottom := y + seriesHeight
	var path strings.Builder
	fmt.Fprintf(&path, "M%.1f %d", p.x(0), bottom)
	for i, n := range counts {
		level := float64(bottom) - n/cmp.Or(highest, 1)*seriesHeight
		fmt.Fprintf(&path, "L%.1f %.1fL%.1f %.1f", p.x(time.Duration(i)*column), level, p.x(time.Duration(i+1)*column), level)
	}
	fmt.Fprintf(&path, "L%.1f %dZ", p.x(p.Length), bottom)
	p.print(`<path d="%s" fill="%s"/>`, path.String(), p.theme.area)
	p.print(`<text x="%d" y="%d" text-anchor="end">%s</text>`, left-gap, y+seriesHeight/2, html.EscapeString(series.Name))
	p.print(`<text x="%d" y="%d" text-anchor="end" font-size="9">at most %.0f/s</text>`,
		left-gap, y+seriesHeight/2+12, highest/max(column.Seconds(), 0.001))
}

func (p *picture) moments() {
	for i, moment := range p.Moments {
		anchor := "end" // the text is on the left of its line, so that it covers no later one
		if i == len(p.Moments)-1 {
			anchor = "start"
		}
		p.print(`<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="%s" stroke-width="2"/>`,
			p.x(moment.At), p.x(moment.At), top-gap, p.height(), p.theme.moment)
		p.print(`<text x="%.1f" y="%d" text-anchor="%s" fill="%s">%s</text>`,
			p.x(moment.At), 2*gap, anchor, p.theme.moment, html.EscapeString(moment.Name))
	}
}
