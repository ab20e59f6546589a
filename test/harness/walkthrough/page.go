// Package walkthrough follows a page of the documentation as a reader does: it runs the commands and writes
// the files that the page shows, in a new folder, with kubebuilder and this checkout of the library.
package walkthrough

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Section is a heading of a page with the text up to the next heading.
type Section struct {
	// Heading is the line with the heading.
	Heading string
	// Text has the lines outside of the blocks.
	Text   string
	Blocks []Block
}

var (
	heading = regexp.MustCompile(`^#+ `)
	// fileName is the line above the block of a file.
	fileName = regexp.MustCompile("^`([^`\\s]+)`(|, continued|, in place of the (?:types with the same names|lines with a minus)):$")
)

// Parse returns the sections of a page in Markdown. The text before the first heading is a section, too.
func Parse(page string) ([]Section, error) {
	sections := []Section{{}}
	lines := strings.Split(page, "\n")
	var above string // the last line that is not empty
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		current := &sections[len(sections)-1]
		language, isFence := strings.CutPrefix(line, "```")
		switch {
		case heading.MatchString(line):
			sections = append(sections, Section{Heading: line})
		case isFence:
			length := slices.Index(lines[i+1:], "```")
			if length < 0 {
				return nil, fmt.Errorf("the block below %q does not end", above)
			}
			i += 1 + length
			current.Blocks = append(current.Blocks, newBlock(language, above, strings.Join(lines[i-length:i], "\n")+"\n"))
		default:
			current.Text += line + "\n"
		}
		if line != "" {
			above = line
		}
	}
	return sections, nil
}

// newBlock returns the block below a line.
func newBlock(language, above, text string) Block {
	b := Block{Text: text}
	if named := fileName.FindStringSubmatch(above); named != nil {
		b.Path = named[1]
		b.Does = map[string]Kind{"": Creates, ", continued": Continues, ", in place of the types with the same names": Replaces}[named[2]]
		if language == "diff" {
			b.Does = Changes
		}
		return b
	}
	switch language {
	case "sh":
		b.Does = Runs
	case "text":
		b.Does = Prints
	}
	return b
}
