package explain

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/managedfields"
)

// leaves returns the innermost fields of an entry.
func leaves(entry *metav1.ManagedFieldsEntry) *fieldpath.Set {
	return leavesOf(managedfields.Fields(entry))
}

// leavesOf returns the innermost fields. Keys of list items, such as the name of a container, belong to
// their items: they are left out, unless fields have nothing else of an item.
func leavesOf(fields *fieldpath.Set) *fieldpath.Set {
	found := fieldpath.NewSet()
	for path := range fields.Leaves().All() {
		if isKeyOfItem(path) {
			path = path[:len(path)-1]
		}
		found.Insert(path.Copy())
	}
	return found.Leaves()
}

func isKeyOfItem(path fieldpath.Path) bool {
	last := len(path) - 1
	if last < 1 || path[last].FieldName == nil || path[last-1].Key == nil {
		return false
	}
	return slices.Contains(keyNames(path[last-1]), *path[last].FieldName)
}

func keyNames(item fieldpath.PathElement) []string {
	var names []string
	for _, field := range *item.Key {
		names = append(names, field.Name)
	}
	return names
}

// allFields returns the union of the fields of all entries.
func allFields(objects ...metav1.Object) *fieldpath.Set {
	all := fieldpath.NewSet()
	for _, obj := range objects {
		entries := obj.GetManagedFields()
		for i := range entries {
			all = all.Union(managedfields.Fields(&entries[i]))
		}
	}
	return all
}
