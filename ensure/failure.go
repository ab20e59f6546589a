package ensure

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/kinds"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// refuseCall returns a refusal that is about no child in particular.
func refuseCall(detail string) *fault.Error { return (&fault.Subject{}).Refuse("", detail) }

// unknownKindError returns the error for an object of unknown kind: a mistake in the code, or an API
// server that could not be asked.
func (c *child) unknownKindError(role string, err error) *fault.Error {
	unknown, ok := errors.AsType[*kinds.NoKindError](err)
	if !ok {
		return c.Subject.Request("ensure", err)
	}
	return c.Subject.UnknownKind(role, unknown.Unwrap())
}

// terminatingError returns the error for a child in deletion.
func (c *child) terminatingError(operation, detail string) *fault.Error {
	if !c.ifExists {
		detail += " and will be created again once it is gone"
	}
	return c.Subject.Fail(ErrTerminating, operation, detail)
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
	entries := managedfields.Entries(live)
	for i := range entries {
		entry := &entries[i]
		if entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" ||
			entry.Manager == c.Operator.FieldOwner || slices.Contains(c.Older, entry.Manager) || slices.Contains(c.Operator.Former, entry.Manager) {
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
