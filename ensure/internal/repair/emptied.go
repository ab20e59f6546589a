package repair

import (
	"context"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// restoreEmpty applies desired again if the apply removed a list that desired has empty. Nobody owns an empty list with keys, or
// an empty set: the API server removes the list with its last item, and a struct with its last field that is owned. The second
// time, there is nothing left to remove. A dry run stores nothing that a second apply could build on.
func restoreEmpty(ctx context.Context, a *server.Applier, applied server.Application) (server.Application, error) {
	lists, err := a.EmptyLists(applied.After)
	if err != nil || len(lists) == 0 || a.Server.Child.DryRun {
		return applied, err
	}
	was, err := delta.Values(applied.Before)
	if err != nil {
		return server.Application{}, a.Server.Child.Subject.Unencodable(err)
	}
	found, err := delta.Values(applied.After)
	if err != nil {
		return server.Application{}, a.Server.Child.Subject.Unencodable(err)
	}
	own := a.Server.Child.Operator.Owned(applied.After)
	isLost := func(path fieldpath.Path) bool {
		steps := managedfields.Steps(path)
		return was(steps) != nil && found(steps) == nil && !own.Holds(path) // or without keys
	}
	if slices.ContainsFunc(lists, isLost) {
		applied.After, err = a.Apply(ctx, applied.After.GetUID())
	}
	return applied, err
}
