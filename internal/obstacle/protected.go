package obstacle

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/managedfields"
)

// Protect keeps the field at steps, and its parents, from being removed.
func (m *Merge) Protect(steps []string) {
	if path := m.find(steps); len(path) > 0 {
		m.spared = append(m.spared, path)
	}
}

// protectDuplicates spares items of live that have the same key, of which no apply removes one only.
func (m *Merge) protectDuplicates(value any, path fieldpath.Path, owned *fieldpath.Set) {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			element := fieldpath.FieldNameElement(name)
			m.protectDuplicates(member, append(path, element), owned.WithPrefix(element))
		}
	case []any:
		name := naming(owned)
		if name == nil {
			return
		}
		known := fieldpath.NewSet()
		for _, item := range value {
			element := name(item)
			if known.Has(fieldpath.Path{element}) {
				m.spared = append(m.spared, append(path.Copy(), element))
			}
			known.Insert(fieldpath.Path{element})
			m.protectDuplicates(item, append(path, element), owned.WithPrefix(element))
		}
	}
}

func (m *Merge) isProtected(path fieldpath.Path) bool {
	return slices.ContainsFunc(m.spared, func(spared fieldpath.Path) bool {
		return managedfields.HasPrefix(spared, path) || managedfields.HasPrefix(path, spared)
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
