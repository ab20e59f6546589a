package repair

import (
	"bytes"
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/object"
	"github.com/trueup-go/trueup/internal/obstacle"
)

// An apply that empties a list with keys, or a set, removes the list with its last item, and a struct with the last field
// that is owned: nobody owns an empty list. If the API server refuses the object without the list, a repair writes the
// merge by a patch. If it accepts the object, restoreEmpty sets the list to what desired has.

// restoreEmpty restores the lists that desired has empty, and that an apply removed, or to which the API server gave
// their default again. In a dry run, which stores nothing that a second request could build on, it returns what the
// API server says to the merge.
func restoreEmpty(ctx context.Context, a *server.Applier, applied server.Application) (server.Application, error) {
	removed, refilled, err := lostLists(a, applied.Before, applied.After)
	switch {
	case err != nil || len(removed)+len(refilled) == 0:
		return applied, err
	case a.Server.Child.DryRun:
		rehearsed, err := rehearseMerge(ctx, a, applied)
		if fault.IsRefusal(err) && len(removed) == 0 {
			return applied, nil // Result.Kept names the lists
		}
		return rehearsed, err
	}
	if len(removed) > 0 { // this time, there is nothing left to remove
		if applied.After, err = a.Apply(ctx, applied.After.GetUID()); err != nil {
			return server.Application{}, err
		}
	}
	if len(refilled) > 0 {
		applied.After, err = emptyLists(ctx, a, applied.After, refilled)
	}
	return applied, err
}

// emptyLists empties lists of live. If the API server refuses that, Result.Kept names them.
func emptyLists(ctx context.Context, a *server.Applier, live client.Object, lists []fieldpath.Path) (client.Object, error) {
	content, err := object.Content(live)
	if err != nil {
		return nil, a.Server.Child.Subject.Unencodable(err)
	}
	operations := managedfields.TestUID(live)
	for _, path := range lists {
		items, pointer, ok := obstacle.Lookup(content, path)
		if !ok { // an item that its keys do not tell apart
			continue
		}
		operations = append(operations, jsonpatch.Test(pointer, items), jsonpatch.Replace(pointer, []any{}))
	}
	emptied, err := a.Server.PatchJSON(ctx, "repair", operations)
	if answer.IsFinal(err) && !fault.IsRace(err) {
		return live, nil
	}
	return emptied, err
}

// rehearseMerge returns the application of the merge by a dry run.
func rehearseMerge(ctx context.Context, a *server.Applier, applied server.Application) (server.Application, error) {
	r, err := start(ctx, a, applied.After, nil)
	if err != nil {
		return server.Application{}, err
	}
	tried, err := r.rehearse(ctx, nil)
	tried.Removed = applied.Removed
	return tried, err
}

// lostLists returns the lists that desired has empty and that before had, as far as after has none of them, or has other
// items, which are nobody's.
func lostLists(a *server.Applier, before, after client.Object) (removed, refilled []fieldpath.Path, err error) {
	lists, err := a.EmptyLists(after)
	if err != nil || len(lists) == 0 {
		return nil, nil, err
	}
	was, err := delta.Values(before)
	if err != nil {
		return nil, nil, a.Server.Child.Subject.Unencodable(err)
	}
	found, err := delta.Values(after)
	if err != nil {
		return nil, nil, a.Server.Child.Subject.Unencodable(err)
	}
	own := a.Server.Child.Operator.Owned(after)
	for _, path := range lists {
		steps := managedfields.Steps(path)
		switch was, now := was(steps), found(steps); {
		case was == nil || bytes.Equal(was, now) || own.Holds(path): // or without keys
		case now == nil:
			removed = append(removed, path)
		case now.HasItems() && a.Server.Child.Operator.OthersHolding(after, path) == "":
			refilled = append(refilled, path)
		}
	}
	return removed, refilled, nil
}
