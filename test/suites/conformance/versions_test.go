package conformance_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/semver"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/page"
	"github.com/trueup-go/trueup/test/harness/versions"
)

// compareColumn writes this version's column of docs/versions.md, or fails if the column differs from the results. With
// -short, which tries each child with one sort of client, the results are compared with a short column only.
func compareColumn() error {
	expected, err := cluster.Version()
	if err != nil {
		return err
	}
	if server != expected {
		fmt.Fprintf(os.Stderr, "docs/versions.md is not compared: the API server is %s, not %s\n", server, expected)
		return nil
	}
	text, err := page.Read("versions")
	if err != nil {
		return err
	}
	written, err := versions.Parse(text)
	if err != nil {
		return err
	}
	results, err := resultsColumn()
	if err != nil {
		return err
	}
	if page.Updating() {
		written.Set(results)
		return page.Write("versions", written.Text(propertyNames()))
	}
	column, ok := written.Column(server)
	if ok && column.Short != results.Short {
		return nil
	}
	if diff := cmp.Diff(column, results); diff != "" {
		return fmt.Errorf("the column %s of docs/versions.md is stale: run make conformance K8S=%s\n%s", server, minorVersion(), diff)
	}
	return nil
}

// minorVersion returns 1.36 for the server's version v1.36.3.
func minorVersion() string {
	return strings.TrimPrefix(semver.MajorMinor(server), "v")
}

func resultsColumn() (versions.Column, error) {
	results := versions.Column{Version: server, Short: testing.Short(), Counts: sums(shown.counts)}
	pinned, err := page.Read("conformance")
	if err != nil {
		return results, err
	}
	results.Differences, err = differences(pinned)
	return results, err
}

// differences lists the figures and exceptions that differ from those of a page. With -short, only figures that are
// missing or new are listed.
func differences(pinned string) ([]string, error) {
	counts, err := countsOf(pinned)
	if err != nil {
		return nil, err
	}
	var found []string
	for child := range shown.unserved {
		found = append(found, child+": the API server does not have this version of the kind")
	}
	all := maps.Clone(counts)
	maps.Copy(all, shown.counts)
	for cell := range all {
		want, got := counts[cell], shown.counts[cell]
		if want == got || shown.unserved.Has(cell[0]) || testing.Short() && want > 0 && got > 0 {
			continue
		}
		found = append(found, fmt.Sprintf("%s, %s: %d instead of %d", cell[0], cell[1], got, want))
	}
	_, list, _ := strings.Cut(pinned, "\n## Exceptions\n\n")
	expected, excepted := exceptionsOf(list), exceptionsOf(exceptions())
	for exception := range expected {
		if !excepted[exception] && !testing.Short() {
			found = append(found, exception+": no exception here")
		}
	}
	for exception := range excepted {
		if !expected[exception] {
			found = append(found, exception)
		}
	}
	slices.Sort(found)
	return found, nil
}

// exceptionsOf reads a list of exceptions: each child together with its property and reason.
func exceptionsOf(list string) map[string]bool {
	found, reason := map[string]bool{}, ""
	for line := range strings.Lines(list) {
		line = strings.TrimRight(line, "\n")
		if child, ok := strings.CutPrefix(line, "  - "); ok {
			found[child+", "+reason] = true
		} else if rest, ok := strings.CutPrefix(line, "- "); ok {
			reason = strings.TrimSuffix(strings.ReplaceAll(rest, "**", ""), ".")
		}
	}
	return found
}

// sums adds the checks of all children, by property.
func sums(counts map[[2]string]int) map[string]int {
	sums := map[string]int{}
	for _, property := range propertyNames() {
		sums[property] = 0
	}
	for cell, n := range counts {
		sums[cell[1]] += n
	}
	return sums
}

func propertyNames() []string {
	var names []string
	for _, chapter := range chapters {
		for _, c := range chapter.columns {
			names = append(names, c.property)
		}
	}
	return names
}
