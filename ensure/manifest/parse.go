package manifest

import (
	"fmt"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode/utf8"
)

// sharedSuffix is of the files whose definitions every manifest may use.
const sharedSuffix = ".tpl"

// A sourceFile is a file with its text.
type sourceFile struct{ file, text string }

func newSource(file, text string) (sourceFile, error) {
	number := 0
	for line := range strings.Lines(text) {
		if number++; !utf8.ValidString(line) {
			return sourceFile{}, &Error{File: file, Line: number, Problem: "is not UTF-8"}
		}
	}
	return sourceFile{file: file, text: strings.ReplaceAll(text, "\r\n", "\n")}, nil
}

// A parsed is a manifest with the files that it may use.
type parsed struct {
	sources []sourceFile
	set     *template.Template
	places  []place // by the index in the marks
	token   string  // begins every token, and occurs in no source
}

// A place is a line of a file.
type place struct {
	file string
	line int
}

func (p place) error(path, problem string) *Error {
	return &Error{File: p.file, Line: p.line, Path: path, Problem: problem}
}

func (p *parsed) isOf(sources []sourceFile) bool { return slices.Equal(p.sources, sources) }

// parseSources parses sources, of which the first is the manifest, and adds marks: before each text one
// that records the position, at the end of each action with a result one that takes the result, and in
// each range one that counts the iterations.
func parseSources(sources []sourceFile) (*parsed, error) {
	p := &parsed{sources: sources, set: newTemplate(sources[0].file), token: unused(sources)}
	definedIn := map[string]string{}
	for _, source := range sources {
		own, err := newTemplate(source.file).Parse(source.text)
		if err != nil {
			return nil, notParsed(source, err)
		}
		for _, definition := range own.Templates() {
			name := definition.Name()
			if other, twice := definedIn[name]; twice {
				return nil, &Error{File: source.file, Problem: fmt.Sprintf("defines %q, which %s also defines", name, other)}
			}
			definedIn[name] = source.file
			p.mark(source, definition.Root)
			if _, err := p.set.AddParseTree(name, definition.Tree); err != nil {
				return nil, notParsed(source, err)
			}
		}
	}
	return p, nil
}

// newTemplate returns a template that knows the names of the functions. The execution implements them.
func newTemplate(name string) *template.Template {
	return template.New(name).Option("missingkey=error").Funcs((&execution{}).functions())
}

// unused returns a character that occurs in no source. A word would not do: two texts may form the word
// together if the action between them has no result.
func unused(sources []sourceFile) string {
	token := '\ue000' // the first for private use
	for slices.ContainsFunc(sources, func(s sourceFile) bool { return strings.ContainsRune(s.text, token) }) {
		token++
	}
	return string(token)
}

func (p *parsed) mark(source sourceFile, list *parse.ListNode) {
	if list == nil {
		return
	}
	marked := make([]parse.Node, 0, 2*len(list.Nodes))
	for _, node := range list.Nodes {
		switch node := node.(type) {
		case *parse.TextNode:
			marked = append(marked, p.action(textFunction, source, node.Position()))
		case *parse.ActionNode:
			if len(node.Pipe.Decl) == 0 {
				node.Pipe.Cmds = append(node.Pipe.Cmds, p.call(yieldFunction, source, node.Position()))
			}
		case *parse.IfNode:
			p.mark(source, node.List)
			p.mark(source, node.ElseList)
		case *parse.WithNode:
			p.mark(source, node.List)
			p.mark(source, node.ElseList)
		case *parse.RangeNode:
			p.mark(source, node.List)
			p.mark(source, node.ElseList)
			node.List.Nodes = slices.Insert(node.List.Nodes, 0, parse.Node(p.action(turnFunction, source, node.Position())))
		}
		marked = append(marked, node)
	}
	list.Nodes = marked
}

// action calls nothing but function.
func (p *parsed) action(function string, source sourceFile, pos parse.Pos) *parse.ActionNode {
	return &parse.ActionNode{NodeType: parse.NodeAction, Pos: pos, Pipe: &parse.PipeNode{
		NodeType: parse.NodePipe, Pos: pos, Cmds: []*parse.CommandNode{p.call(function, source, pos)},
	}}
}

// call returns a call of function whose first argument is the index of the position pos.
func (p *parsed) call(function string, source sourceFile, pos parse.Pos) *parse.CommandNode {
	index := len(p.places)
	p.places = append(p.places, place{file: source.file, line: 1 + strings.Count(source.text[:pos], "\n")})
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: []parse.Node{
		parse.NewIdentifier(function).SetPos(pos),
		&parse.NumberNode{NodeType: parse.NodeNumber, Pos: pos, IsInt: true, Int64: int64(index), Text: fmt.Sprint(index)},
	}}
}
