// Package obstacle finds the fields of a live object that keep an API server from merging
// desired into it: desired does not specify them, somebody else owns them, and together with
// desired they are invalid. A Service port that a person edited stays beside ours and has the
// same name; a rollingUpdate that the server filled in does not go with strategy Recreate.
package obstacle

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/paths"
)

// An Obstacle is a field, or a list item, that may conflict with a merge.
type Obstacle struct {
	// Path leads to the field or item.
	Path fieldpath.Path
	// Managers own the obstacle, or fields inside, by updates. A field without an owner has none.
	Managers []string
	// Pointer and Value are the place and the value in live.
	Pointer string
	Value   any
	// IsNamed reports whether the API server named the obstacle itself.
	IsNamed bool

	wroteAt time.Time // the latest write of the managers
}

// Obstacles returns the fields that may conflict and may be removed, the likeliest first. named are the
// fields that the server named in its refusal.
//
// Each obstacle is as large as possible: a struct and not its fields, as the rest of a struct may be
// invalid as well. On the way to a field that the server named, the smaller parts are included, too.
func (m *Merge) Obstacles(named []string) []Obstacle {
	causes := m.resolveAll(named)
	var found []Obstacle
	add := func(path fieldpath.Path) {
		found = m.appendNew(found, path, (*entry).isTakeable)
	}
	for _, cause := range causes {
		for end := range cause {
			path := cause[:end+1]
			isExact := end+1 == len(cause)
			if m.mayGo(path) && (m.isOwned(path, (*entry).isTakeable) || isExact && !m.isOwned(path, anyEntry)) {
				add(path)
			}
		}
	}
	for _, e := range m.entries {
		if e.isTakeable() {
			e.fields.Iterate(func(path fieldpath.Path) {
				if outermost := m.outermost(path, m.mayGo); outermost != nil {
					add(outermost)
				}
			})
		}
	}
	for i := range found {
		found[i].IsNamed = slices.ContainsFunc(causes, found[i].Path.Equals)
	}
	slices.SortStableFunc(found, func(a, b Obstacle) int {
		return cmp.Or(cmp.Compare(rank(b.Path, causes), rank(a.Path, causes)), b.wroteAt.Compare(a.wroteAt))
	})
	return found
}

// Fixed returns the fields that may be in the way and are for others to remove: another
// program applies them, or writes them through a subresource, or they are protected.
func (m *Merge) Fixed() []Obstacle {
	var found []Obstacle
	for _, e := range m.entries {
		if !e.isFixed() {
			continue
		}
		e.fields.Iterate(func(path fieldpath.Path) {
			if outermost := m.outermost(path, m.isUnspecified); outermost != nil {
				found = m.appendNew(found, outermost, (*entry).isFixed)
			}
		})
	}
	for _, path := range m.protected {
		if m.isUnspecified(path) {
			found = m.appendNew(found, path, anyEntry)
		}
	}
	return found
}

// rank returns how likely path is an obstacle. On the way to a field that the server named, nearer
// paths rank higher. Other paths rank lower, by the length of the shared way.
func rank(path fieldpath.Path, causes []fieldpath.Path) int {
	const onTheWay = 1 << 16
	best := 0
	for _, cause := range causes {
		shared := 0
		for shared < min(len(path), len(cause)) && path[shared].Equals(cause[shared]) {
			shared++
		}
		if shared == len(path) {
			shared += onTheWay
		}
		best = max(best, shared)
	}
	return best
}

// appendNew appends the obstacle at path, unless found contains the path already, or live has nothing
// there.
func (m *Merge) appendNew(found []Obstacle, path fieldpath.Path, sort func(*entry) bool) []Obstacle {
	known := slices.ContainsFunc(found, func(o Obstacle) bool { return o.Path.Equals(path) })
	if o, ok := m.obstacle(path, sort); ok && !known {
		found = append(found, o)
	}
	return found
}

// obstacle returns the obstacle at path with the managers among the entries of a sort, and false if
// live has nothing there.
func (m *Merge) obstacle(path fieldpath.Path, sort func(*entry) bool) (Obstacle, bool) {
	value, pointer, ok := Lookup(m.live, path)
	o := Obstacle{Path: path.Copy(), Managers: m.managers(path, sort), Pointer: pointer, Value: value}
	for i := range m.entries {
		e := &m.entries[i]
		if sort(e) && e.Time != nil && e.Time.After(o.wroteAt) && managedfields.Holds(e.fields, path) {
			o.wroteAt = e.Time.Time
		}
	}
	return o, ok
}

// managers returns the managers of the entries of a sort that own path or something inside.
func (m *Merge) managers(path fieldpath.Path, sort func(*entry) bool) []string {
	var managers []string
	for i := range m.entries {
		e := &m.entries[i]
		if sort(e) && e.Manager != "" && managedfields.Holds(e.fields, path) && !slices.Contains(managers, e.Manager) {
			managers = append(managers, e.Manager)
		}
	}
	return managers
}

func anyEntry(*entry) bool { return true }

func (m *Merge) isOwned(path fieldpath.Path, sort func(*entry) bool) bool {
	return slices.ContainsFunc(m.entries, func(e entry) bool { return sort(&e) && managedfields.Holds(e.fields, path) })
}

// outermost returns the shortest beginning of path that is of a sort; nil if there is none.
func (m *Merge) outermost(path fieldpath.Path, isOfSort func(fieldpath.Path) bool) fieldpath.Path {
	for end := range path {
		if isOfSort(path[:end+1]) {
			return path[:end+1].Copy()
		}
	}
	return nil
}

// mayGo reports whether path may be removed: desired specifies nothing inside, no other program applies
// the field, and the field is not protected.
func (m *Merge) mayGo(path fieldpath.Path) bool {
	return m.isUnspecified(path) && !m.isOwned(path, (*entry).isFixed) && !m.isProtected(path)
}

// isUnspecified reports whether live has something at path where desired has nothing. Of an
// item that desired does not have only the whole counts, and so does the whole of a list that
// is written as one. The metadata, the status and whole parts such as spec never count.
func (m *Merge) isUnspecified(path fieldpath.Path) bool {
	last := len(path) - 1
	switch first := path[0].FieldName; {
	case first == nil || slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, *first):
		return false
	case specifies(m.desired, path):
		return false
	}
	for i := range path {
		isItem := path[i].FieldName == nil
		if path[i].Index != nil || isItem && i < last && !specifies(m.desired, path[:i+1]) {
			return false
		}
	}
	value, _, ok := Lookup(m.live, path)
	_, isObject := value.(map[string]any)
	return ok && !(last == 0 && isObject)
}

// resolveAll returns the paths of fields as the server named them.
func (m *Merge) resolveAll(named []string) []fieldpath.Path {
	merged := m.merged(nil, m.dropped())
	var paths []fieldpath.Path
	for _, field := range named {
		path := m.resolve(merged, field)
		// Members that a map seems to lose, because it looks as if written as a whole, are in live only.
		if inLive := m.resolve(m.live, field); len(inLive) > len(path) && !strings.Contains(field, "[") {
			path = inLive
		}
		if len(path) > 0 {
			paths = append(paths, path)
		}
	}
	return paths
}

// resolve returns the path for a field name of the server, as far as the merged object has the field.
// The indexes in the name are those of the merged lists. The name may belong to the server's internal
// version, with another spelling.
func (m *Merge) resolve(merged any, field string) fieldpath.Path {
	var path fieldpath.Path
	owned := m.owned
	for _, step := range paths.Steps(field) {
		element, value, ok := enter(merged, step, owned)
		if !ok {
			break
		}
		path, merged, owned = append(path, element), value, owned.WithPrefix(element)
	}
	return path
}

func enter(parent any, step string, owned *fieldpath.Set) (element fieldpath.PathElement, value any, ok bool) {
	switch parent := parent.(type) {
	case map[string]any:
		if value, ok = parent[step]; ok {
			return fieldpath.FieldNameElement(step), value, true
		}
		for _, name := range slices.Sorted(maps.Keys(parent)) {
			if strings.EqualFold(name, step) {
				return fieldpath.FieldNameElement(name), parent[name], true
			}
		}
	case []any:
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || i >= len(parent) {
			return element, nil, false
		}
		if name := naming(owned); name != nil {
			return name(parent[i]), parent[i], true
		}
		return fieldpath.IndexElement(i), parent[i], true
	}
	return element, nil, false
}

// Again returns the same obstacles as they are in another copy of live, and false if one of
// them has changed, or may not go any more.
func (m *Merge) Again(obstacles []Obstacle) ([]Obstacle, bool) {
	again := make([]Obstacle, 0, len(obstacles))
	for _, before := range obstacles {
		now, ok := m.obstacle(before.Path, (*entry).isTakeable)
		if !ok || !m.mayGo(before.Path) || !reflect.DeepEqual(now.Value, before.Value) {
			return nil, false
		}
		again = append(again, now)
	}
	return again, true
}

// Within returns those of obstacles that are inside the fields that the server named. A named item stands for its
// list.
func (m *Merge) Within(obstacles []Obstacle, named []string) []Obstacle {
	causes := m.resolveAll(named)
	return slices.DeleteFunc(slices.Clone(obstacles), func(o Obstacle) bool {
		return !slices.ContainsFunc(causes, func(cause fieldpath.Path) bool {
			isItem := func(element fieldpath.PathElement) bool { return element.FieldName == nil }
			if at := slices.IndexFunc(cause, isItem); at > 0 {
				cause = cause[:at]
			}
			return managedfields.HasPrefix(o.Path, cause)
		})
	})
}

// Beside returns those of obstacles that are in the structs around the fields that the server named, such as the other
// source of a volume. Structs come first, as the other one of a union mostly is one.
func (m *Merge) Beside(obstacles []Obstacle, named []string) []Obstacle {
	causes := m.resolveAll(named)
	beside := slices.DeleteFunc(slices.Clone(obstacles), func(o Obstacle) bool {
		return !slices.ContainsFunc(causes, func(cause fieldpath.Path) bool {
			return len(cause) > 2 && managedfields.HasPrefix(o.Path, cause[:len(cause)-1])
		})
	})
	isStruct := func(o Obstacle) bool {
		_, is := o.Value.(map[string]any)
		return is
	}
	isNoStruct := func(o Obstacle) bool { return !isStruct(o) }
	return slices.Concat(slices.DeleteFunc(slices.Clone(beside), isNoStruct), slices.DeleteFunc(beside, isStruct))
}

// Inside returns the items of an obstacle that is a list with keys, or the members of one that is a map
// of scalars, which may go one by one; nil for any other obstacle. An item of a list goes whole.
func (m *Merge) Inside(o Obstacle) []Obstacle {
	var found []Obstacle
	add := func(path fieldpath.Path) {
		isOthers := m.isOwned(path, (*entry).isTakeable) || !m.isOwned(path, anyEntry)
		if isOthers && m.mayGo(path) {
			found = m.appendNew(found, path, (*entry).isTakeable)
		}
	}
	switch value := o.Value.(type) {
	case map[string]any:
		if isItem := o.Path[len(o.Path)-1].FieldName == nil; isItem || !isFlat(value) {
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			add(append(o.Path.Copy(), fieldpath.FieldNameElement(name)))
		}
	case []any:
		for _, e := range m.entries {
			e.fields.Iterate(func(path fieldpath.Path) {
				if end := len(o.Path) + 1; len(path) >= end && managedfields.HasPrefix(path, o.Path) {
					add(path[:end].Copy())
				}
			})
		}
	}
	return found
}

// isFlat reports whether a map has no maps and no lists as members.
func isFlat(members map[string]any) bool {
	for _, member := range members {
		switch member.(type) {
		case map[string]any, []any:
			return false
		}
	}
	return true
}

// Contains reports whether path leads to the obstacle or into it.
func (o *Obstacle) Contains(path fieldpath.Path) bool { return managedfields.HasPrefix(path, o.Path) }
