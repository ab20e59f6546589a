// Command compat proves that a digest survives upgrades: it computes the digests
// of a corpus with every version of k8s.io/api and k8s.io/apimachinery that
// represents future changes, and compares each with its golden value in
// testdata/digests.txt. It exits with 1 if one differs.
//
//	go -C test/tools/compat run .           # compare
//	go -C test/tools/compat run . -update   # write new golden values, then compare
//
// Each version is built separately, with the dependencies that it requires, in a
// temporary module with copies of package hash, of its imports, and of the corpus.
// This module has the path of the root module, so that it may import internal
// packages. A replace in the root's go.mod would not suffice: it would leave every
// other dependency at the current version, which nobody combined with the old one.
//
// There are two corpora. Ours (package corpus) contains objects as authors write
// them, difficult values included; it has the golden values. The other consists of
// the fixtures in k8s.io/api's testdata/HEAD: an object of every kind with every
// field filled in. A fixture of one minor version must have the same digest under
// every later one.
//
// The digests of both are also computed with an invented future version: see
// future.go.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const golden = "testdata/digests.txt"

func main() {
	update := flag.Bool("update", false, "write the golden values of the newest release first")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Stdout, *update)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, update bool) (err error) {
	w, err := newWorkspace(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if failed := w.close(); err == nil {
			err = failed
		}
	}()
	published, err := w.published(ctx)
	if err != nil {
		return err
	}
	trials, err := w.releases(ctx, out, published)
	if err != nil {
		return err
	}
	newest := trials[len(trials)-1]
	if update {
		if err := w.update(ctx, newest); err != nil {
			return err
		}
	}
	want, err := readGolden()
	if err != nil {
		return err
	}
	evolved, err := w.testFutureFields(ctx, out, newest.version)
	if err != nil {
		return fmt.Errorf("cannot try tomorrow's version: %w", err)
	}
	trials = append(trials, evolved)
	if trials, err = w.preRelease(ctx, out, trials, published); err != nil {
		return err
	}
	return report(out, trials, want)
}

func readGolden() (digests, error) {
	file, err := os.Open(golden)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	want, err := parseDigests(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", golden, err)
	}
	return want, nil
}
