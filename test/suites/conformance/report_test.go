package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/page"
)

// shown holds the results: checks by child and property, the exceptions with their reasons, and the children whose kind the
// server does not have.
var shown = struct {
	sync.Mutex
	counts     map[[2]string]int
	exceptions map[[2]string]sets.Set[string]
	unserved   sets.Set[string]
}{counts: map[[2]string]int{}, exceptions: map[[2]string]sets.Set[string]{}, unserved: sets.New[string]()}

// noteShown counts one check of a property that held for the fixture's kind.
func (f *fixture) noteShown(property string) {
	shown.Lock()
	defer shown.Unlock()
	shown.counts[[2]string{f.name, property}]++
}

// excepts records why a property does not hold for the fixture's kind or a part of it.
func (f *fixture) excepts(property, reason, what string) {
	shown.Lock()
	defer shown.Unlock()
	who := f.name
	if what != "" {
		who += " (" + what + ")"
	}
	key := [2]string{property, reason}
	if shown.exceptions[key] == nil {
		shown.exceptions[key] = sets.New[string]()
	}
	shown.exceptions[key].Insert(who)
}

// A column of the report counts the checks of one property.
type column struct{ head, property string }

var chapters = []struct {
	title, text string
	columns     []column
}{
	{"The life of a child", "With every sort of client; edits by a user with every right.", []column{
		{"create", oneRequest},
		{"free", free},
		{"restart", freeRestart},
		{"additions", additions},
		{"edits", edits},
		{"late edits", lateEdits},
		{"drop", dropped},
		{"delete", deleted},
		{"going", terminating},
		{"foreign", foreign},
	}},
	{"What the server refuses", "With the first and the last sort of client, for a child that is missing and for one that exists. Each time\n" +
		"the error is of its class, names the fields that the server names, and holds no value; nothing is written,\n" +
		"and the server is asked once, or a few times where what others left in the child could be at fault.", []column{
		{"unknown", unknownField},
		{"type", wrongType},
		{"twice", duplicateKey},
		{"label", badLabel},
		{"value", badValue},
		{"policy", policy},
		{"no policy", withoutPolicy},
	}},
	{"Switches, repairs and webhooks", "Kinds in turn with one sort of client or with all, as the tests say.", []column{
		{"switch", switchesOver},
		{"scaled", keepsScale},
		{"unscaled", resetsScale},
		{"repair", repairsLeftovers},
		{"order", keepsOrder},
		{"webhook", livesWithWebhook},
		{"rude", livesWithRude},
		{"late", livesWithLate},
		{"immutable", refusesImmutable},
		{"anew", recreates},
	}},
	{"Owners and races", "Likewise. Before a write means: between the read of a pass and its write.", []column{
		{"raced", neverBack},
		{"lag", lagged},
		{"finalizer", keepsFinalizer},
		{"controller", yieldsToOwner},
		{"deletion", seesTermination},
		{"ours", ownFinalizer},
		{"absent", unwanted},
		{"adopt", adopts},
		{"replace", survivesReplace},
		{"shared", sharesObject},
		{"form", acceptsEitherForm},
		{"labels", labelsOnly},
		{"digest", labelDigest},
	}},
}

// isWhole reports whether every test ran, once: only then do the counts mean anything.
func isWhole() bool {
	for name, whole := range map[string]string{"run": "", "skip": "", "list": "", "count": "1"} {
		if flag.Lookup("test."+name).Value.String() != whole {
			return false
		}
	}
	return true
}

// compareResults compares the results with docs/conformance.md and docs/versions.md, or writes these pages. Other versions
// than the pinned one have only a column of the second.
func compareResults(ctx context.Context) error {
	if unknown := unknownProperties(); len(unknown) > 0 {
		return fmt.Errorf("no column of the report is for %q", unknown)
	}
	err := cluster.CheckVersion(ctx)
	if err == nil {
		err = compareReport(ctx)
	}
	if err != nil && !errors.Is(err, cluster.ErrOtherVersion) {
		return err
	}
	return compareColumn()
}

// compareReport writes the report, or fails if the report in the repository differs. With -short, it
// compares the rows with the results.
func compareReport(ctx context.Context) error {
	if testing.Short() {
		if page.Updating() {
			return errors.New("docs/conformance.md is written from all of the tests: run them without -short")
		}
		return checkRows(ctx)
	}
	text, err := report()
	if err != nil {
		return err
	}
	return page.CompareOrUpdate(ctx, "conformance", string(text))
}

// unknownProperties are properties that were shown and that the report does not know.
func unknownProperties() []string {
	unknown := sets.New[string]()
	for key := range shown.counts {
		unknown.Insert(key[1])
	}
	for _, chapter := range chapters {
		for _, c := range chapter.columns {
			unknown.Delete(c.property)
		}
	}
	return sets.List(unknown)
}

func report() ([]byte, error) {
	kinds, err := countKinds()
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	fmt.Fprintf(&page, introduction, server, len(kindCases()), kinds, len(modes), modeList())
	for _, chapter := range chapters {
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n", chapter.title, chapter.text)
		for _, c := range chapter.columns {
			fmt.Fprintf(&page, "- **%s**: %s\n", c.head, c.property)
		}
		page.WriteString("\n" + table(chapter.columns))
	}
	page.WriteString("\n## Exceptions\n\n" + exceptions())
	return page.Bytes(), nil
}

const introduction = `# Conformance

<!-- Written by make conformance. -->

What ` + "`ensure`" + ` promises, kind by kind, as it was seen on a real API server: kube-apiserver %s with the
controllers and the scheduler of that version. %d children of %d kinds were taken through their lives, by
operators with %d sorts of clients:

%s
The figures count the checks that held, with all of those clients together. Requests are counted by the API
server's audit log and exactly, reads included: "one request" is one, "nothing" is none (with a plain client,
the read that begins each pass). An empty cell is a property that the kind has no part in, or an exception,
which is named below with its reason.

    make conformance    runs all of it and writes this page
    make test-full      runs all of it and fails if this page is not what came out
    make test           tries each property with some of the children, and fails if a row below does not hold
`

func modeList() string {
	var list strings.Builder
	for _, m := range modes {
		fmt.Fprintf(&list, "- %s\n", m.name)
	}
	return list.String()
}

// countKinds counts the kinds of the cases: some are there several times.
func countKinds() (int, error) {
	found := sets.New[schema.GroupVersionKind]()
	for _, k := range kindCases() {
		gvk, err := apiutil.GVKForObject(k.desired(), scheme)
		if err != nil {
			return 0, err
		}
		found.Insert(gvk)
	}
	return found.Len(), nil
}

// table returns padded columns, readable as plain text.
func table(columns []column) string {
	rows := [][]string{{"child"}, {"---"}}
	for _, c := range columns {
		rows[0], rows[1] = append(rows[0], c.head), append(rows[1], "--:")
	}
	for _, name := range children() {
		row, all := []string{name}, 0
		for _, c := range columns {
			n := shown.counts[[2]string{name, c.property}]
			row, all = append(row, figure(n)), all+n
		}
		if all > 0 {
			rows = append(rows, row)
		}
	}
	return page.Table(rows)
}

// children returns the cases, followed by the children of only some tests.
func children() []string {
	var names []string
	others := sets.New[string]()
	for key := range shown.counts {
		others.Insert(key[0])
	}
	for _, k := range kindCases() {
		names = append(names, k.name)
		others.Delete(k.name)
	}
	return append(names, sets.List(others)...)
}

func figure(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func exceptions() string {
	var list strings.Builder
	keys := slices.SortedFunc(maps.Keys(shown.exceptions), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	for _, key := range keys {
		fmt.Fprintf(&list, "- **%s**, but: %s.\n", key[0], key[1])
		for _, who := range sets.List(shown.exceptions[key]) {
			fmt.Fprintf(&list, "  - %s\n", who)
		}
	}
	return list.String()
}

func TestReportKnowsEveryKindOnce(t *testing.T) {
	names := sets.New[string]()
	for _, k := range kindCases() {
		if names.Has(k.name) {
			t.Errorf("two subjects are called %q: their checks are counted as one's", k.name)
		}
		names.Insert(k.name)
	}
}
