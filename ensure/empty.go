package ensure

import (
	"bytes"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
	"github.com/trueup-go/trueup/internal/paths"
)

// An apply that empties a list with keys, or a set, removes the list with its last item, and a struct with the last field
// that is owned: nobody owns an empty list. If the API server refuses the object without the list, a repair writes the
// merge by a patch. If it accepts the object, restoreEmpty sets the list to what desired has.

// restoreEmpty restores the lists that desired has empty, and that an apply removed, or to which the API server gave
// their default again. In a dry run, which stores nothing that a second request could build on, it returns what the
// API server says to the merge.
func (u update) restoreEmpty(ctx context.Context, applied application) (application, error) {
	removed, refilled, err := u.lostLists(applied.before, applied.after)
	switch {
	case err != nil || len(removed)+len(refilled) == 0:
		return applied, err
	case u.DryRun:
		rehearsed, err := u.rehearseMerge(ctx, applied)
		if fault.IsRefusal(err) && len(removed) == 0 {
			return applied, nil // Result.Kept names the lists
		}
		return rehearsed, err
	}
	if len(removed) > 0 { // this time, there is nothing left to remove
		if applied.after, err = u.applyDesired(ctx, applied.after.GetUID()); err != nil {
			return application{}, err
		}
	}
	if len(refilled) > 0 {
		applied.after, err = u.emptyLists(ctx, applied.after, refilled)
	}
	return applied, err
}

// emptyLists empties lists of live. If the API server refuses that, Result.Kept names them.
func (u update) emptyLists(ctx context.Context, live client.Object, lists []fieldpath.Path) (client.Object, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return nil, u.Subject.Unencodable(err)
	}
	operations := managedfields.TestUID(live)
	for _, path := range lists {
		items, pointer, _ := obstacle.Lookup(content, path)
		operations = append(operations, jsonpatch.Test(pointer, items), jsonpatch.Replace(pointer, []any{}))
	}
	emptied, err := u.server.PatchJSON(ctx, "repair", operations)
	if answer.IsFinal(err) && !fault.IsRace(err) {
		return live, nil
	}
	return emptied, err
}

// rehearseMerge returns the application of the merge by a dry run.
func (u update) rehearseMerge(ctx context.Context, applied application) (application, error) {
	r := repair{child: u.child}
	if err := r.observe(ctx, applied.after.GetUID()); err != nil {
		return application{}, err
	}
	tried, err := r.rehearse(ctx, nil)
	tried.removed = applied.removed
	return tried, err
}

// lostLists returns the lists that desired has empty and that before had, as far as after has none of them, or has other
// items, which are nobody's.
func (u update) lostLists(before, after client.Object) (removed, refilled []fieldpath.Path, err error) {
	lists, err := u.emptyListsOfDesired(after)
	if err != nil || len(lists) == 0 {
		return nil, nil, err
	}
	was, err := delta.Values(before)
	if err != nil {
		return nil, nil, u.Subject.Unencodable(err)
	}
	found, err := delta.Values(after)
	if err != nil {
		return nil, nil, u.Subject.Unencodable(err)
	}
	own := u.Operator.Owned(after)
	for _, path := range lists {
		steps := managedfields.Steps(path)
		switch was, now := was(steps), found(steps); {
		case was == nil || bytes.Equal(was, now) || own.Holds(path): // or without keys
		case now == nil:
			removed = append(removed, path)
		case u.isNobodys(after, path, now):
			refilled = append(refilled, path)
		}
	}
	return removed, refilled, nil
}

// isNobodys reports whether a list has items, none of which another manager owns.
func (u update) isNobodys(live client.Object, path fieldpath.Path, list canon.Raw) bool {
	return list.HasItems() && managedfields.OwnersIn(managedfields.Others(live, u.Operator.FieldOwner)).Holding(path) == ""
}

// emptyListsOfDesired returns the lists that the last apply of desired had empty, and of which no item is released. Most
// desired states have none.
func (u update) emptyListsOfDesired(live client.Object) ([]fieldpath.Path, error) {
	if !bytes.Contains(u.lastApply, []byte("[]")) {
		return nil, nil
	}
	desired := &unstructured.Unstructured{}
	if err := desired.UnmarshalJSON(u.lastApply); err != nil {
		return nil, u.Subject.Unencodable(err)
	}
	return slices.DeleteFunc(obstacle.EmptyLists(desired.Object, u.Operator.Fields(live)), func(path fieldpath.Path) bool {
		steps := managedfields.Steps(path)
		return slices.ContainsFunc(u.Left, func(left layer.LeftPath) bool { return paths.HasPrefix(left.Steps, steps) })
	}), nil
}
