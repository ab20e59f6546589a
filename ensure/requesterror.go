package ensure

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trueup-go/trueup/internal/answer"
)

// requestError turns the failure of a request into an *Error.
func (c *child) requestError(operation string, err error) *Error {
	out := c.fail(ErrAPI, operation, "")
	out.cause = err
	out.moved = (apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)) && !answer.IsWebhook(err) ||
		isHandover(operation) && answer.IsGone(err)
	out.Paths = answer.Fields(err)
	moved := c.whatMoved(operation, err)
	switch {
	case slices.ContainsFunc(answer.Causes(err), isNamespaceTerminating):
		out.class, out.Reason, out.detail = ErrTerminating, "Terminating", "its namespace is being deleted"
	case moved != "":
		return c.conflict(operation, moved, err)
	case isInvalid(err):
		out.class, out.Reason, out.detail = ErrInvalid, "Invalid", c.message(err, describeCauses(err))
		if len(out.Paths) == 0 {
			out.Paths = undeclaredFields(err)
		}
	case isLiveInvalid(err):
		out.class, out.Reason, out.detail = ErrInvalid, "Invalid", "the object as it is does not fit the schema of "+c.apiVersion+
			", so that nothing can be applied to it: mend the object or the schema: "+c.message(err, answer.NotShown)
	case apierrors.IsForbidden(err):
		out.Reason, out.detail = apiReason(err), c.message(err, "a right is missing ("+rightsTo(operation)+"), "+
			"a quota is used up, or a policy objects; "+answer.NotShown)
	case apierrors.IsNotFound(err) && isAboutNamespace(err):
		out.Reason, out.detail = apiReason(err), "its namespace does not exist"
	default:
		out.Reason, out.detail = apiReason(err), c.message(err, answer.Describe(err))
	}
	return out
}

// rightsTo names those that an operation takes.
func rightsTo(operation string) string {
	switch operation {
	case "delete":
		return "delete on its kind"
	case "list":
		return "list on its kind, and watch for a cache"
	case "prune":
		return "get on the owner's kind"
	}
	return "it takes get, list, watch, create and patch, and with ControlledBy update on the finalizers of the owner's kind"
}

// conflict returns the error for an object that changed after the read. Nothing is wrong with desired.
func (c *child) conflict(operation, detail string, err error) *Error {
	out := c.fail(ErrAPI, operation, detail)
	out.Reason, out.moved = string(metav1.StatusReasonConflict), true
	if err == nil {
		err = errors.New(detail)
	}
	out.cause = apierrors.NewConflict(schema.GroupResource{Group: c.gvk.Group, Resource: c.gvk.Kind}, c.key.Name, err)
	return out
}

// whatMoved recognizes the refusals that are conflicts by another name; empty for
// others.
func (c *child) whatMoved(operation string, err error) string {
	paths := answer.Fields(err)
	switch {
	case !apierrors.IsInvalid(err):
		return ""
	case (operation == "apply" || operation == releasing) && slices.Contains(paths, "metadata.uid"):
		return "it was replaced meanwhile"
	case operation == "apply" && answer.IsLateFinalizer(err):
		return "its deletion began meanwhile"
	case operation == "apply" && c.controlled && slices.Contains(paths, "metadata.ownerReferences"):
		return "it got another controller meanwhile"
	case isTested(operation) && answer.IsFailedTest(err):
		return "it was changed meanwhile"
	}
	return ""
}

// isTested reports whether operation is a JSON patch that tests the values on which it depends.
func isTested(operation string) bool { return operation == "repair" || isHandover(operation) }
