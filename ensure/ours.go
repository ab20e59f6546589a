package ensure

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// A provenance says to whom an object belongs.
type provenance struct {
	ours    bool          // to write
	adopted bool          // by us: somebody else created live
	live    client.Object // with its managed fields, if they had to be known
}

// provenanceOf finds out whether live is ours. An object that another owner controls is not. Otherwise the first of these decides:
//
//   - Our digest shows that live is ours, and whether we created live.
//   - The last answer of the API server was about live, which has lost its digest, or about live for a deleted owner of the same
//     kind and name: then it counts as adopted.
//   - We have applied fields of live: it counts as adopted.
//   - The wanted owner controls live, and no other program applied that reference: an earlier version of the operator wrote live.
func (p *pass) provenanceOf(ctx context.Context, live client.Object) (provenance, error) {
	controller := metav1.GetControllerOfNoCopy(live)
	digest, adopted := p.child.Operator.Find(live)
	switch {
	case controller != nil && !p.child.IsWanted(controller):
		return provenance{live: live}, nil
	case digest != "":
		return provenance{ours: true, adopted: adopted || isCopy(&p.server, live, digest), live: live}, nil
	case p.server.IsRemembered(live) && !(p.server.Known.Adopted && managedfields.IsDisowned(live, p.child.Operator.FieldOwner)):
		return provenance{ours: true, adopted: p.server.Known.Adopted || mayBeGivenUp(&p.child, live), live: live}, nil
	case controller == nil && isFromDeletedOwner(&p.server, live):
		return provenance{ours: true, adopted: true, live: live}, nil
	}
	live, err := p.server.Complete(ctx, live)
	if err != nil {
		return provenance{}, err
	}
	if p.child.Operator.Applied(live) != nil {
		return provenance{ours: true, adopted: true, live: live}, nil
	}
	if controller == nil {
		return provenance{live: live}, nil
	}
	return provenance{
		ours:    len(appliersOf(&p.child, live, controller)) == 0,
		adopted: !isMadeForOwner(&p.child, live, controller, p.options.adopt),
		live:    live,
	}, nil
}

// mayBeGivenUp reports whether another instance may have released live, which has no digest. Nobody
// releases an object by emptying all managed fields.
func mayBeGivenUp(c *layer.Child, live client.Object) bool {
	return metav1.GetControllerOfNoCopy(live) == nil && c.Operator.Applied(live) == nil && !c.Kind.IsReset(live)
}

// isCopy reports whether somebody created live from a child of ours, including the digest: this field
// owner has applied no field of live.
func isCopy(s *server.Session, live client.Object, digest string) bool {
	if digest == s.Child.Digest || s.IsRemembered(live) {
		return false
	}
	names := s.Child.Operator.Names()
	return !slices.ContainsFunc(names, func(name string) bool { return !managedfields.IsDisowned(live, name) })
}

// isMadeByUs reports whether we created live, which is not ours: its owner is another one than the one that is wanted.
func (p *pass) isMadeByUs(ctx context.Context, live client.Object) (bool, error) {
	digest, adopted := p.child.Operator.Find(live)
	if digest == "" || adopted {
		return false, nil
	}
	if known, ok := p.server.Record(live); ok {
		return !known.Adopted, nil
	}
	complete, err := p.server.Complete(ctx, live)
	return err == nil && p.child.Operator.Applied(complete) != nil, err
}

// isMadeForOwner reports whether the managed fields show that an earlier version of the operator
// created live for its controller: an update set the reference, or a program that MigrateFrom names
// did. With Adopt, only such a program counts, as somebody else may have created live.
func isMadeForOwner(c *layer.Child, live client.Object, controller *metav1.OwnerReference, adopts bool) bool {
	return slices.ContainsFunc(managedfields.Entries(live), func(entry metav1.ManagedFieldsEntry) bool {
		isUpdate := entry.Operation == metav1.ManagedFieldsOperationUpdate && !layer.IsNobody(entry.Manager)
		isNamed := slices.Contains(c.Older, entry.Manager) || slices.Contains(c.Operator.Former, entry.Manager)
		return (isNamed || isUpdate && !adopts) && layer.OwnsReference(&entry, controller)
	})
}

// isFromDeletedOwner reports whether this Ensurer last applied live for an owner of the same kind and
// name. Since then, that owner was deleted and created again, and somebody replaced live without a trace.
func isFromDeletedOwner(s *server.Session, live client.Object) bool {
	latest, _ := s.Memory.Applied.Get(s.Child.ID())
	return s.Child.Call == layer.Ensure && latest.UID != "" && latest.UID == live.GetUID() &&
		latest.Owner != "" && latest.Owner == s.Child.ControllerName()
}

// mayAdopt reports whether a foreign object may be taken over.
func mayAdopt(c *layer.Child, live client.Object) bool {
	// Two controllers are refused by the server.
	controller := metav1.GetControllerOfNoCopy(live)
	return c.Controller == nil || controller == nil || c.IsWanted(controller)
}

// foreignError returns the error for an object of somebody else. The doc of ErrForeign names the options
// that take over the object.
func foreignError(c *layer.Child, live client.Object) error {
	controller, wanted := metav1.GetControllerOfNoCopy(live), c.Controller
	var detail string
	switch {
	case controller == nil:
		detail = "it exists and nothing shows that it was created by " + c.Operator.FieldOwner +
			": delete it if nobody needs it"
	case c.IsWanted(controller):
		who := strings.Join(appliersOf(c, live, controller), " and ")
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
func appliersOf(c *layer.Child, live client.Object, controller *metav1.OwnerReference) []string {
	var appliers []string
	entries, names := managedfields.Entries(live), append(c.Operator.Names(), c.Older...)
	for i := range entries {
		entry := &entries[i]
		if entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" ||
			slices.Contains(names, entry.Manager) {
			continue
		}
		if layer.OwnsReference(entry, controller) {
			appliers = layer.AppendNew(appliers, entry.Manager)
		}
	}
	return appliers
}
