// Package made remembers the children that calls of ensure.Set made and that no list has shown since: a cache may show them
// later than the next call, which may not want them any more.
package made

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/trueup-go/trueup/internal/lru"
)

// A Group is what a list of ensure.Prune is about: the children of a kind, in any version, of one owner.
type Group struct {
	Owner types.UID
	Kind  schema.GroupKind
}

// A Child is an object that the API server has shown.
type Child struct {
	UID types.UID
	Key types.NamespacedName
}

// A Table holds the children of each group, the oldest first. It is safe for concurrent use.
type Table struct {
	mu     sync.Mutex // guards changes
	groups *lru.Table[Group, []Child]
}

// NewTable returns a table of at most the given number of groups.
func NewTable(entries int) *Table { return &Table{groups: lru.New[Group, []Child](entries)} }

// Note notes a child in place of an earlier one of the same name.
func (t *Table) Note(of Group, child Child) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set(of, append(t.without(of, func(known Child) bool { return known.Key == child.Key }), child))
}

// Drop forgets the children with these UIDs, and returns the others.
func (t *Table) Drop(of Group, uids sets.Set[types.UID]) []Child {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest := t.without(of, func(known Child) bool { return uids.Has(known.UID) })
	t.set(of, rest)
	return rest
}

// Has reports whether the group has a child.
func (t *Table) Has(of Group) bool { return t.groups.Has(of) }

func (t *Table) without(of Group, isDropped func(Child) bool) []Child {
	children, _ := t.groups.Get(of)
	return slices.DeleteFunc(slices.Clone(children), isDropped)
}

func (t *Table) set(of Group, children []Child) {
	if len(children) == 0 {
		t.groups.Remove(of)
		return
	}
	t.groups.Set(of, children)
}
