package manifest

import (
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// A rendered is the text of a manifest with a token in the place of each value.
//
// The text is read twice, with the tokens and with the values. Both readings must be the same, node for
// node, after the tokens are replaced by the values. Then no value has added, removed or moved
// anything, and the text means what people read in it.
type rendered struct {
	*execution
	text string
}

// read returns the documents of the text.
func (r *rendered) read() ([]document, error) {
	roots, err := parseYAML(r.text)
	if err != nil {
		return nil, r.notYAML(err)
	}
	for _, root := range roots {
		if err := r.checkStructure(root, nil); err != nil {
			return nil, err
		}
	}
	final, ok := r.with(len(r.values), roots)
	if !ok {
		return nil, r.blame(roots)
	}
	documents := make([]document, len(roots))
	for i, root := range roots {
		take(root, final[i])
		documents[i] = document{rendered: r, root: root}
	}
	return documents, nil
}

// with reads the text with the first n values, and reports whether the result agrees with marked, the
// reading with the tokens.
func (r *rendered) with(n int, marked []*yaml.Node) ([]*yaml.Node, bool) {
	replacements := make([]string, 0, 2*n)
	for _, v := range r.values[:n] {
		replacements = append(replacements, v.token, v.yaml)
	}
	final, err := parseYAML(strings.NewReplacer(replacements...).Replace(r.text))
	if err != nil || len(final) != len(marked) {
		return nil, false
	}
	for i := range marked {
		if !r.same(marked[i], final[i], n) {
			return nil, false
		}
	}
	return final, true
}

// same reports whether two readings are the same but for the first n values.
func (r *rendered) same(marked, final *yaml.Node, n int) bool {
	if marked.Kind != final.Kind || len(marked.Content) != len(final.Content) || final.Anchor != "" {
		return false
	}
	for i := range marked.Content {
		if !r.same(marked.Content[i], final.Content[i], n) {
			return false
		}
	}
	if marked.Kind != yaml.ScalarNode {
		return marked.Tag == final.Tag
	}
	want, hasText := r.substitute(marked.Value, n)
	return final.Value == want && final.Style == marked.Style && (!hasText || isText(final))
}

// take replaces the content of marked, which knows the lines of the files, by that of final.
func take(marked, final *yaml.Node) {
	marked.Value, marked.Tag = final.Value, final.Tag
	for i := range marked.Content {
		take(marked.Content[i], final.Content[i])
	}
}

// substitute puts the first n values in the places of their tokens, and reports whether
// one of them is text.
func (r *rendered) substitute(s string, n int) (value string, hasText bool) {
	var out strings.Builder
	for {
		before, index, after, ok := r.cut(s)
		if !ok {
			out.WriteString(s)
			return out.String(), hasText
		}
		out.WriteString(before)
		if index < n {
			out.WriteString(r.values[index].text)
			hasText = hasText || r.values[index].isText
		} else {
			out.WriteString(r.values[index].token)
		}
		s = after
	}
}

// cut finds the first token in s.
func (r *rendered) cut(s string) (before string, index int, after string, found bool) {
	before, rest, found := strings.Cut(s, r.token)
	if !found {
		return s, 0, "", false
	}
	digits, after, _ := strings.Cut(rest, "z")
	index, _ = strconv.Atoi(digits) // the text is a token
	return before, index, after, true
}

// blame finds the value that reads differently: the one with which the text begins to.
func (r *rendered) blame(marked []*yaml.Node) *Error {
	first := sort.Search(len(r.values), func(n int) bool {
		_, ok := r.with(n+1, marked)
		return !ok
	})
	at := r.values[min(first, len(r.values)-1)]
	return at.place.error(pathOf(at, marked), "YAML would not read the output of the action as one value: "+
		"pipe free text through quote, with no quotes or other text around the action")
}

// pathOf is where the documents have the value; empty if that is a comment.
func pathOf(v value, marked []*yaml.Node) string {
	for _, document := range marked {
		for node, path := range scalars(document, nil) {
			if strings.Contains(node.Value, v.token) {
				return path.String()
			}
		}
	}
	return ""
}

// at is the place of a line of the text, as YAML counts them, in the files.
func (r *rendered) at(line int) place {
	start := 0
	for i, char := range r.text {
		if line <= 1 {
			break
		}
		if isBreak(char) {
			line, start = line-1, i+utf8.RuneLen(char)
		}
	}
	return r.around(start)
}

// around is the place of an offset in the text.
func (r *rendered) around(offset int) place {
	after := sort.Search(len(r.spans), func(i int) bool { return r.spans[i].from > offset })
	if after == 0 {
		return place{file: r.sources[0].file, line: 1}
	}
	span := r.spans[after-1]
	span.place.line += strings.Count(r.text[span.from:offset], "\n")
	return span.place
}
