package ensure

import (
	"bytes"
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
)

// An apply cannot empty a list with keys, or a set: the API server would remove the list with its last item, and
// refuse the object, or set the default, if it needs the list. So lists that desired empties, and all of whose items
// are ours alone, are emptied by a patch before the apply.

// emptyLists empties such lists in live. body is the apply that follows. If the API server refuses the patch, the
// apply shows why. A dry run stores nothing that the apply could build on, so it returns the object that the two
// would make, if the API server accepts that.
func (u update) emptyLists(ctx context.Context, live client.Object, body []byte) (application, error) {
	mayEmpty, err := u.mayEmptyLists(live, body)
	if !mayEmpty || err != nil {
		return application{}, err
	}
	r := repair{child: u.child}
	if err := r.observe(ctx, live.GetUID()); err != nil {
		return application{}, err
	}
	lists := r.merge.Emptied()
	if len(lists) == 0 {
		return application{}, nil
	}
	if u.dryRun {
		ok, err := r.dryRunWithout(ctx, nil)
		return application{before: r.typed(), after: r.accepted, tried: ok}, err
	}
	operations := managedfields.TestUID(r.live)
	for _, list := range lists {
		operations = append(operations, jsonpatch.Test(list.Pointer, list.Value), jsonpatch.Replace(list.Pointer, []any{}))
	}
	_, err = r.patchJSON(ctx, "repair", operations)
	if answer.IsFinal(err) && !isChangedSinceRead(err) {
		err = nil
	}
	return application{}, err
}

// mayEmptyLists reports whether body has an empty list of which this field owner has applied items to live, as far
// as live shows that. Most bodies have no empty list at all.
func (u update) mayEmptyLists(live client.Object, body []byte) (bool, error) {
	if !bytes.Contains(body, []byte("[]")) {
		return false, nil
	}
	if len(live.GetManagedFields()) == 0 {
		return true, nil
	}
	desired, err := u.candidate(u.desiredToApply())
	if err != nil {
		return false, err
	}
	own := u.ownedIn(live)
	return slices.ContainsFunc(obstacle.EmptyLists(desired.Object, own), func(path fieldpath.Path) bool {
		return managedfields.Holds(own, path)
	}), nil
}
