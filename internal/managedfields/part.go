package managedfields

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/trueup-go/trueup/internal/paths"
)

// PartOf returns how many steps lead to a larger value of which the place at all steps is a part: a list or a map that
// fields have as a whole, or an item with more keys than its step names. It returns 0 if there is none.
func PartOf(fields *fieldpath.Set, steps []string) int {
	if len(steps) == 0 {
		return 0
	}
	for element := range fields.Members.All() {
		isOnTheWay := len(steps) > 1 && isStep(element, steps[0]) || isHalfNamed(element, steps[0])
		if isOnTheWay && isWhole(fields, element) {
			return 1
		}
	}
	found := 0
	fields.Children.Iterate(func(element fieldpath.PathElement) {
		inside, _ := fields.Children.Get(element)
		if isHalfNamed(element, steps[0]) && OwnsAt(inside, steps[1:]) {
			found = max(found, 1)
		}
		if n := PartOf(inside, steps[1:]); n > 0 && isStep(element, steps[0]) {
			found = max(found, n+1)
		}
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
