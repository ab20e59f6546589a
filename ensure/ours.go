package ensure

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/managedfields"
)

// isOurs reports whether live is ours to write: controlled by whom we want, or by
// nobody while something shows that we made it.
func (c *child) isOurs(ctx context.Context, live client.Object) (bool, error) {
	if controller := metav1.GetControllerOfNoCopy(live); controller != nil {
		return c.isWanted(controller), nil
	}
	if c.store.Get(live) != "" || c.remembered(live) {
		return true, nil
	}
	if len(live.GetManagedFields()) > 0 {
		return managedfields.Applied(live, c.fieldOwner) != nil, nil
	}
	complete, err := c.complete(ctx, live)
	if err != nil {
		return false, err
	}
	return managedfields.Applied(complete, c.fieldOwner) != nil, nil
}

// isWanted reports whether a controller is the one that desired names.
func (c *child) isWanted(controller *metav1.OwnerReference) bool {
	return c.controller != nil && sameOwner(*controller, *c.controller)
}

// remembered also covers a kubectl replace, which leaves neither digest nor owner
// nor managed fields of ours.
func (c *child) remembered(live client.Object) bool {
	known, ok := c.known(live)
	return ok && known.uid != ""
}

// mayAdopt reports whether a foreign object may be taken over.
func (c *child) mayAdopt(live client.Object) bool {
	if !c.adopt {
		return false
	}
	// Two controllers are refused by the server.
	return c.controller == nil || metav1.GetControllerOfNoCopy(live) == nil
}

// foreign says whose the object is and what to do.
func (c *child) foreign(live client.Object) error {
	controller, wanted := metav1.GetControllerOfNoCopy(live), c.controller
	var detail string
	switch {
	case controller == nil:
		detail = "it exists and nothing shows that it was made by " + c.fieldOwner +
			": delete or rename it, or take it over with ensure.Adopt"
	case wanted != nil && controller.Kind == wanted.Kind && controller.Name == wanted.Name:
		detail = fmt.Sprintf("it was left by a previous %s of the same name (UID %s): "+
			"the garbage collector removes it, unless it was orphaned; then delete it", controller.Kind, controller.UID)
	case wanted != nil:
		detail = fmt.Sprintf("it is controlled by %s %q: delete or rename it", controller.Kind, controller.Name)
	default:
		detail = fmt.Sprintf("it is controlled by %s %q: apply fields of yours to it with ensure.Adopt", controller.Kind, controller.Name)
	}
	return c.fail(ErrForeign, "ensure", detail)
}
