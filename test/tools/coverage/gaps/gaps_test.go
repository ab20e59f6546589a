package gaps_test

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/tools/coverage/gaps"
)

// measured returns testdata/shop.go, and the profile that go test -coverprofile writes for it with
// a test that calls most of the file: as counter/shop.go of the module example.com/shop.
func measured(t *testing.T) (source, profile string) {
	t.Helper()
	text, err := os.ReadFile("testdata/shop.go")
	require.NoError(t, err)
	found, err := os.ReadFile("testdata/profile.txt")
	require.NoError(t, err)
	return string(text), string(found)
}

func find(t *testing.T, source, profile string) []gaps.Gap {
	t.Helper()
	read, err := gaps.Read(strings.NewReader(profile))
	require.NoError(t, err)
	blocks, err := gaps.Find(fstest.MapFS{"counter/shop.go": {Data: []byte(source)}}, "example.com/shop", read)
	require.NoError(t, err)
	return blocks
}

// emptyPage returns the page that a first update writes.
func emptyPage(t *testing.T, source, profile string) string {
	t.Helper()
	return gaps.ParsePage("").Write(find(t, source, profile))
}

// rows returns the rows of a page.
func rows(page string) []string {
	var found []string
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "| `") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

func TestRowsNameTheCode(t *testing.T) {
	source, profile := measured(t)
	require.Empty(t, cmp.Diff([]string{
		"| `shop.go` `(*till).add` | `if n, err := strconv.Atoi(text); err != nil` | `return err` |  |",
		"| `shop.go` `(*till).add` | `if n < 0 \\|\\| n > 100` | `return strconv.ErrRange` |  |",
		"| `shop.go` `till.size` | `case t.total > 50` | `return \"much\"` |  |",
		"| `shop.go` `till.size` | `default` | `return \"little\"` |  |",
		"| `shop.go` `never` |  | the whole function |  |",
		"| `shop.go` `twice` | `if ok := a; ok` | `return true` |  |",
		"| `shop.go` `twice` | `if ok := a; ok` | `return true`, number 2 |  |",
		"| `shop.go` `twice` | `if b` | `later := func() bool { return b }` |  |",
		"| `shop.go` `late` | `in a function value` | `` return `a\\|b` `` |  |",
		"| `shop.go` `late` |  | `return nil` |  |",
	}, rows(emptyPage(t, source, profile))))
}

// shifted moves all code down by a line.
func shifted(source, profile string) (string, string) {
	var moved []string
	for line := range strings.Lines(profile) {
		name, rest, ok := strings.Cut(line, ".go:")
		if !ok {
			moved = append(moved, line)
			continue
		}
		from, to, _ := strings.Cut(rest, ",")
		moved = append(moved, name+".go:"+below(from)+","+below(to))
	}
	return strings.Replace(source, "\n", "\n\n", 1), strings.Join(moved, "")
}

// below returns a position moved down by one line, with the text that follows.
func below(position string) string {
	line, rest, _ := strings.Cut(position, ".")
	n, _ := strconv.Atoi(line) // go test wrote it
	return strconv.Itoa(n+1) + "." + rest
}

func TestNamesSurviveNewLines(t *testing.T) {
	source, profile := measured(t)
	page := gaps.ParsePage(emptyPage(t, source, profile)).Write(find(t, source, profile))
	require.Empty(t, cmp.Diff(page, emptyPage(t, source, profile)))
	newSource, newProfile := shifted(source, profile)
	require.Empty(t, cmp.Diff(page, emptyPage(t, newSource, newProfile)))
}

func TestReasonsAreKept(t *testing.T) {
	source, profile := measured(t)
	page := explained(emptyPage(t, source, profile))
	require.Equal(t, page, gaps.ParsePage(page).Write(find(t, source, profile)))
	require.Empty(t, gaps.ParsePage(page).Check(find(t, source, profile)))
}

// explained gives each row a reason of one kind.
func explained(page string) string {
	return strings.ReplaceAll(page, "|  |\n", "| impossible: we say so |\n")
}

const (
	errorRow = "| `shop.go` `(*till).add` | `if n, err := strconv.Atoi(text); err != nil` | `return err` | "
	someRow  = "| `shop.go` `till.size` | `case t.total > 10` | `return \"some\"` | "
)

func TestCheck(t *testing.T) {
	source, profile := measured(t)
	page := explained(emptyPage(t, source, profile))
	const why = "impossible: we say so |"
	covered := strings.Replace(profile, "10.17,12.4 1 0", "10.17,12.4 1 3", 1)
	require.NotEqual(t, covered, profile)
	for name, tc := range map[string]struct {
		page, source, profile string
		want                  []string
	}{
		"no row": {
			strings.Replace(page, errorRow+why+"\n", "", 1), source, profile,
			[]string{"counter/shop.go:11: (*till).add: return err: not covered, and not in the page"},
		},
		"no reason": {
			strings.Replace(page, errorRow+why, errorRow+" |", 1), source, profile,
			[]string{"counter/shop.go:11: (*till).add: return err: has no reason"},
		},
		"a reason of no kind": {
			strings.Replace(page, errorRow+why, errorRow+"because |", 1), source, profile,
			[]string{"counter/shop.go:11: (*till).add: return err: the reason is of no known kind: because"},
		},
		"covered": {
			page, source, covered,
			[]string{"counter/shop.go:11: (*till).add: return err: is covered, but the page gives a reason why it is not"},
		},
		"covered now and then":     {strings.Replace(page, errorRow+why, errorRow+"a race: with others |", 1), source, covered, nil},
		"not covered now and then": {strings.Replace(page, errorRow+why, errorRow+"a race: with others |", 1), source, profile, nil},
		"changed": {
			page, strings.Replace(source, "return err\n", "return nil\n", 1), profile,
			[]string{
				"counter/shop.go:11: (*till).add: return nil: not covered, and not in the page",
				"counter: " + strings.TrimSuffix(errorRow, " | ") + ": the page names code that is gone",
			},
		},
		"gone from another package": {page + "\n## status\n\n" + someRow + "a race: we say so |\n", source, profile, []string{
			"status: " + strings.TrimSuffix(someRow, " | ") + ": the page names code that is gone",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, cmp.Diff(tc.want, gaps.ParsePage(tc.page).Check(find(t, tc.source, tc.profile))))
		})
	}
}

// TestUpdateKeepsRaces: code that only some runs cover keeps its row when it is covered.
func TestUpdateKeepsRaces(t *testing.T) {
	source, profile := measured(t)
	page := strings.Replace(emptyPage(t, source, profile), errorRow+" |", errorRow+"a race: with others |", 1)
	covered := strings.Replace(profile, "10.17,12.4 1 0", "10.17,12.4 1 3", 1)
	require.Contains(t, gaps.ParsePage(page).Write(find(t, source, covered)), errorRow+"a race: with others |")
	require.NotContains(t, gaps.ParsePage(explained(page)).Write(find(t, strings.Replace(source, "return err\n", "return nil\n", 1), profile)), errorRow)
	plain := explained(emptyPage(t, source, profile))
	require.NotContains(t, gaps.ParsePage(plain).Write(find(t, source, covered)), errorRow)
}

func TestPrint(t *testing.T) {
	read, err := gaps.Read(strings.NewReader("mode: set\n" +
		"example.com/b/b.go:1.1,2.2 3 0\nexample.com/a/a.go:1.1,2.2 1 1\nexample.com/a/c.go:1.1,2.2 2 0\nexample.com/b/b.go:1.1,2.2 3 7\n"))
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, read.Print(&out))
	require.Empty(t, cmp.Diff([][]string{
		{"statements", "covered", "%", "package"},
		{"3", "1", "33.3", "example.com/a"},
		{"3", "3", "100.0", "example.com/b"}, // one of its tests says so
		{"6", "4", "66.7", "total"},
	}, fields(out.String())))
}

func fields(table string) [][]string {
	var out [][]string
	for line := range strings.Lines(table) {
		out = append(out, strings.Fields(line))
	}
	return out
}

func TestWhatCannotBeRead(t *testing.T) {
	for profile, want := range map[string]string{
		"mode: set\nwhatever":                "line 2 of the profile: \"whatever\" names no file",
		"mode: set\na/b.go:1.2,x":            "line 2 of the profile: \"a/b.go:1.2,x\" is no block",
		strings.Repeat("a", 1<<20) + "\nb\n": "cannot read the profile",
	} {
		_, err := gaps.Read(strings.NewReader(profile))
		require.ErrorContains(t, err, want)
	}
	read, err := gaps.Read(strings.NewReader("example.com/shop/a/b.go:1.1,2.2 1 0\n"))
	require.NoError(t, err)
	_, err = gaps.Find(fstest.MapFS{}, "example.com/shop", read)
	require.ErrorContains(t, err, "cannot read what was measured")
	_, err = gaps.Find(fstest.MapFS{"a/b.go": {Data: []byte("no Go")}}, "example.com/shop", read)
	require.ErrorContains(t, err, "cannot parse")
}
