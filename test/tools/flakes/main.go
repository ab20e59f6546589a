// Command flakes runs tests again and again while the processors are kept busy, and
// lists each test that failed at least once, with its log.
//
//	go -C test run ./tools/flakes -n 3                        # the suites of make test
//	go -C test run ./tools/flakes -n 10 -pkg ./test/suites/status    # those of one package, or of a pattern like ./suites/ensure/...
//
// It ends with exit code 1 if a test failed.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/trueup-go/trueup/test/harness/places"
)

func main() {
	n := flag.Int("n", 10, "how many times the tests are run")
	var s selection
	flag.StringVar(&s.pkg, "pkg", "", "packages, from the repository's root; empty stands for those of make test")
	flag.IntVar(&s.parallel, "p", 1, "how many of these packages are tested at once")
	flag.IntVar(&s.tests, "parallel", runtime.GOMAXPROCS(0), "how many tests of each of them run at once")
	flag.StringVar(&s.unit, "unit", "", "flags of go test for these packages if they are the library's")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	clean, err := hunt(ctx, *n, s)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || !clean {
		os.Exit(1)
	}
}

// A selection names the tests to run.
type selection struct {
	pkg      string // from the repository's root; empty stands for those of make test
	parallel int    // how many packages at once
	tests    int    // how many tests of a package at once
	unit     string // flags of go test for the library's own packages
}

// hunt runs the tests n times and reports whether none failed.
func hunt(ctx context.Context, n int, tests selection) (clean bool, err error) {
	root, err := places.Repository()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	keepBusy(ctx, runtime.NumCPU())
	var all tally
	defer func() { all.print(os.Stdout) }() // also if a run is interrupted
	for i := range n {
		began := time.Now()
		results, err := tests.run(ctx, root)
		if err != nil {
			return false, fmt.Errorf("run %d of %d: %w", i+1, n, err)
		}
		all.add(i+1, results)
		fmt.Printf("run %d of %d: %d tests passed, %d failed, in %s\n",
			i+1, n, results.passed, len(results.failed), time.Since(began).Round(time.Second))
	}
	return all.empty(), nil
}

// keepBusy has so many processors compute until ctx ends.
func keepBusy(ctx context.Context, processors int) {
	for range processors {
		go func() {
			var sum [sha256.Size]byte
			for ctx.Err() == nil {
				sum = sha256.Sum256(sum[:])
			}
		}()
	}
}

// run runs the tests once.
func (s selection) run(ctx context.Context, root string) (results, error) {
	cmd := exec.CommandContext(ctx, "make", "--no-print-directory", "--keep-going", "test", "GOTEST=go test -json -count=1")
	cmd.Dir = root
	if s.pkg != "" {
		dir, pattern, err := module(root, s.pkg)
		if err != nil {
			return results{}, err
		}
		args := []string{
			"test", "-json", "-count=1", "-short", "-timeout", "30m", "-p", strconv.Itoa(s.parallel), "-parallel", strconv.Itoa(s.tests),
		}
		if dir == root {
			args = append(args, strings.Fields(s.unit)...)
		}
		cmd = exec.CommandContext(ctx, "go", append(args, pattern)...)
		cmd.Dir = dir
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return results{}, err
	}
	if err := cmd.Start(); err != nil {
		return results{}, fmt.Errorf("cannot run the tests: %w", err)
	}
	found, readErr := read(out)
	_, _ = io.Copy(io.Discard, out) // what could not be read must not keep the command
	runErr := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return results{}, context.Cause(ctx)
	case readErr != nil:
		return results{}, readErr
	case runErr != nil && len(found.failed) == 0:
		return results{}, fmt.Errorf("no test failed, but the command did: %w", runErr)
	case found.passed == 0 && len(found.failed) == 0:
		return results{}, fmt.Errorf("there is no test in %q", s.pkg)
	}
	return found, nil
}

// module returns the folder of the module that a pattern of packages belongs to, and the
// pattern as seen from there.
func module(root, pkg string) (dir, pattern string, err error) {
	path, rest := filepath.Join(root, pkg), ""
	if filepath.Base(path) == "..." {
		path, rest = filepath.Dir(path), "/..."
	}
	if _, err := os.Stat(path); err != nil {
		return "", "", fmt.Errorf("cannot find the package: %w", err)
	}
	for dir = path; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == root {
			return "", "", fmt.Errorf("%s is in no module", pkg)
		}
	}
	below, err := filepath.Rel(dir, path)
	if below != "." {
		below = "./" + filepath.ToSlash(below)
	}
	return dir, below + rest, err
}
