package explain

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// unowned returns the outermost fields of live that no manager owns, such as defaults.
func unowned(live *unstructured.Unstructured, mask mask) []Field {
	s := search{live: live, mask: mask}
	s.visit(nil, live.Object, allFields(live))
	sortFields(s.found)
	return s.found
}

// A search collects fields without an owner.
type search struct {
	live  *unstructured.Unstructured
	mask  mask
	found []Field
}

func (s *search) visit(at fieldpath.Path, parent any, fields *fieldpath.Set) {
	parts, _ := children(parent, fields)
	for _, part := range parts {
		path := append(at.Copy(), part.element)
		inside, isOwnedInParts := fields.Children.Get(part.element)
		switch {
		case isOfServer(path) || isKeyOfItem(path):
		case isOwnedInParts:
			s.visit(path, part.value, inside)
		case !fields.Members.Has(part.element):
			s.found = append(s.found, fieldAt(s.live, path, s.mask))
		}
	}
}

// isOfServer reports whether only the API server sets a field, or whether the field identifies the object.
func isOfServer(path fieldpath.Path) bool {
	switch {
	case len(path) == 1:
		return slices.Contains([]string{"apiVersion", "kind"}, nameAt(path, 0))
	case len(path) == 2 && nameAt(path, 0) == "metadata":
		return slices.Contains([]string{
			"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation",
			"managedFields", "name", "namespace", "resourceVersion", "selfLink", "uid",
		}, nameAt(path, 1))
	}
	return false
}
