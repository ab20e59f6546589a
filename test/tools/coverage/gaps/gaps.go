// Package gaps compares the code that no test executes with a page of reasons.
package gaps

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A Gap is a block of code. Its name does not contain the line number, so that the name stays the
// same when other code changes.
type Gap struct {
	Package   string // its folder in the repository
	File      string // without the folder
	Line      int
	Function  string // with its receiver
	When      string // the condition that leads to it, "" for none
	Statement string // its first, "" if it begins the function
	Nth       int    // 2 for the second of the same name, and so on
	covered   bool
	followsUp bool // what leads to it is not covered either
}

func (g Gap) name() string {
	return strings.Join([]string{g.Package, g.File, g.Function, g.When, g.Statement, strconv.Itoa(g.Nth)}, "\x00")
}

// String returns the place and the name of the block.
func (g Gap) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", path.Join(g.Package, g.File), g.Line, g.Function, g.what())
}

func (g Gap) what() string {
	if g.Statement == "" {
		return "the whole function"
	}
	return g.Statement
}

// Find names every block of a profile, covered or not, in the files of a module, which are in root.
func Find(root fs.FS, module string, profile Profile) ([]Gap, error) {
	var found []Gap
	for _, name := range slices.Sorted(maps.Keys(profile)) {
		file := strings.TrimPrefix(name, module+"/")
		text, err := fs.ReadFile(root, file)
		if err != nil {
			return nil, fmt.Errorf("cannot read what was measured: %w", err)
		}
		s, err := parse(file, text, profile[name])
		if err != nil {
			return nil, err
		}
		found = append(found, s.gaps(file)...)
	}
	return found, nil
}

func (s *source) gaps(file string) []Gap {
	var out []Gap
	seen := map[string]int{}
	for _, b := range s.blocks {
		at, ok := s.first(b)
		if b.statements == 0 || !ok {
			continue
		}
		g := s.gap(at)
		g.Package, g.File = path.Dir(file), path.Base(file)
		g.covered, g.followsUp = b.covered, s.isFollowUp(at)
		seen[g.name()]++
		if n := seen[g.name()]; n > 1 {
			g.Nth = n
		}
		out = append(out, g)
	}
	return out
}
