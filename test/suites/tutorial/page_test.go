package tutorial_test

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/places"
)

// A chapter is a step of the tutorial.
type chapter struct {
	title  string
	blocks []block
	// byHand is the code of the section "By hand".
	byHand string
	// table is the table of the section, as the page has it.
	table string
}

// A block is a fenced block of the page, outside of the sections "By hand".
type block struct {
	does blockKind
	// path is the file that the block creates or changes.
	path string
	text string
}

type blockKind int

const (
	// run is a block of commands.
	run blockKind = iota
	// shows is what the last command before the block prints, sooner or later.
	shows
	// creates is the content of a file.
	creates
	// continues is more content of a file.
	continues
	// changes is a diff of a file.
	changes
)

var (
	// heading is the title of a step.
	heading = regexp.MustCompile(`^## (\d+\. .*)$`)
	// fileName is the line above the block of a file.
	fileName = regexp.MustCompile("^`([^`]+)`(, continued)?:$")
)

// readTutorial returns the page and its chapters.
func readTutorial(t *testing.T) (page string, chapters []chapter) {
	t.Helper()
	root, err := places.Repository()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "docs", "tutorial.md"))
	require.NoError(t, err)
	chapters, err = parse(string(text))
	require.NoError(t, err)
	require.Len(t, chapters, 9)
	return string(text), chapters
}

// parse returns the chapters of a page.
func parse(page string) ([]chapter, error) {
	var chapters []chapter
	var named []string // by the line above the block
	isByHand := false
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch title := heading.FindStringSubmatch(line); {
		case title != nil:
			chapters = append(chapters, chapter{title: title[1]})
			isByHand = false
			continue
		case len(chapters) == 0 || line == "":
			continue
		case line == "### By hand":
			isByHand = true
			continue
		}
		current := &chapters[len(chapters)-1]
		language, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence:
			var text string
			for i++; lines[i] != "```"; i++ {
				text += lines[i] + "\n"
			}
			if isByHand {
				current.byHand += text + "\n"
				break
			}
			b, err := newBlock(language, named, text)
			if err != nil {
				return nil, fmt.Errorf("step %s: %w", current.title, err)
			}
			current.blocks = append(current.blocks, b)
		case isByHand && strings.HasPrefix(line, "|"):
			current.table += line + "\n"
		}
		named = fileName.FindStringSubmatch(line)
	}
	return chapters, nil
}

func newBlock(language string, named []string, text string) (block, error) {
	b := block{text: text}
	switch {
	case named == nil && language == "sh":
		b.does = run
	case named == nil && language == "text":
		b.does = shows
	case named == nil:
		return b, fmt.Errorf("no file is named above this block:\n%s", text)
	case language == "diff":
		b.does = changes
	case named[2] != "":
		b.does = continues
	default:
		b.does = creates
	}
	if named != nil {
		b.path = named[1]
	}
	return b, nil
}

// apply returns the file after the block, given the file before the block.
func (b *block) apply(file string) (string, error) {
	switch b.does {
	case creates:
		file = b.text
	case continues:
		file += "\n" + b.text
	case changes:
		for hunk := range strings.SplitSeq(b.text, "@@\n") {
			var err error
			if file, err = patch(file, hunk); err != nil {
				return "", fmt.Errorf("%s: %w", b.path, err)
			}
		}
	default:
		return "", fmt.Errorf("a block of commands or output is no file:\n%s", b.text)
	}
	return file, b.checkFormat(file)
}

// patch replaces the lines of the hunk with - or a space by those with + or a space.
func patch(file, hunk string) (string, error) {
	before, after := "\n", "\n"
	for line := range strings.Lines(hunk) {
		switch text := line[1:]; line[0] {
		case '-':
			before += text
		case '+':
			after += text
		case ' ':
			before, after = before+text, after+text
		default:
			return "", fmt.Errorf("%q is no line of a diff", line)
		}
	}
	file = "\n" + file
	if found := strings.Count(file, before); found != 1 {
		return "", fmt.Errorf("the file has these lines %d times:%s", found, before)
	}
	return strings.Replace(file, before, after, 1)[1:], nil
}

// checkFormat requires that gofmt would not change the file.
func (b *block) checkFormat(file string) error {
	if filepath.Ext(b.path) != ".go" {
		return nil
	}
	formatted, err := format.Source([]byte(file))
	if err == nil && string(formatted) != file {
		err = fmt.Errorf("gofmt would change the file to\n%s", formatted)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", b.path, err)
	}
	return nil
}
