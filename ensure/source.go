package ensure

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/obstacle"
)

// An environment variable that desired leaves empty can have a source that somebody else set.
// The server takes both, and the source wins, so it is an obstacle though nothing is refused.

// onlySources are those of obstacles that are sources of variables of which desired has more
// than the source: the value.
func onlySources(obstacles []obstacle.Obstacle) []obstacle.Obstacle {
	return slices.DeleteFunc(obstacles, func(o obstacle.Obstacle) bool {
		steps := len(o.Path)
		return steps < 3 || !isNamed(o.Path[steps-1], "valueFrom") || !isNamed(o.Path[steps-3], "env")
	})
}

func isNamed(element fieldpath.PathElement, name string) bool {
	return element.FieldName != nil && *element.FieldName == name
}
