// Package picture draws panels of a dashboard with the data of a recorded run.
package picture

import (
	"context"
	"errors"
	"fmt"
	"image/color"
	"os"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/trueup-go/trueup/test/tools/dashboard/grafana"
	"github.com/trueup-go/trueup/test/tools/dashboard/record"
)

// The panels of the picture, top to bottom.
var panels = []struct {
	title string
	axis  func(*plot.Axis)
}{
	{"Writes by cause", perMinute},
	{"Requests by outcome", perMinute},
	{"Failed requests by reason", perMinute},
	{"Contests", sinceStart},
	{"Time in deletion", logSeconds},
}

// Lengths are in points.
const (
	width       = 11 * vg.Inch
	margin      = vg.Length(12)
	headline    = vg.Length(26)
	tile        = vg.Length(118)
	gap         = vg.Length(26) // between two plots, for a title
	legendWidth = vg.Length(222)
	textSize    = vg.Length(9)
	titleSize   = vg.Length(11)
	thin        = vg.Length(0.5)
	dpi         = 144
)

// window is the window of rates. Grafana derives the window of a page from its time range and the
// scrape interval; this is a little more than Grafana's minimum for such frequent scrapes.
const window = 10 * time.Second

// Draw draws the recording into a PNG file.
func Draw(ctx context.Context, d *grafana.Dashboard, r *record.Recording, path string) error {
	plot.DefaultFont.Variant = "Sans"
	titles, plots, legends := []string{"What happened"}, [][]*plot.Plot{{strip(r)}}, []plot.Legend{plot.NewLegend()}
	values := d.Values(window, r.Length())
	for _, shown := range panels {
		panel, err := d.Chart(shown.title)
		if err != nil {
			return err
		}
		p, legend, err := chart(ctx, panel, values, r)
		if err != nil {
			return fmt.Errorf("cannot draw panel %q: %w", panel.Title, err)
		}
		shown.axis(&p.Y)
		p.HideX()
		titles, plots, legends = append(titles, panel.Title), append(plots, []*plot.Plot{p}), append(legends, legend)
	}
	timeline(&plots[len(plots)-1][0].X)
	canvas := vgimg.NewWith(vgimg.UseDPI(dpi), vgimg.UseBackgroundColor(color.White),
		vgimg.UseWH(width, 2*margin+headline+(tile+gap)*vg.Length(len(plots))))
	page := draw.Crop(draw.New(canvas), margin, -margin, margin, -margin)
	page.FillText(textStyle(14, draw.XLeft, draw.YTop), vg.Point{X: page.Min.X, Y: page.Max.Y},
		"Two operators before, during and after faults")
	left := draw.Crop(page, 0, -legendWidth, 0, -headline)
	tiles := draw.Tiles{Rows: len(plots), Cols: 1, PadTop: gap, PadY: gap}
	for i, row := range plot.Align(plots, tiles, left) {
		plots[i][0].Draw(row[0])
		title := vg.Point{X: page.Min.X, Y: row[0].Max.Y + 5}
		page.FillText(textStyle(titleSize, draw.XLeft, draw.YBottom), title, titles[i])
		beside := row[0]
		beside.Min.X, beside.Max.X = left.Max.X+8, page.Max.X
		legends[i].Draw(beside)
	}
	return write(canvas, path)
}

func write(canvas *vgimg.Canvas, path string) (err error) {
	out, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("cannot write the picture: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = vgimg.PngCanvas{Canvas: canvas}.WriteTo(out)
	return err
}
