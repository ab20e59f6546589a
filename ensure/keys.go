package ensure

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// completeKeys completes the keys of desired's list items in the merge. Desired may leave out members of
// a key for which the schema of a custom kind has defaults. Without whole keys, nothing tells desired's
// items from those of others, and nothing may be removed.
func (r *repair) completeKeys(ctx context.Context) error {
	lacking := r.merge.CompleteKeys(r.applied)
	if len(lacking) > 0 && r.applied == nil {
		if err := r.applyElsewhere(ctx); err != nil {
			return err
		}
		lacking = r.merge.CompleteKeys(r.applied)
	}
	if len(lacking) == 0 {
		return nil
	}
	var paths []string
	for _, path := range lacking {
		paths = appendNew(paths, managedfields.Text(path))
	}
	out := r.fail(ErrInvalid, "apply", "desired leaves out parts of the keys of items in "+strings.Join(paths, ", ")+
		", and the API server does not tell their defaults: specify whole keys: "+r.message(r.refusal, answer.NotShown), paths...)
	out.cause = r.refusal
	return out
}

// applyElsewhere notes which fields an apply of desired owns. The API server tells by a dry run for an
// object that does not exist.
func (r *repair) applyElsewhere(ctx context.Context) error {
	r.applied = fieldpath.NewSet()
	values, err := r.onceIn(r.live)
	if err != nil {
		return err
	}
	elsewhere, err := r.candidate(r.whole(values))
	if err != nil {
		return err
	}
	elsewhere.SetName(string(uuid.NewUUID()))
	body, err := elsewhere.MarshalJSON()
	if err != nil {
		return r.unfit(err)
	}
	if err := r.ask(); err != nil {
		return err
	}
	err = r.client.Patch(ctx, elsewhere, client.RawPatch(types.ApplyPatchType, canon.YAML(body)), client.FieldOwner(r.fieldOwner),
		client.DryRunAll, client.DisableReadYourWritesConsistency)
	switch {
	case err == nil:
		r.applied = managedfields.Fields(managedfields.Applied(elsewhere, r.fieldOwner))
	case !answer.IsFinal(err):
		return r.requestError("repair", err)
	}
	return nil
}
