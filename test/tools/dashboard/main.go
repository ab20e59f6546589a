// Dashboard runs operators before, during and after faults, records their metrics, and draws the panels
// of docs/dashboard.json.
//
//	go -C test/tools/dashboard run .           # run, record and draw
//	go -C test/tools/dashboard run . -redraw   # draw what was recorded last
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/tools/dashboard/acts"
	"github.com/trueup-go/trueup/test/tools/dashboard/fit"
	"github.com/trueup-go/trueup/test/tools/dashboard/grafana"
	"github.com/trueup-go/trueup/test/tools/dashboard/picture"
	"github.com/trueup-go/trueup/test/tools/dashboard/record"
)

const (
	page    = "../../../docs/dashboard.json"
	drawing = "../../../docs/dashboard.png"
	figures = "testdata/run.yaml"
)

func main() {
	redraw := flag.Bool("redraw", false, "draw what was recorded last")
	flag.Parse()
	log.SetLogger(logr.Discard()) // the clients have nothing to add
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *redraw)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, redraw bool) error {
	d, err := grafana.Read(page)
	if err != nil {
		return err
	}
	if !redraw {
		if err := recordRun(ctx, d); err != nil {
			return err
		}
	}
	recording, err := record.Read(figures)
	if err != nil {
		return err
	}
	return picture.Draw(ctx, d, recording, drawing)
}

// recordRun runs the operators and records the metrics that the dashboard shows.
func recordRun(ctx context.Context, d *grafana.Dashboard) error {
	fmt.Println("Operators are at work for some minutes.")
	recording, err := acts.Run(ctx, acts.Slow())
	if err != nil {
		return err
	}
	for _, span := range append(recording.Phases(), recording.Acts()...) {
		took := time.Duration((span.To - span.From) * float64(time.Second)).Round(time.Second)
		fmt.Printf("%4.0f s  %4s  %s\n", span.From, took, span.Name)
	}
	return recording.Write(figures, fit.Shown(d, recording.Latest()).Has)
}
