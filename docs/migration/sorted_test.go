package migration_test

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Before: in the order of the map, which is another one in each pass.
func variablesInOrderOfMap(settings map[string]string) (variables []corev1.EnvVar) {
	for name, value := range settings {
		variables = append(variables, corev1.EnvVar{Name: name, Value: value})
	}
	return variables
}

// After: sorted by name.
func variables(settings map[string]string) (variables []corev1.EnvVar) {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		variables = append(variables, corev1.EnvVar{Name: name, Value: settings[name]})
	}
	return variables
}
