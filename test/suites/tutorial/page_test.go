package tutorial_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/places"
	"github.com/trueup-go/trueup/test/harness/walkthrough"
)

// A chapter is a step of the tutorial.
type chapter struct {
	title  string
	blocks []walkthrough.Block
	// byHand is the code of the section "By hand".
	byHand string
	// table is the table of the section, as the page has it.
	table string
}

// step is the heading of a chapter.
var step = regexp.MustCompile(`^## (\d+\. .*)$`)

// readTutorial returns the page and its chapters.
func readTutorial(t *testing.T) (page string, chapters []chapter) {
	t.Helper()
	root, err := places.Repository()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "docs", "tutorial.md"))
	require.NoError(t, err)
	sections, err := walkthrough.Parse(string(text))
	require.NoError(t, err)
	for _, section := range sections {
		title := step.FindStringSubmatch(section.Heading)
		switch {
		case title != nil:
			chapters = append(chapters, chapter{title: title[1], blocks: section.Blocks})
		case section.Heading == "### By hand":
			readByHand(&chapters[len(chapters)-1], &section)
		default:
			require.Empty(t, section.Blocks, "blocks of %q, which is no step", section.Heading)
		}
	}
	require.Len(t, chapters, 9)
	return string(text), chapters
}

// readByHand adds a section "By hand" to a chapter.
func readByHand(c *chapter, section *walkthrough.Section) {
	for _, b := range section.Blocks {
		c.byHand += b.Text + "\n"
	}
	for line := range strings.Lines(section.Text) {
		if strings.HasPrefix(line, "|") {
			c.table += line
		}
	}
}
