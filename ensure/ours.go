package ensure

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// A provenance says to whom an object belongs.
type provenance struct {
	ours    bool          // to write
	adopted bool          // somebody else created live
	live    client.Object // with its managed fields, if they had to be known
}

// provenanceOf finds out whose live is. An object that another owner controls is not ours. Another object is ours if one of
// these is true; the first of them decides whether live is adopted:
//
//   - live has our digest, and the last answer of the API server was about live, or nothing shows that the digest is a copy;
//     see Operator.Find.
//   - The last answer of the API server was about live, which has lost its digest. For Absent, it counts as adopted.
//   - We have applied fields of live: live counts as adopted.
//   - The wanted owner controls live, and no other program applied that reference: live counts as adopted, unless an update set
//     the reference. Then an earlier version of the operator created live. A copy of a child counts as adopted.
func (p *pass) provenanceOf(ctx context.Context, live client.Object) (provenance, error) {
	isOthers := p.child.IsControlledByOther(live)
	known, isRemembered := p.server.Record(live)
	if stored, adopted := p.child.Operator.Stored(live); isRemembered && !isOthers && stored == known.Digest {
		return provenance{ours: true, adopted: adopted, live: live}, nil
	}
	digest, adopted := p.child.Operator.Find(live)
	switch {
	case isOthers:
		return provenance{adopted: digest == "" || adopted, live: live}, nil
	case digest != "":
		return provenance{ours: true, adopted: adopted, live: live}, nil
	case isRemembered:
		return provenance{ours: true, adopted: known.Adopted || p.child.Call == layer.Absent, live: live}, nil
	}
	controller := metav1.GetControllerOfNoCopy(live)
	live, err := p.server.Complete(ctx, live)
	if err != nil {
		return provenance{}, err
	}
	if isApplied := p.child.Operator.HasApplied(live); isApplied || controller == nil {
		return provenance{ours: isApplied, adopted: true, live: live}, nil
	}
	appliers, hasUpdater := writersOf(&p.child, live, controller)
	return provenance{ours: len(appliers) == 0, adopted: adopted || len(appliers) > 0 || !hasUpdater, live: live}, nil
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
		appliers, _ := writersOf(c, live, controller)
		detail = "it was applied for the same owner by " + strings.Join(appliers, " and ") + ": only one of them and " +
			c.Operator.FieldOwner + " can manage it"
	case wanted != nil && controller.Kind == wanted.Kind && controller.Name == wanted.Name:
		detail = fmt.Sprintf("it was left by a previous %s of the same name (UID %s): "+
			"the garbage collector removes it, unless it was orphaned; then delete it", controller.Kind, controller.UID)
	default:
		detail = fmt.Sprintf("it is controlled by %s %q, which decides on its content", controller.Kind, controller.Name)
	}
	return c.Subject.Fail(ErrForeign, "ensure", detail)
}

// writersOf returns the other managers that apply the reference to the controller of live: they created live for the same owner.
// hasUpdater reports whether an update set the reference, or a program that MigrateFrom or FormerFieldOwners names.
func writersOf(c *layer.Child, live client.Object, controller *metav1.OwnerReference) (appliers []string, hasUpdater bool) {
	older := append(c.Operator.Names(), c.Older...)
	for _, entry := range managedfields.Entries(live) {
		switch isOlder := slices.Contains(older, entry.Manager); {
		case layer.IsNobody(entry.Manager) || !layer.OwnsReference(&entry, controller):
		case isOlder || entry.Operation == metav1.ManagedFieldsOperationUpdate:
			hasUpdater = true
		case entry.Subresource == "":
			appliers = layer.AppendNew(appliers, entry.Manager)
		}
	}
	return appliers, hasUpdater
}
