package ensure

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/canon"
)

// createOnly is a resourceVersion, 2^62, that no object has: an apply that carries
// it creates, or is answered 409 Conflict if the object exists. Seen on
// kube-apiserver 1.36; an ordinary create would leave our fields owned by an Update
// entry, from which a later apply could not remove them.
const createOnly = "4611686018427387904"

// create makes the object if there is none, in one request.
func (c *child) create(ctx context.Context) (outcome, error) {
	c.adopted, c.stamped = false, nil
	replaced, isRecreated := c.replacements.Get(c.ownedID())
	desired, err := c.whole(replaced.once)
	if err != nil {
		return outcome{}, err
	}
	answer, err := c.send(ctx, "create", desired, "", createOnly)
	if err != nil {
		return outcome{}, err
	}
	c.confirm(answer)
	found := outcome{live: answer, operation: Created, cause: Missing}
	if c.dryRun {
		return found, nil
	}
	if isRecreated {
		c.replacements.Remove(c.ownedID())
		found.operation, found.cause, found.changes = Recreated, replaced.cause, replaced.changes
	}
	return found, nil
}

// apply puts live right, as a rule in one request, which the server may find to be
// nothing. It carries live's UID: without it an apply based on a stale read would bring a
// deleted object back.
func (c *child) apply(ctx context.Context, live client.Object, cause Cause) (outcome, error) {
	applied, err := c.applyOrRepair(ctx, live)
	return c.conclude(ctx, live, cause, applied, err)
}

// conclude returns the outcome of an application to live, or of a rehearsal of one.
func (c *child) conclude(ctx context.Context, live client.Object, cause Cause, applied application, err error) (outcome, error) {
	if errors.Is(err, ErrImmutable) {
		return c.replaceOrGiveUp(ctx, live, cause, err)
	}
	if err != nil {
		return outcome{}, err
	}
	c.recall() // what other reconciles learnt meanwhile counts, too
	answer := applied.after
	found := outcome{live: answer, operation: Unchanged}
	changes := c.changesBy(applied)
	if len(changes) > 0 || c.isOutdated(live) && cause == DesiredChanged {
		found = outcome{live: answer, operation: Updated, cause: cause, changes: changes}
	}
	if controller := metav1.GetControllerOfNoCopy(answer); controller != nil && !c.isWanted(controller) && !c.adopt {
		c.wrote(found) // all the same: somebody took control between our read and our apply
		return outcome{}, c.withdraw(ctx, live, answer)
	}
	c.confirm(answer)
	if answer.GetDeletionTimestamp() != nil {
		c.wrote(found)
		return outcome{}, c.terminating("apply", "its deletion began meanwhile")
	}
	return found, nil
}

// sendApply applies desired to the live object with this UID.
func (c *child) sendApply(ctx context.Context, uid types.UID, opts ...client.PatchOption) (client.Object, error) {
	desired, err := c.part()
	if err != nil {
		return nil, err
	}
	return c.send(ctx, "apply", desired, uid, "", opts...)
}

// send applies desired by force. Answer and request are of the caller's Go type, so
// that a client which waits for its own writes waits for this one.
func (c *child) send(
	ctx context.Context, operation string, desired canon.Object, uid types.UID, version string, opts ...client.PatchOption,
) (client.Object, error) {
	body, err := canon.Body(desired, c.gvk, uid, version)
	if err != nil {
		return nil, c.unfit(err)
	}
	return c.applyBody(ctx, operation, body, opts...)
}

// patch sends a patch and returns the server's answer.
func (c *child) patch(
	ctx context.Context, operation string, form types.PatchType, patch []byte, opts ...client.PatchOption,
) (client.Object, error) {
	if err := c.ask(); err != nil {
		return nil, err
	}
	c.memory.Absent.Remove(c.id()) // also if no answer comes
	answer := c.empty(c.desired)
	answer.SetNamespace(c.key.Namespace)
	answer.SetName(c.key.Name)
	opts = append([]client.PatchOption{client.FieldOwner(c.fieldOwner)}, opts...)
	if form == types.ApplyPatchType {
		patch = canon.YAML(patch)
	}
	if c.dryRun {
		opts = append(opts, client.DryRunAll, client.DisableReadYourWritesConsistency)
	}
	if _, ok := answer.(runtime.Unstructured); ok {
		// controller-runtime 0.25 books patches of unstructured objects under the typed
		// representation, where nobody waits for them.
		opts = append(opts, client.DisableReadYourWritesConsistency)
	}
	if err := c.client.Patch(ctx, answer, client.RawPatch(form, patch), opts...); err != nil {
		return nil, c.requestError(operation, err)
	}
	return answer, nil
}

// unfit reports a desired object that no apply could carry.
func (c *child) unfit(err error) *Error {
	if duplicate, ok := errors.AsType[*canon.DuplicateError](err); ok {
		return c.refuse(duplicate.Path, "is there twice: a list with keys holds each key once")
	}
	refusal := c.refuse("", "cannot be encoded: "+err.Error())
	refusal.cause = err
	return refusal
}
