package manifest

import (
	"iter"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A step is the last step of a path in a document. The nil step is the root.
type step struct {
	from  *step
	name  string
	index int // of an item; -1 for a member
}

func (s *step) member(name string) *step { return &step{from: s, name: name, index: -1} }
func (s *step) item(index int) *step     { return &step{from: s, index: index} }

// simple is a name that needs no brackets.
var simple = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// String is the way, such as spec.containers[0].image or metadata.labels[app.kubernetes.io/name].
func (s *step) String() string {
	switch {
	case s == nil:
		return ""
	case s.index >= 0:
		return s.from.String() + "[" + strconv.Itoa(s.index) + "]"
	case !simple.MatchString(s.name):
		return s.from.String() + "[" + strings.Trim(strconv.Quote(s.name), `"`) + "]" // on one line
	case s.from == nil:
		return s.name
	default:
		return s.from.String() + "." + s.name
	}
}

// children are the values of a mapping and the items of a sequence.
func children(node *yaml.Node, at *step) iter.Seq2[*yaml.Node, *step] {
	return func(yield func(*yaml.Node, *step) bool) {
		for i, child := range node.Content {
			switch {
			case node.Kind == yaml.MappingNode && i%2 == 0:
			case node.Kind == yaml.MappingNode && !yield(child, at.member(node.Content[i-1].Value)):
				return
			case node.Kind == yaml.SequenceNode && !yield(child, at.item(i)):
				return
			}
		}
	}
}

// scalars yields the scalars in node, or node itself.
func scalars(node *yaml.Node, at *step) iter.Seq2[*yaml.Node, *step] {
	return func(yield func(*yaml.Node, *step) bool) {
		if node.Kind == yaml.ScalarNode {
			yield(node, at)
			return
		}
		for child, path := range children(node, at) {
			for scalar, path := range scalars(child, path) {
				if !yield(scalar, path) {
					return
				}
			}
		}
	}
}
