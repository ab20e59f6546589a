package repair

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/obstacle"
)

// An environment variable that desired leaves empty can have a source that somebody else set.
// The server takes both, and the source wins, so it is an obstacle though nothing is refused.

// removeSources removes valueFrom from the variables whose value desired leaves empty, after an apply.
func removeSources(ctx context.Context, a *server.Applier, applied server.Application) (server.Application, error) {
	if !bytes.Contains(a.Last, []byte(`"value":""`)) {
		return applied, nil
	}
	hasOther := slices.ContainsFunc(a.Server.Child.Unsatisfied(applied.After), func(change layer.Change) bool {
		return strings.HasSuffix(change.Path, "].value")
	})
	if !hasOther {
		return applied, nil
	}
	r, err := start(ctx, a, applied.After, nil)
	if err != nil {
		return server.Application{}, err
	}
	if fixed := onlySources(r.merge.Fixed()); len(fixed) > 0 {
		return server.Application{}, r.blockedError(fixed)
	}
	sources := onlySources(r.merge.Obstacles(nil))
	if len(sources) == 0 {
		return applied, nil
	}
	removed, err := r.remove(ctx, sources)
	if !a.Server.Child.DryRun {
		removed.Before = applied.Before
	}
	return removed, err
}

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
