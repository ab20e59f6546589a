package obstacle

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/managedfields"
)

// Protect keeps the field at steps, and its parents, from being removed.
func (m *Merge) Protect(steps []string) {
	if path := m.find(steps); len(path) > 0 {
		m.protected = append(m.protected, path)
	}
}

// protectDuplicates protects items of live that have the same key: no apply removes only one of them.
func (m *Merge) protectDuplicates() {
	eachList(m.live, nil, m.owned, func(items []any, path fieldpath.Path, owned *fieldpath.Set) {
		known, name := fieldpath.NewSet(), naming(owned)
		if name == nil {
			return
		}
		for _, element := range elements(items, name) {
			if known.Has(fieldpath.Path{element}) {
				m.protected = append(m.protected, append(path.Copy(), element))
			}
			known.Insert(fieldpath.Path{element})
		}
	})
}

func (m *Merge) isProtected(path fieldpath.Path) bool {
	return slices.ContainsFunc(m.protected, func(protected fieldpath.Path) bool {
		return managedfields.HasPrefix(protected, path) || managedfields.HasPrefix(path, protected)
	})
}

// find returns the path of steps in live, nil if there is none. The path ends at a list whose items
// have no names.
func (m *Merge) find(steps []string) fieldpath.Path {
	path, value, owned := fieldpath.Path{}, any(m.live), m.owned
	for _, step := range steps {
		element := fieldpath.FieldNameElement(step)
		switch parent := value.(type) {
		case map[string]any:
			value = parent[step]
		case []any:
			name := naming(owned)
			if name == nil {
				return path
			}
			at := slices.IndexFunc(parent, func(item any) bool {
				return managedfields.IsAt(fieldpath.Path{name(item)}, []string{step})
			})
			if at < 0 {
				return nil
			}
			element, value = name(parent[at]), parent[at]
		default:
			return nil
		}
		if value == nil {
			return nil
		}
		path, owned = append(path, element), owned.WithPrefix(element)
	}
	return path
}
