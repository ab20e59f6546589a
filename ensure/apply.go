package ensure

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
func (u update) apply(ctx context.Context, live client.Object, cause Cause) (outcome, error) {
	applied, err := u.applyOrRepair(ctx, live)
	return u.conclude(ctx, live, cause, applied, err)
}

// conclude returns the outcome of an application to live, or of a rehearsal of one.
func (u update) conclude(ctx context.Context, live client.Object, cause Cause, applied application, err error) (outcome, error) {
	if errors.Is(err, ErrImmutable) {
		return recreation{u.child}.run(ctx, live, cause, err)
	}
	if err != nil {
		return outcome{}, err
	}
	u.recall() // what other reconciles learnt meanwhile counts, too
	answer := applied.after
	found := outcome{live: answer, operation: Unchanged}
	changes := u.changesBy(applied)
	if len(changes) > 0 || u.isOutdated(live) && cause == DesiredChanged {
		found = outcome{live: answer, operation: Updated, cause: cause, changes: changes}
	}
	if controller := metav1.GetControllerOfNoCopy(answer); controller != nil && !u.isWanted(controller) && !u.adopt {
		u.report().wrote(found) // all the same: somebody took control between our read and our apply
		return outcome{}, withdrawal{u.child}.withdraw(ctx, live, answer)
	}
	u.confirm(answer)
	if answer.GetDeletionTimestamp() != nil {
		u.report().wrote(found)
		return outcome{}, u.terminating("apply", "its deletion began meanwhile")
	}
	return found, nil
}
