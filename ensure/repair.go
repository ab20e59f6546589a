package ensure

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/canon"
)

// applyOrRepair applies desired to live. An apply merges, and what others left in
// live can make the merge invalid for ever though desired is fine: an edited Service
// port stays beside ours and has its name. So a refusal that names fields is judged,
// and if live's leftovers are at fault, they are replaced, once. What that made of live is
// returned also if the apply after it fails.
func (c *child) applyOrRepair(ctx context.Context, live client.Object) (client.Object, error) {
	applied, refusal := c.send(ctx, "apply", live.GetUID(), "")
	if refusal == nil || !namesFieldsOnly(refusal) {
		return applied, refusal
	}
	fine, err := c.isFineAlone(ctx, live, refusal)
	if err != nil || !fine {
		return nil, refusal
	}
	replacements := canon.Replacements(live, c.desired, answer.Fields(refusal))
	if len(replacements) == 0 {
		return nil, c.immutable(live, refusal)
	}
	patched, err := c.replace(ctx, live, replacements)
	switch {
	case err != nil && namesFieldsOnly(err):
		return patched, c.immutable(live, err)
	case err != nil || c.dryRun: // the rest builds on what is not there then
		return patched, err
	}
	applied, err = c.send(ctx, "apply", live.GetUID(), "")
	switch {
	case err != nil && namesFieldsOnly(err):
		return patched, c.immutable(live, err)
	case err != nil:
		return patched, err
	}
	return applied, nil
}

// namesFieldsOnly reports whether err is a 422 all of whose causes name fields, none
// of the metadata. A cause without a field is an admission policy's.
func namesFieldsOnly(err error) bool {
	causes := answer.Causes(err)
	return apierrors.IsInvalid(err) && len(causes) > 0 && !slices.ContainsFunc(causes, func(cause metav1.StatusCause) bool {
		return cause.Field == "" || strings.HasPrefix(cause.Field, "metadata")
	})
}

// isFineAlone asks the server by a dry run whether it would create desired, once more for
// each node port that live itself holds. A refusal of other fields than the update's counts
// as yes.
func (c *child) isFineAlone(ctx context.Context, live client.Object, refusal error) (bool, error) {
	candidate, err := c.candidate()
	if err != nil {
		return false, err
	}
	c.alone = false
	differing := pathsOf(c.unsatisfied(live))
	err = c.tryCreate(ctx, candidate)
	for err != nil && c.leaveOut(candidate, answer.Fields(err), differing) {
		err = c.tryCreate(ctx, candidate)
	}
	if err == nil {
		c.alone = !c.wantsAnotherIP(candidate, differing)
		return true, nil
	}
	causes := answer.Causes(err)
	named := answer.Fields(refusal)
	return apierrors.IsInvalid(err) && len(causes) > 0 && !slices.ContainsFunc(causes, func(cause metav1.StatusCause) bool {
		return cause.Field == "" || slices.Contains(named, cause.Field)
	}), nil
}

// tryCreate has the server create candidate without storing it. That the object exists is
// the last thing it finds, after all that it checks of a new one, so that is no error.
func (c *child) tryCreate(ctx context.Context, candidate *unstructured.Unstructured) error {
	c.requests++
	err := c.client.Create(ctx, candidate.DeepCopy(),
		client.DryRunAll, client.FieldOwner(c.fieldOwner), client.DisableReadYourWritesConsistency)
	if answer.IsThere(err) {
		return nil
	}
	return err
}

// candidate is desired as the apply would send it.
func (c *child) candidate() (*unstructured.Unstructured, error) {
	stamped, err := c.withDigest()
	if err != nil {
		return nil, err
	}
	body, err := canon.Body(stamped, c.gvk, "", "")
	if err != nil {
		return nil, err
	}
	candidate := &unstructured.Unstructured{}
	return candidate, candidate.UnmarshalJSON(body)
}

// replace sets the named parts of live to desired's and gives up what that leaves in the
// managed fields: a co-owner would keep what desired drops later.
//
// It tests what it builds on, and not the resourceVersion, which moves all the time
// while a rollout reports its progress.
func (c *child) replace(ctx context.Context, live client.Object, replacements []canon.PatchOperation) (client.Object, error) {
	patched, err := c.patchJSON(ctx, "repair", append(testOfUID(live), replacements...))
	if err != nil || c.dryRun || entryOf(live, c.fieldOwner, metav1.ManagedFieldsOperationUpdate) >= 0 {
		// Somebody writes under our field owner by other means than ensure. What they own is
		// not ours to give up.
		return patched, err
	}
	return patched, c.disown(ctx, patched)
}

// disownAttempts bounds the tries beside others who write at the same time.
const disownAttempts = 5

// disown removes the Update entry that a replacement left under our name. The apply that
// follows makes ours what desired specifies; the rest, such as a node port that was kept,
// was nobody's before.
func (c *child) disown(ctx context.Context, live client.Object) error {
	for range disownAttempts {
		update := entryOf(live, c.fieldOwner, metav1.ManagedFieldsOperationUpdate)
		if update < 0 {
			return nil
		}
		p := newEntryPatch(live)
		p.remove(update)
		_, err := c.patchJSON(ctx, "repair", p.operations())
		if !hasMoved(err) {
			return err
		}
		if live, err = c.readServer(ctx); err != nil || live == nil {
			return err
		}
	}
	return nil // the fields stay owned twice, which does no harm until desired drops one
}

func (c *child) patchJSON(ctx context.Context, operation string, operations []canon.PatchOperation) (client.Object, error) {
	patch, err := json.Marshal(operations)
	if err != nil {
		return nil, c.unfit(err)
	}
	return c.patch(ctx, operation, types.JSONPatchType, patch)
}

// immutable says that the server takes desired, but not for this object.
func (c *child) immutable(live client.Object, refusal error) *Error {
	named, paths := answer.Fields(refusal), pathsOf(c.unsatisfied(live))
	if len(paths) == 0 {
		// live is as desired: what a webhook makes of each update cannot be done.
		paths = named
	}
	out := c.fail(ErrImmutable, "apply", "the server does not let an existing object be changed so, for "+strings.Join(named, ", ")+
		"; desired differs in "+strings.Join(paths, ", ")+"; delete it to have it made anew, or allow that with ensure.Recreate", paths...)
	out.cause = refusal
	return out
}
