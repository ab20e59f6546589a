package migration_test

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trueup-go/trueup/ensure"
)

// mustReload reports whether the data of an existing ConfigMap changed, whatever the cause.
func mustReload(settings ensure.Result[*corev1.ConfigMap]) bool {
	return slices.ContainsFunc(settings.Changes, func(change ensure.Change) bool {
		return strings.HasPrefix(change.Path, "data")
	})
}
