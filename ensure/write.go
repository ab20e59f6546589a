package ensure

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/internal/canon"
)

// createOnly is a resourceVersion, 2^62, that no object has: an apply that carries
// it creates, or is answered 409 Conflict if the object exists. Seen on
// kube-apiserver 1.36; an ordinary create would leave our fields owned by an Update
// entry, from which a later apply could not remove them.
const createOnly = "4611686018427387904"

// create makes the object if there is none, in one request.
func (c *child) create(ctx context.Context) (layer.Outcome, error) {
	last := c.memory.Record(c.OwnedID()) // c.last may be from before this call deleted the child
	if last.UID != "" && !last.Deleted {
		if err := c.checkOwnerIsThere(ctx, "create"); err != nil {
			return layer.Outcome{}, err
		}
	}
	c.adopted, c.desiredWithDigest = false, nil
	replaced, isRecreated := c.replacements.Get(c.OwnedID())
	desired, err := c.desiredToCreate(replaced.once)
	if err != nil {
		return layer.Outcome{}, err
	}
	body, err := canon.Body(desired, c.Kind.GVK, "", createOnly)
	if err != nil {
		return layer.Outcome{}, c.Subject.Unencodable(err)
	}
	answer, err := c.server.Apply(ctx, "create", body)
	if err != nil {
		return layer.Outcome{}, err
	}
	c.confirm(answer)
	found := layer.Outcome{Live: answer, Operation: layer.Created, Cause: layer.Missing}
	if c.DryRun {
		return found, nil
	}
	if isRecreated {
		c.replacements.Remove(c.OwnedID())
		found.Operation, found.Cause, found.Changes = layer.Recreated, replaced.cause, replaced.changes
	}
	return found, nil
}

// applyDesired applies desired to the live object with this UID.
func (c *child) applyDesired(ctx context.Context, uid types.UID, opts ...client.PatchOption) (client.Object, error) {
	body, err := c.bodyToApply(uid)
	if err != nil {
		return nil, err
	}
	c.lastApply = body
	return c.server.Apply(ctx, "apply", body, opts...)
}

// bodyToApply returns the apply of desired to the live object with this UID.
func (c *child) bodyToApply(uid types.UID) ([]byte, error) {
	desired, err := c.withDigest()
	if err != nil {
		return nil, err
	}
	body, err := canon.Body(desired, c.Kind.GVK, uid, "")
	if err != nil {
		return nil, c.Subject.Unencodable(err)
	}
	return body, nil
}

// checkOwnerIsThere asks the API server for the owner before a child becomes its own again, or for the first time: a child
// that was there before, and that somebody else deleted, or a live object without the owner's reference. The garbage
// collector may have deleted the one, or removed the other, because the owner was deleted, and would delete the live object
// with an owner that is gone. The cache may show the owner's end later.
func (c *child) checkOwnerIsThere(ctx context.Context, operation string) error {
	if c.Owner == nil {
		return nil
	}
	switch _, end, err := c.server.ReadOwner(ctx); {
	case fault.IsKnown(err):
		return err
	case end != "":
		return c.Subject.Fail(ErrOwnerTerminating, operation, ownerName(c.Owner)+" "+end)
	}
	return nil // A failed read, as without the verb get, does not keep the drift from being repaired.
}
