package canon

import (
	"strconv"

	"github.com/trueup-go/trueup/internal/paths"
)

// A Node is a place in a canonical form. Its path is built only if somebody asks for it.
type Node struct {
	// Shape is that of the value at the place.
	Shape

	parent *Node
	name   []byte     // of a member of parent
	rule   *MergeRule // of parent, if parent is a list
	item   Raw        // of such a list
	index  int
}

// Member returns the node of a member of the object at n.
func (n *Node) Member(name []byte) Node {
	return Node{Shape: n.inner(name), parent: n, name: name}
}

// Item returns the node of an item of the list at n, and of its index if the list has no merge keys.
func (n *Node) Item(item Raw, index int) Node {
	inner, rule := n.Items()
	return Node{Shape: inner, parent: n, rule: rule, item: item, index: index}
}

// Path returns the path of n.
func (n *Node) Path() string {
	switch {
	case n.parent == nil:
		return ""
	case n.rule == nil:
		_, path := n.parent.Shape.Member(n.parent.Path(), string(n.name))
		return path
	case n.rule.Kind == Atomic:
		return paths.Item(n.parent.Path(), strconv.Itoa(n.index))
	}
	return paths.Item(n.parent.Path(), n.rule.name(n.item))
}
