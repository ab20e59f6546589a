package ensure

import (
	"cmp"
	"context"
	"slices"

	"github.com/trueup-go/trueup/internal/canon"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/hash"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// A claim says whose an object is.
type claim struct {
	ours    bool          // to write
	adopted bool          // by us: somebody else created live
	live    client.Object // with its managed fields, if they had to be known
}

// claimOn finds out whether live is ours: the wanted owner controls live, or nobody does, and something
// shows that this field owner wrote to live. Our digest says whether we created live. Without a digest,
// an object that only an entry of ours or a remembered UID shows to be ours counts as adopted.
func (c *child) claimOn(ctx context.Context, live client.Object) (claim, error) {
	controller := metav1.GetControllerOfNoCopy(live)
	digest, adopted := c.digestOn(live)
	switch {
	case controller != nil && !c.isWanted(controller):
		return claim{live: live}, nil
	case digest != "":
		return claim{ours: true, adopted: adopted || c.isCopy(live, digest), live: live}, nil
	case c.remembered(live) && !(c.last.Adopted && managedfields.IsDisowned(live, c.fieldOwner)):
		return claim{ours: true, adopted: c.last.Adopted || c.mayBeReleased(live), live: live}, nil
	case controller == nil && c.isPredecessors(live):
		return claim{ours: true, adopted: true, live: live}, nil
	}
	live, err := c.complete(ctx, live)
	if err != nil {
		return claim{}, err
	}
	if managedfields.Applied(live, c.fieldOwner) != nil {
		return claim{ours: true, adopted: true, live: live}, nil
	}
	if controller == nil {
		return claim{live: live}, nil
	}
	return claim{
		ours:    len(c.appliersOf(live, controller)) == 0,
		adopted: !c.isMadeForOwner(live, controller),
		live:    live,
	}, nil
}

// mayBeReleased reports whether another instance may have released live, which has no digest. Nobody
// releases an object by emptying all managed fields.
func (c *child) mayBeReleased(live client.Object) bool {
	return metav1.GetControllerOfNoCopy(live) == nil && managedfields.Applied(live, c.fieldOwner) == nil && !c.isReset(live)
}

// isCopy reports whether somebody created live from a child of ours, including the digest: this field
// owner has applied no field of live.
func (c *child) isCopy(live client.Object, digest string) bool {
	if digest == c.digest || c.remembered(live) {
		return false
	}
	names := slices.Concat([]string{c.fieldOwner}, c.migrateFrom)
	return !slices.ContainsFunc(names, func(name string) bool { return !managedfields.IsDisowned(live, name) })
}

// isMadeByUs reports whether we made live for an owner that is not the one that is wanted.
func (c *child) isMadeByUs(ctx context.Context, live client.Object) (bool, error) {
	digest, adopted := c.digestOn(live)
	if digest == "" || adopted {
		return false, nil
	}
	if known, ok := c.known(live); ok {
		return !known.Adopted, nil
	}
	complete, err := c.complete(ctx, live)
	return err == nil && managedfields.Applied(complete, c.fieldOwner) != nil, err
}

// isMadeForOwner reports whether the managed fields show that an earlier version of the operator
// created live for its controller: an update set the reference, or a program that MigrateFrom names
// did. With Adopt, only such a program counts, as somebody else may have created live.
func (c *child) isMadeForOwner(live client.Object, controller *metav1.OwnerReference) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		isUpdate := entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Manager != beforeFirstApply
		isNamed := slices.Contains(c.migrateFrom, entry.Manager)
		return (isNamed || isUpdate && !c.adopt) && ownsReference(&entry, controller)
	})
}

// digestOn returns the digest that shows live to be ours, and whether live was adopted. The digest may
// be in an annotation of a former field owner, or in the default annotation if the digest has another
// store now.
func (c *child) digestOn(live client.Object) (digest string, adopted bool) {
	digest = c.store.Get(live)
	if digest == "" {
		for _, name := range slices.Concat([]string{c.fieldOwner}, c.migrateFrom) {
			digest = cmp.Or(digest, hash.DefaultStore(name).Get(live))
		}
	}
	return digestIn(digest)
}

// remembered also covers a kubectl replace, which leaves neither digest nor owner
// nor managed fields of ours.
func (c *child) remembered(live client.Object) bool {
	known, ok := c.known(live)
	return ok && known.UID != ""
}

// isPredecessors reports whether this Ensurer last applied live for an owner of the same kind and
// name, which was deleted and created again after somebody had replaced live without a trace.
func (c *child) isPredecessors(live client.Object) bool {
	latest, _ := c.memory.Applied.Get(c.id())
	return c.call == callEnsure && latest.UID != "" && latest.UID == live.GetUID() &&
		latest.Owner != "" && latest.Owner == c.controllerName()
}

// mayAdopt reports whether a foreign object may be taken over.
func (c *child) mayAdopt(live client.Object) bool {
	if !c.adopt {
		return false
	}
	// Two controllers are refused by the server.
	controller := metav1.GetControllerOfNoCopy(live)
	return c.controller == nil || controller == nil || c.isWanted(controller)
}

// isGivenUp reports whether this field owner has applied no content of live although desired has some:
// the program ended while it gave live up.
func (c *child) isGivenUp(live client.Object) bool {
	own := managedfields.Applied(live, c.fieldOwner)
	if own == nil {
		return false
	}
	owned, _ := managedfields.Split(managedfields.Fields(own), isContent)
	content, err := canon.AppendContent(nil, c.applied(c.desired))
	return err == nil && string(content) != "{}" && owned.Empty()
}

// isBeside reports whether this field owner has applied fields of live, which is not ours, on behalf of
// no owner: live was adopted beside its controller. If this field owner applied the reference to that
// controller, the fields belong to that owner.
func (c *child) isBeside(live client.Object) bool {
	controller, own := metav1.GetControllerOfNoCopy(live), managedfields.Applied(live, c.fieldOwner)
	if c.controller != nil || controller == nil || own == nil || ownsReference(own, controller) {
		return false
	}
	digest, adopted := c.digestOn(live)
	return adopted || digest == ""
}
