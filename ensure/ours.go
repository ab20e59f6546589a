package ensure

import (
	"cmp"
	"context"
	"slices"

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
func (o *observation) claimOn(ctx context.Context, live client.Object) (claim, error) {
	controller := metav1.GetControllerOfNoCopy(live)
	digest, adopted := o.digestOn(live)
	switch {
	case controller != nil && !o.isWanted(controller):
		return claim{live: live}, nil
	case digest != "":
		return claim{ours: true, adopted: adopted || o.isCopy(live, digest), live: live}, nil
	case o.remembered(live) && !(o.last.Adopted && managedfields.IsDisowned(live, o.fieldOwner)):
		return claim{ours: true, adopted: o.last.Adopted || o.mayBeReleased(live), live: live}, nil
	case controller == nil && o.isPredecessors(live):
		return claim{ours: true, adopted: true, live: live}, nil
	}
	live, err := o.complete(ctx, live)
	if err != nil {
		return claim{}, err
	}
	if managedfields.Applied(live, o.fieldOwner) != nil {
		return claim{ours: true, adopted: true, live: live}, nil
	}
	if controller == nil {
		return claim{live: live}, nil
	}
	return claim{
		ours:    len(o.appliersOf(live, controller)) == 0,
		adopted: !o.isMadeForOwner(live, controller),
		live:    live,
	}, nil
}

// mayBeReleased reports whether another instance may have released live, which has no digest. Nobody
// releases an object by emptying all managed fields.
func (o *observation) mayBeReleased(live client.Object) bool {
	return metav1.GetControllerOfNoCopy(live) == nil && managedfields.Applied(live, o.fieldOwner) == nil && !o.isReset(live)
}

// isCopy reports whether somebody created live from a child of ours, including the digest: this field
// owner has applied no field of live.
func (o *observation) isCopy(live client.Object, digest string) bool {
	if digest == o.digest || o.remembered(live) {
		return false
	}
	names := slices.Concat([]string{o.fieldOwner}, o.migrateFrom)
	return !slices.ContainsFunc(names, func(name string) bool { return !managedfields.IsDisowned(live, name) })
}

// isMadeByUs reports whether we made live for an owner that is not the one that is wanted.
func (o *observation) isMadeByUs(ctx context.Context, live client.Object) (bool, error) {
	digest, adopted := o.digestOn(live)
	if digest == "" || adopted {
		return false, nil
	}
	if known, ok := o.known(live); ok {
		return !known.Adopted, nil
	}
	complete, err := o.complete(ctx, live)
	return err == nil && managedfields.Applied(complete, o.fieldOwner) != nil, err
}

// isMadeForOwner reports whether the managed fields show that an earlier version of the operator
// created live for its controller: an update set the reference, or a program that MigrateFrom names
// did. With Adopt, only such a program counts, as somebody else may have created live.
func (o *observation) isMadeForOwner(live client.Object, controller *metav1.OwnerReference) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		isUpdate := entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Manager != beforeFirstApply
		isNamed := slices.Contains(o.migrateFrom, entry.Manager)
		return (isNamed || isUpdate && !o.adopt) && ownsReference(&entry, controller)
	})
}

// digestOn returns the digest that shows live to be ours, and whether live was adopted. The digest may
// be in an annotation of a former field owner, or in the default annotation if the digest has another
// store now.
func (o *observation) digestOn(live client.Object) (digest string, adopted bool) {
	digest = o.store.Get(live)
	if digest == "" {
		for _, name := range slices.Concat([]string{o.fieldOwner}, o.migrateFrom) {
			digest = cmp.Or(digest, hash.DefaultStore(name).Get(live))
		}
	}
	return digestIn(digest)
}

// remembered also covers a kubectl replace, which leaves neither digest nor owner
// nor managed fields of ours.
func (o *observation) remembered(live client.Object) bool {
	known, ok := o.known(live)
	return ok && known.UID != ""
}

// isPredecessors reports whether this Ensurer last applied live for an owner of the same kind and
// name, which was deleted and created again after somebody had replaced live without a trace.
func (o *observation) isPredecessors(live client.Object) bool {
	latest, _ := o.memory.Applied.Get(o.id())
	return o.call == callEnsure && latest.UID != "" && latest.UID == live.GetUID() &&
		latest.Owner != "" && latest.Owner == o.controllerName()
}

// mayAdopt reports whether a foreign object may be taken over.
func (o *observation) mayAdopt(live client.Object) bool {
	if !o.adopt {
		return false
	}
	// Two controllers are refused by the server.
	controller := metav1.GetControllerOfNoCopy(live)
	return o.controller == nil || controller == nil || o.isWanted(controller)
}
