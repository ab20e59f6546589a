package obstacle

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// KeepingTaken returns the merge of desired with live's values in the fields that desired specifies, that others own,
// and that the field owner's applies do not own, and whether there are such values.
func (m *Merge) KeepingTaken() (*Merge, bool) {
	own := fieldpath.NewSet()
	for _, e := range m.entries {
		if e.own {
			own = own.Union(e.fields)
		}
	}
	kept, isTaken := *m, false
	kept.desired = runtime.DeepCopyJSON(m.desired)
	kept.entries, kept.protected = slices.Clone(m.entries), slices.Clone(m.protected)
	for _, e := range m.entries {
		if !e.isAnothers() {
			continue
		}
		e.fields.Leaves().Difference(own).Iterate(func(path fieldpath.Path) {
			live, _, isThere := Lookup(m.live, path)
			wanted, _, isWanted := Lookup(kept.desired, path)
			if isThere && isWanted && !reflect.DeepEqual(live, wanted) {
				set(kept.desired, path, runtime.DeepCopyJSONValue(live))
				isTaken = true
			}
		})
	}
	return &kept, isTaken
}

// set replaces the value at path in a JSON value that has one there.
func set(tree any, path fieldpath.Path, value any) {
	last := len(path) - 1
	parent, _, _ := Lookup(tree, path[:last])
	switch parent := parent.(type) {
	case map[string]any:
		parent[*path[last].FieldName] = value
	case []any:
		parent[indexOf(parent, path[last])] = value
	}
}
