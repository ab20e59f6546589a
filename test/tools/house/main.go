// Command house measures how closely the parts of package ensure are tied to each other, and compares
// the figures with the limits of limits.go.
//
//	go -C test run ./tools/house       # the figures
//	go -C test run ./tools/house -v    # with all that was counted
//
// It ends with exit code 1 if a figure is above its limit, and also if a limit could be lower. So a
// figure that became better stays so.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/trueup-go/trueup/test/harness/places"
)

func main() {
	verbose := flag.Bool("v", false, "list what was counted")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	complaints, err := run(ctx, *verbose)
	stop()
	if err != nil {
		complaints = append(complaints, err.Error())
	}
	for _, complaint := range complaints {
		fmt.Fprintln(os.Stderr, complaint)
	}
	if len(complaints) > 0 {
		os.Exit(1)
	}
}

// run prints the figures and returns what is wrong with them.
func run(ctx context.Context, verbose bool) ([]string, error) {
	root, err := places.Repository()
	if err != nil {
		return nil, err
	}
	h, err := load(ctx, root)
	if err != nil {
		return nil, err
	}
	if err := h.follow(ctx, root); err != nil {
		return nil, err
	}
	return compare(os.Stdout, h, limits(), verbose)
}

// compare writes a table of the figures to out, and returns a complaint about each one that does not fit its limit.
func compare(out io.Writer, h *house, limits []limit, verbose bool) (complaints []string, err error) {
	var lists strings.Builder
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "figure\tnow\tlimit\ttarget\n")
	for _, l := range limits {
		f := l.measure(h)
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\n", l.name, f.now, l.max, l.target)
		fmt.Fprintf(&lists, "\n%s: %d\n", l.name, f.now)
		for _, part := range f.parts {
			fmt.Fprintf(&lists, "  %s\n", part)
		}
		if complaint := l.check(f.now); complaint != "" {
			complaints = append(complaints, l.name+": "+complaint)
		}
	}
	if err := table.Flush(); err != nil {
		return nil, fmt.Errorf("cannot print the table: %w", err)
	}
	if verbose {
		fmt.Fprint(out, lists.String())
	}
	return complaints, nil
}
