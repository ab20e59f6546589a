package ensure

import (
	"context"
	"slices"
	"strings"

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

// removeSources removes such sources after an apply.
func (u update) removeSources(ctx context.Context, applied application) (application, error) {
	hasOther := slices.ContainsFunc(u.unsatisfied(applied.after), func(change Change) bool {
		return strings.HasSuffix(change.Path, "].value")
	})
	if !hasOther {
		return applied, nil
	}
	r := repair{child: u.child}
	if err := r.observe(ctx, applied.after.GetUID()); err != nil {
		return application{}, err
	}
	if fixed := onlySources(r.merge.Fixed()); len(fixed) > 0 {
		return application{}, r.blocked(fixed)
	}
	sources := onlySources(r.merge.Obstacles(nil))
	if len(sources) == 0 {
		return applied, nil
	}
	if u.dryRun {
		if _, err := r.try(ctx, sources); err != nil {
			return application{}, err
		}
	}
	removed, err := r.remove(ctx, sources)
	if !u.dryRun {
		removed.before = applied.before
	}
	return removed, err
}
