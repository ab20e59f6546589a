package ensure

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/backoff"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/migrate"
)

// A provenance says to whom an object belongs.
type provenance struct {
	ours    bool          // to write
	adopted bool          // by us: somebody else created live
	live    client.Object // with its managed fields, if they had to be known
}

// provenanceOf finds out whether live is ours: the wanted owner controls live, or nobody does, and
// something shows that this field owner wrote to live. Our digest says whether we created live. Without
// a digest, an object that only an entry of ours or a remembered UID shows to be ours counts as adopted.
func (c *child) provenanceOf(ctx context.Context, live client.Object) (provenance, error) {
	controller := metav1.GetControllerOfNoCopy(live)
	digest, adopted := c.Operator.Find(live)
	switch {
	case controller != nil && !c.IsWanted(controller):
		return provenance{live: live}, nil
	case digest != "":
		return provenance{ours: true, adopted: adopted || c.isCopy(live, digest), live: live}, nil
	case c.isRemembered(live) && !(c.last.Adopted && managedfields.IsDisowned(live, c.Operator.FieldOwner)):
		return provenance{ours: true, adopted: c.last.Adopted || c.mayBeReleased(live), live: live}, nil
	case controller == nil && c.isFromFormerOwner(live):
		return provenance{ours: true, adopted: true, live: live}, nil
	}
	live, err := c.complete(ctx, live)
	if err != nil {
		return provenance{}, err
	}
	if c.Operator.Applied(live) != nil {
		return provenance{ours: true, adopted: true, live: live}, nil
	}
	if controller == nil {
		return provenance{live: live}, nil
	}
	return provenance{
		ours:    len(c.appliersOf(live, controller)) == 0,
		adopted: !c.isMadeForOwner(live, controller),
		live:    live,
	}, nil
}

// isRemembered also covers a kubectl replace, which leaves neither digest nor owner
// nor managed fields of ours.
func (c *child) isRemembered(live client.Object) bool {
	known, ok := c.record(live)
	return ok && known.UID != ""
}

// mayBeReleased reports whether another instance may have released live, which has no digest. Nobody
// releases an object by emptying all managed fields.
func (c *child) mayBeReleased(live client.Object) bool {
	return metav1.GetControllerOfNoCopy(live) == nil && c.Operator.Applied(live) == nil && !c.Kind.IsReset(live)
}

// isCopy reports whether somebody created live from a child of ours, including the digest: this field
// owner has applied no field of live.
func (c *child) isCopy(live client.Object, digest string) bool {
	if digest == c.Digest || c.isRemembered(live) {
		return false
	}
	names := c.Operator.Names()
	return !slices.ContainsFunc(names, func(name string) bool { return !managedfields.IsDisowned(live, name) })
}

// isMadeByUs reports whether we made live for an owner that is not the one that is wanted.
func (c *child) isMadeByUs(ctx context.Context, live client.Object) (bool, error) {
	digest, adopted := c.Operator.Find(live)
	if digest == "" || adopted {
		return false, nil
	}
	if known, ok := c.record(live); ok {
		return !known.Adopted, nil
	}
	complete, err := c.complete(ctx, live)
	return err == nil && c.Operator.Applied(complete) != nil, err
}

// isMadeForOwner reports whether the managed fields show that an earlier version of the operator
// created live for its controller: an update set the reference, or a program that MigrateFrom names
// did. With Adopt, only such a program counts, as somebody else may have created live.
func (c *child) isMadeForOwner(live client.Object, controller *metav1.OwnerReference) bool {
	return slices.ContainsFunc(managedfields.Entries(live), func(entry metav1.ManagedFieldsEntry) bool {
		isUpdate := entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Manager != migrate.BeforeFirstApply
		isNamed := slices.Contains(c.Older, entry.Manager) || slices.Contains(c.Operator.Former, entry.Manager)
		return (isNamed || isUpdate && !c.adopt) && ownsReference(&entry, controller)
	})
}

// isFromFormerOwner reports whether this Ensurer last applied live for an owner of the same kind and
// name, which was deleted and created again after somebody had replaced live without a trace.
func (c *child) isFromFormerOwner(live client.Object) bool {
	latest, _ := c.memory.Applied.Get(c.ID())
	return c.call == backoff.Ensure && latest.UID != "" && latest.UID == live.GetUID() &&
		latest.Owner != "" && latest.Owner == c.ControllerName()
}

// mayAdopt reports whether a foreign object may be taken over.
func (c *child) mayAdopt(live client.Object) bool {
	if !c.adopt {
		return false
	}
	// Two controllers are refused by the server.
	controller := metav1.GetControllerOfNoCopy(live)
	return c.Controller == nil || controller == nil || c.IsWanted(controller)
}

// foreignError returns the error for an object of somebody else. The doc of ErrForeign names the options
// that take over the object.
func (c *child) foreignError(live client.Object) error {
	controller, wanted := metav1.GetControllerOfNoCopy(live), c.Controller
	var detail string
	switch {
	case controller == nil:
		detail = "it exists and nothing shows that it was created by " + c.Operator.FieldOwner +
			": delete it if nobody needs it"
	case c.IsWanted(controller):
		who := strings.Join(c.appliersOf(live, controller), " and ")
		detail = "it was applied for the same owner by " + who + ": only one of them and " + c.Operator.FieldOwner + " can manage it"
	case wanted != nil && controller.Kind == wanted.Kind && controller.Name == wanted.Name:
		detail = fmt.Sprintf("it was left by a previous %s of the same name (UID %s): "+
			"the garbage collector removes it, unless it was orphaned; then delete it", controller.Kind, controller.UID)
	default:
		detail = fmt.Sprintf("it is controlled by %s %q, which decides on its content", controller.Kind, controller.Name)
	}
	return c.Subject.Fail(ErrForeign, "ensure", detail)
}

// appliersOf returns the other managers, except for earlier versions of the operator, that apply the
// reference to the controller of live: they created live for the same owner.
func (c *child) appliersOf(live client.Object, controller *metav1.OwnerReference) []string {
	var appliers []string
	entries, names := managedfields.Entries(live), append(c.Operator.Names(), c.Older...)
	for i := range entries {
		entry := &entries[i]
		if entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" ||
			slices.Contains(names, entry.Manager) {
			continue
		}
		if ownsReference(entry, controller) {
			appliers = appendNew(appliers, entry.Manager)
		}
	}
	return appliers
}

// ownsReference reports whether an entry owns a field of an owner reference.
func ownsReference(entry *metav1.ManagedFieldsEntry, owner *metav1.OwnerReference) bool {
	return managedfields.OwnedBy(entry).Owns("metadata.ownerReferences[uid=" + string(owner.UID) + "]")
}
