package status

import "slices"

// conditionsKey is the name of lists whose items are matched by type.
const conditionsKey = "conditions"

// areConditions reports whether each item of list is an object with a type of its own.
func areConditions(list []any) bool {
	seen := map[string]bool{}
	for _, item := range list {
		name := typeOf(item)
		if name == "" || seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

// indexOfType returns the index of the condition of that type, or -1.
func indexOfType(list []any, name string) int {
	return slices.IndexFunc(list, func(condition any) bool { return typeOf(condition) == name })
}

func typeOf(condition any) string {
	object, _ := condition.(map[string]any)
	name, _ := object["type"].(string)
	return name
}
