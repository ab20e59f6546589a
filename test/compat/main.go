// Command compat proves that a digest survives upgrades: it computes the digests
// of a corpus with every version of k8s.io/api and k8s.io/apimachinery that
// stands in for the changes to come, and compares each with its golden value in
// testdata/digests.txt. It exits with 1 if one differs.
//
//	go -C test/compat run .           # compare
//	go -C test/compat run . -update   # write new golden values, then compare
//
// Each version is built by itself, with the dependencies that it asks for, in a
// temporary module that holds copies of package hash, of what it imports, and of
// the corpus. It has the path of the root module, so that internal packages are
// its own. A replace in the root's go.mod would not do: it would leave every
// other dependency at today's version, which nobody had then.
//
// There are two corpora. Ours (package corpus) is what authors write, nasty
// values among it; it has the golden values. The other is what k8s.io/api itself
// keeps in testdata/HEAD: an object of every kind with every field filled in. A
// fixture of one minor version must have the same digest under every later one.
//
// Both are also computed with a version that is not published: see tomorrow.go.
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
	b, err := newBench(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if failed := b.close(); err == nil {
			err = failed
		}
	}()
	published, err := b.published(ctx)
	if err != nil {
		return err
	}
	trials, err := b.releases(ctx, out, published)
	if err != nil {
		return err
	}
	newest := trials[len(trials)-1]
	if update {
		if err := b.update(ctx, newest); err != nil {
			return err
		}
	}
	want, err := readGolden()
	if err != nil {
		return err
	}
	evolved, err := b.tomorrow(ctx, out, newest.version)
	if err != nil {
		return fmt.Errorf("cannot try tomorrow's version: %w", err)
	}
	trials = append(trials, evolved)
	if trials, err = b.preRelease(ctx, out, trials, published); err != nil {
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
