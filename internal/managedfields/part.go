package managedfields

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/trueup-go/trueup/internal/paths"
)

// MayBePart reports whether fields may have the place that steps lead to only together with more:
// they have a list or a map on the way as a whole, or an item with more keys than the step names.
func MayBePart(fields *fieldpath.Set, steps []string) bool {
	if len(steps) == 0 {
		return false
	}
	for element := range fields.Members.All() {
		isOnTheWay := len(steps) > 1 && isStep(element, steps[0])
		if isOnTheWay && isWhole(fields, element) || isHalfNamed(element, steps[0]) {
			return true
		}
	}
	found := false
	fields.Children.Iterate(func(element fieldpath.PathElement) {
		inside, _ := fields.Children.Get(element)
		found = found || isHalfNamed(element, steps[0]) || isStep(element, steps[0]) && MayBePart(inside, steps[1:])
	})
	return found
}

// isHalfNamed reports whether step names an item by some of its keys.
func isHalfNamed(element fieldpath.PathElement, step string) bool {
	if element.Key == nil || isKey(*element.Key, paths.Keys(step)) {
		return false
	}
	found, wanted := value.FieldList{}, paths.Keys(step)
	for _, field := range *element.Key {
		if _, named := wanted[field.Name]; named {
			found = append(found, field)
		}
	}
	return len(found) > 0 && isKey(found, wanted)
}
