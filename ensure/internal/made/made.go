// Package made remembers the children that calls of ensure.Set made and that no list has shown since: a cache may show them
// later than the next call, which may not want them any more.
package made

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/internal/lru"
)

// A Table holds the children of each kind, in any version, and owner, the oldest first. It is safe for concurrent use.
type Table struct {
	mu     sync.Mutex // guards changes
	groups *lru.Table[group, []child]
}

type group struct {
	owner types.UID
	kind  schema.GroupKind
}

type child struct {
	uid types.UID
	key types.NamespacedName
}

// NewTable returns a table of the children of at most the given number of kinds and owners.
func NewTable(entries int) *Table { return &Table{groups: lru.New[group, []child](entries)} }

// Note notes the live object of c in place of an earlier one of the same name.
func (t *Table) Note(c *layer.Child, live client.Object) {
	t.mu.Lock()
	defer t.mu.Unlock()
	noted := child{live.GetUID(), client.ObjectKeyFromObject(live)}
	t.set(c, append(t.without(c, func(known child) bool { return known.key == noted.key }), noted))
}

// Forget forgets the object with this UID.
func (t *Table) Forget(c *layer.Child, uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set(c, t.without(c, func(known child) bool { return known.uid == uid }))
}

// Unlisted forgets the objects in list, and returns the others, the newest first: with a name and a UID only, as they have to be
// read. c tells their kind and owner.
func (t *Table) Unlisted(c *layer.Child, list client.ObjectList) (unlisted []client.Object) {
	if !t.groups.Has(groupOf(c)) {
		return nil
	}
	listed := sets.New[types.UID]()
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		if live, ok := item.(client.Object); ok {
			listed.Insert(live.GetUID())
		}
		return nil
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	rest := t.without(c, func(known child) bool { return listed.Has(known.uid) })
	t.set(c, rest)
	for _, known := range slices.Backward(rest) {
		obj := c.Kind.Empty(c.Desired)
		obj.SetNamespace(known.key.Namespace)
		obj.SetName(known.key.Name)
		obj.SetUID(known.uid)
		unlisted = append(unlisted, obj)
	}
	return unlisted
}

func groupOf(c *layer.Child) group { return group{c.Owner.GetUID(), c.Kind.GVK.GroupKind()} }

func (t *Table) without(c *layer.Child, isDropped func(child) bool) []child {
	children, _ := t.groups.Get(groupOf(c))
	return slices.DeleteFunc(slices.Clone(children), isDropped)
}

func (t *Table) set(c *layer.Child, children []child) {
	if len(children) == 0 {
		t.groups.Remove(groupOf(c))
		return
	}
	t.groups.Set(groupOf(c), children)
}
