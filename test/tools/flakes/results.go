package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A test is one test, or subtest, of a package. Without a name it is the package itself, whose
// tests could not be built, or whose TestMain failed.
type test struct{ pkg, name string }

func (t test) String() string {
	if t.name == "" {
		return t.pkg
	}
	return t.pkg + " " + t.name
}

// results are the results of one run.
type results struct {
	passed int
	// failed are the logs of the tests that failed.
	failed map[test]string
}

// An event is one line of go test -json. See go doc test2json.
type event struct {
	Action, Package, Test, Output, ImportPath string
}

// read reads the output of go test -json, and skips lines of other programs.
func read(out io.Reader) (results, error) {
	found := results{failed: map[test]string{}}
	logs := map[test]*strings.Builder{}
	write := func(t test, text string) {
		if logs[t] == nil {
			logs[t] = &strings.Builder{}
		}
		logs[t].WriteString(text)
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil {
			t := test{e.Package, e.Test}
			switch e.Action {
			case "output":
				write(t, e.Output)
			case "build-output":
				write(test{pkg: e.ImportPath}, e.Output)
			case "build-fail":
				found.failed[test{pkg: e.ImportPath}] = ""
			case "pass":
				if e.Test != "" {
					found.passed++
				}
				delete(logs, t)
			case "fail":
				found.failed[t] = ""
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return results{}, fmt.Errorf("cannot read the output of the tests: %w", err)
		}
	}
	for t := range found.failed {
		if logs[t] != nil {
			found.failed[t] = logs[t].String()
		}
	}
	found.dropParents()
	return found, nil
}

// dropParents removes failures that only repeat others: of a test whose subtest failed, and of a
// package with a failed test.
func (r *results) dropParents() {
	for child := range r.failed {
		for parent := range r.failed {
			isParent := parent.pkg == child.pkg && parent != child &&
				(parent.name == "" || strings.HasPrefix(child.name, parent.name+"/"))
			if isParent {
				delete(r.failed, parent)
			}
		}
	}
}

// A tally collects the failures of all runs.
type tally struct {
	failures map[test][]failure
}

type failure struct {
	run int
	log string
}

func (t *tally) add(run int, of results) {
	if t.failures == nil {
		t.failures = map[test][]failure{}
	}
	for test, log := range of.failed {
		t.failures[test] = append(t.failures[test], failure{run, log})
	}
}

func (t *tally) empty() bool { return len(t.failures) == 0 }

// print lists each failed test with its runs and its first log.
func (t *tally) print(out io.Writer) {
	if t.empty() {
		_, _ = fmt.Fprintln(out, "No test failed.")
		return
	}
	var tests []test
	for failed := range t.failures {
		tests = append(tests, failed)
	}
	slices.SortFunc(tests, func(a, b test) int { return strings.Compare(a.String(), b.String()) })
	_, _ = fmt.Fprintf(out, "%d failed at least once:\n", len(tests))
	for _, failed := range tests {
		var runs []string
		for _, f := range t.failures[failed] {
			runs = append(runs, fmt.Sprint(f.run))
		}
		_, _ = fmt.Fprintf(out, "\n%s: in run %s\n", failed, strings.Join(runs, ", "))
		for line := range strings.Lines(t.failures[failed][0].log) {
			_, _ = fmt.Fprint(out, "    "+line)
		}
	}
}
