package ensure

import (
	"context"
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
