// Command minors tests the library with each minor version of controller-runtime that it supports: its own tests, and suites
// on an API server. It prints a row for each run, and exits with 1 if one fails.
//
//	go -C test run ./tools/minors               # all
//	go -C test run ./tools/minors -only v0.24   # one minor version
//
// Each run has a go.mod of its own, which replaces controller-runtime and the modules that are released with Kubernetes. The
// library requires the lowest minor version, and the tests on a cluster the newest one, which a requirement cannot lower.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A minor is a minor version of controller-runtime.
type minor struct {
	runtime    string // the version of controller-runtime
	kubernetes string // the version of the modules that are released with Kubernetes
	suites     []string
}

// suites are those that the oldest and the newest minor version run.
var suites = []string{"./suites/ensure/repair", "./suites/ensure/children", "./suites/finalizer/...", "./suites/status/..."}

// minors are the supported ones. docs/versions.md lists them.
var minors = []minor{
	{
		runtime: "v0.23.3", kubernetes: "v0.35.0",
		suites: append([]string{"./suites/conformance"}, suites...),
	},
	{runtime: "v0.24.1", kubernetes: "v0.36.6"},
	{
		runtime: "v0.25.2", kubernetes: "v0.37.2",
		suites: suites,
	},
}

// library are the packages that people import, and what these use.
var library = []string{"./ensure/...", "./finalizer/...", "./hash/...", "./internal/...", "./predicates/...", "./status/..."}

func main() {
	only := flag.String("only", "", "test this minor version only, such as v0.24")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Stdout, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, only string) (err error) {
	dir, err := os.MkdirTemp("", "minors")
	if err != nil {
		return fmt.Errorf("cannot make a folder for go.mod files: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var rows []string
	failed := 0
	for _, m := range minors {
		if only != "" && !strings.HasPrefix(m.runtime, only+".") {
			continue
		}
		pins, err := m.pins(ctx)
		if err != nil {
			return err
		}
		for _, what := range m.runs(dir) {
			begun := time.Now()
			result := "passed"
			if err := what.test(ctx, out, pins); err != nil {
				result, failed = err.Error(), failed+1
			}
			rows = append(rows, fmt.Sprintf("controller-runtime %s, k8s.io %s, %s: %s (%s)",
				m.runtime, m.kubernetes, what.name, result, time.Since(begun).Round(time.Second)))
		}
	}
	fmt.Fprintln(out, strings.Join(rows, "\n"))
	switch {
	case len(rows) == 0:
		return fmt.Errorf("no minor version is called %s", only)
	case failed > 0:
		return fmt.Errorf("%d of %d runs failed", failed, len(rows))
	}
	return nil
}

// A testRun is one of go test, in one module.
type testRun struct {
	name    string
	module  string // its folder
	modfile string
	args    []string
}

func (m minor) runs(dir string) []testRun {
	runs := []testRun{{
		name: "the library's own tests", module: "..", modfile: filepath.Join(dir, "library-"+m.runtime+".mod"),
		args: append([]string{"-short"}, library...),
	}}
	if len(m.suites) > 0 {
		runs = append(runs, testRun{
			name: "suites on an API server", module: ".", modfile: filepath.Join(dir, "suites-"+m.runtime+".mod"),
			args: append([]string{"-short", "-count=1", "-p", "2", "-parallel", "6"}, m.suites...),
		})
	}
	return runs
}

func (r testRun) test(ctx context.Context, out io.Writer, pins map[string]string) error {
	if err := writeModfile(r.module, r.modfile, pins); err != nil {
		return err
	}
	args := append([]string{"test", "-vet=off", "-timeout", "30m", "-mod=mod", "-modfile=" + r.modfile}, r.args...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.module, out, out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd.Run()
}
