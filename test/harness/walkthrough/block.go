package walkthrough

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// A Block is a fenced block of a page.
type Block struct {
	Does Kind
	// Path is the file that the block creates or changes.
	Path string
	Text string
}

// A Kind says for what a block is.
type Kind int

const (
	// Illustrates is a block that the reader only reads.
	Illustrates Kind = iota
	// Runs is a block of commands.
	Runs
	// Prints is what the last command before the block prints, sooner or later.
	Prints
	// Creates is the content of a file.
	Creates
	// Continues is more content of a file.
	Continues
	// Replaces is a block of types that replace those with the same names in a file.
	Replaces
	// Changes is a diff of a file.
	Changes
)

// Apply returns the file after the block, given the file before the block.
func (b *Block) Apply(file string) (string, error) {
	var err error
	switch b.Does {
	case Creates:
		file = b.Text
	case Continues:
		file += "\n" + b.Text
	case Replaces:
		file, err = replaceTypes(file, b.Text)
	case Changes:
		for hunk := range strings.SplitSeq(b.Text, "@@\n") {
			if file, err = patch(file, hunk); err != nil {
				break
			}
		}
	default:
		return "", fmt.Errorf("no file is named above this block:\n%s", b.Text)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", b.Path, err)
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

// replaceTypes replaces types of a file by those with the same names in the declarations.
func replaceTypes(file, declarations string) (string, error) {
	const header = "package p\n"
	replacements, err := typesOf(header + declarations)
	if err != nil {
		return "", err
	}
	for _, replacement := range replacements {
		types, err := typesOf(file)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(types, func(t typeText) bool { return t.name == replacement.name })
		if i < 0 {
			return "", fmt.Errorf("the file has no type %s", replacement.name)
		}
		file = file[:types[i].begin] + replacement.text + file[types[i].end:]
	}
	return file, nil
}

// A typeText is the declaration of a type, with its doc comment.
type typeText struct {
	name, text string
	begin, end int // in the file
}

// typesOf returns the types of a file, each of which has a declaration of its own.
func typesOf(file string) ([]typeText, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "", file, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var types []typeText
	for _, d := range parsed.Decls {
		declaration, ok := d.(*ast.GenDecl)
		if !ok || declaration.Tok != token.TYPE {
			continue
		}
		begin := declaration.Pos()
		if declaration.Doc != nil {
			begin = declaration.Doc.Pos()
		}
		t := typeText{begin: files.Position(begin).Offset, end: files.Position(declaration.End()).Offset}
		t.name, t.text = declaration.Specs[0].(*ast.TypeSpec).Name.Name, file[t.begin:t.end]
		types = append(types, t)
	}
	return types, nil
}

// checkFormat requires that gofmt would not change the file.
func (b *Block) checkFormat(file string) error {
	if filepath.Ext(b.Path) != ".go" {
		return nil
	}
	formatted, err := format.Source([]byte(file))
	if err == nil && string(formatted) != file {
		err = fmt.Errorf("gofmt would change the file to\n%s", formatted)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", b.Path, err)
	}
	return nil
}
