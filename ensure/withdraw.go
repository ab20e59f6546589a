package ensure

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// withdraw gives up the fields that this field owner applied to an object which another controller took
// between our read of before and the answer after. Fields that this apply added are removed. Older
// fields came to the other controller with the object, and stay.
func (c *child) withdraw(ctx context.Context, before, after client.Object) error {
	if c.dryRun {
		return c.foreign(after)
	}
	added, _ := managedfields.Split(c.ownedIn(after), func(path fieldpath.Path) bool {
		return !holds(before, path) || c.isOfDigest(path)
	})
	return c.withdrawAdded(ctx, after, added)
}

// withdrawAdded gives up the fields that our apply added to an object that another controller took.
// They are remembered until that is done.
func (c *child) withdrawAdded(ctx context.Context, live client.Object, added *fieldpath.Set) error {
	c.memory.Foreign.Set(c.ownedID(), memory.Foreign{Look: memory.Look{UID: live.GetUID()}, Added: added})
	left, err := c.giveUpAdded(ctx, live, added)
	if isRefused(err) {
		left, err = c.giveUpBut(ctx, live, func(path fieldpath.Path) bool { return !c.isOfDigest(path) })
	}
	if err != nil {
		return err
	}
	c.noteReleased(left)
	return c.foreign(live)
}

// leaveForeign finishes a withdrawal from live, which is not ours, and returns an error.
func (c *child) leaveForeign(ctx context.Context, live client.Object) error {
	known, _ := c.memory.Foreign.Get(c.ownedID())
	if known.Added == nil || known.Look.UID != live.GetUID() || c.dryRun {
		return c.foreign(live)
	}
	complete, err := c.reread(ctx, live)
	if err != nil {
		return err
	}
	if controller := metav1.GetControllerOfNoCopy(complete); controller == nil || c.isWanted(controller) {
		return c.foreign(live) // the other controller released the object meanwhile
	}
	if _, err := c.withDigest(); err != nil {
		return err
	}
	return c.withdrawAdded(ctx, complete, known.Added)
}

// giveUpAdded removes the fields that our apply added. All other fields belong to an entry of updates
// meanwhile: the API server removes a struct together with its fields if nobody owns any of them.
func (c *child) giveUpAdded(ctx context.Context, after client.Object, added *fieldpath.Set) (client.Object, error) {
	isKept := func(path fieldpath.Path) bool { return !added.Has(path) }
	_, err := c.patchEntries(ctx, releasing, after, func(p *managedfields.Patch, live client.Object) {
		own := managedfields.Applied(live, c.fieldOwner)
		if kept := c.strike(p, live, metav1.ManagedFieldsOperationApply, isKept); !kept.Empty() {
			entry := managedfields.WithFields(*own, kept)
			entry.Operation = metav1.ManagedFieldsOperationUpdate
			p.Give(entry)
		}
	})
	if err != nil {
		return nil, err
	}
	left, err := c.applyNothing(ctx, after)
	if err != nil {
		return nil, err
	}
	return c.patchEntries(ctx, releasing, left, func(p *managedfields.Patch, live client.Object) {
		c.strike(p, live, metav1.ManagedFieldsOperationUpdate, func(fieldpath.Path) bool { return true })
	})
}

// holds reports whether obj has a value at path, as far as its Go type has the field.
func holds(obj client.Object, path fieldpath.Path) bool {
	steps := managedfields.Steps(path)
	depth, err := delta.Specifies(obj, steps)
	return err != nil || depth == len(steps)
}
