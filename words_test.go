package trueup_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// The pages that a reader has to find the way through. A word is a part between spaces that has a letter or a digit, in code,
// too. Tables that a command writes do not count.
const (
	longestReadme = 800
	longestDocs   = 34_000
)

var (
	// writtenPages are those that a command writes as a whole.
	writtenPages = []string{"docs/benchmarks.md", "docs/conformance.md", "docs/predicates.md", "docs/readiness.md"}
	writtenPart  = regexp.MustCompile(`(?s)<!-- Begin: written by .*?<!-- End -->`)
	tableRow     = regexp.MustCompile(`(?m)^\|.*$`)
)

// TestPagesAreShort counts the words of the README and of docs.
func TestPagesAreShort(t *testing.T) {
	require.LessOrEqual(t, wordsOf(t, "README.md"), longestReadme, "words in README.md: move details to docs")
	words := 0
	require.NoError(t, filepath.WalkDir("docs", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			words += wordsOf(t, path)
		}
		return err
	}))
	require.Greater(t, words, longestDocs/2, "pages are no longer found")
	require.LessOrEqual(t, words, longestDocs, "words in docs: link to the page that says it already")
}

func wordsOf(t *testing.T, page string) int {
	t.Helper()
	text := writtenPart.ReplaceAllString(read(t, page), "")
	if slices.Contains(writtenPages, filepath.ToSlash(page)) {
		text = tableRow.ReplaceAllString(text, "")
	}
	words := strings.Fields(text)
	isNoWord := func(word string) bool {
		return !strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	}
	return len(slices.DeleteFunc(words, isNoWord))
}
