package ensure

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// fail makes an error of class about the child.
func (t *target) fail(class error, operation, detail string, paths ...string) *Error {
	shown := slices.Clone(paths)
	for i, path := range paths {
		shown[i] = t.hideItems(path)
		detail = strings.ReplaceAll(detail, path, shown[i])
	}
	return &Error{
		Operation: operation, Kind: t.gvk, Key: t.key,
		Reason: reasons[class], Paths: shown, class: class, detail: detail,
	}
}

// refuse is an error of the caller's: nothing was sent.
func (t *target) refuse(path, detail string) *Error {
	if path == "" {
		return t.fail(ErrRefused, "ensure", detail)
	}
	return t.fail(ErrRefused, "ensure", path+" "+detail, path)
}

// refuseCall is a refusal that is about no child in particular.
func (e *Ensurer) refuseCall(detail string) *Error {
	return (&target{Ensurer: e, kind: noKind}).refuse("", detail)
}

// unencodableError reports a desired object that no apply could carry.
func (t *target) unencodableError(err error) *Error {
	if duplicate, ok := errors.AsType[*canon.DuplicateError](err); ok {
		return t.refuse(duplicate.Path, "occurs twice: the items of this list must have different keys")
	}
	refusal := t.refuse("", "cannot be encoded: "+err.Error())
	refusal.cause = err
	return refusal
}

// unknownKindError returns the error for an object of unknown kind: a mistake in the code, or an API
// server that could not be asked.
func (t *target) unknownKindError(what string, err error) *Error {
	unknown, ok := errors.AsType[*noKindError](err)
	if !ok {
		return t.requestError("ensure", err)
	}
	refusal := t.refuse("", what+" has no kind: "+answer.Describe(unknown.error)+
		"; add its Go type to the client's scheme, or set apiVersion and kind of an unstructured object")
	refusal.cause = unknown.error
	return refusal
}

// terminatingError returns the error for a child in deletion.
func (t *target) terminatingError(operation, detail string) *Error {
	if !t.ifExists {
		detail += " and will be created again once it is gone"
	}
	return t.fail(ErrTerminating, operation, detail)
}

// foreignError returns the error for an object of somebody else. The doc of ErrForeign names the options
// that take over the object.
func (t *target) foreignError(live client.Object) error {
	controller, wanted := metav1.GetControllerOfNoCopy(live), t.controller
	var detail string
	switch {
	case controller == nil:
		detail = "it exists and nothing shows that it was created by " + t.fieldOwner +
			": delete it if nobody needs it"
	case t.isWanted(controller):
		who := strings.Join(t.appliersOf(live, controller), " and ")
		detail = "it was applied for the same owner by " + who + ": only one of them and " + t.fieldOwner + " can manage it"
	case wanted != nil && controller.Kind == wanted.Kind && controller.Name == wanted.Name:
		detail = fmt.Sprintf("it was left by a previous %s of the same name (UID %s): "+
			"the garbage collector removes it, unless it was orphaned; then delete it", controller.Kind, controller.UID)
	default:
		detail = fmt.Sprintf("it is controlled by %s %q, which decides on its content", controller.Kind, controller.Name)
	}
	return t.fail(ErrForeign, "ensure", detail)
}

// appliersOf returns the other managers, except for earlier versions of the operator, that apply the
// reference to the controller of live: they created live for the same owner.
func (t *target) appliersOf(live client.Object, controller *metav1.OwnerReference) []string {
	var appliers []string
	entries := managedfields.Entries(live)
	for i := range entries {
		entry := &entries[i]
		if entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" ||
			entry.Manager == t.fieldOwner || slices.Contains(t.migrateFrom, entry.Manager) || slices.Contains(t.former, entry.Manager) {
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

// conflictError returns the error for an object that changed after the read. Nothing is wrong with
// desired.
func (t *target) conflictError(operation, detail string, err error) *Error {
	out := t.fail(ErrAPI, operation, detail)
	out.Reason, out.changedSinceRead = string(metav1.StatusReasonConflict), true
	if err == nil {
		err = errors.New(detail)
	}
	out.cause = apierrors.NewConflict(schema.GroupResource{Group: t.gvk.Group, Resource: t.gvk.Kind}, t.key.Name, err)
	return out
}

// requestError turns the failure of a request into an *Error.
func (t *target) requestError(operation string, err error) *Error {
	out := t.fail(ErrAPI, operation, "")
	out.cause = err
	out.changedSinceRead = (apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)) && !answer.IsWebhook(err) ||
		isTransfer(operation) && answer.IsGone(err)
	out.Paths = answer.Fields(err)
	moved := t.conflictDetail(operation, err)
	switch {
	case slices.ContainsFunc(answer.Causes(err), isNamespaceTerminating):
		out.class, out.Reason, out.detail = ErrTerminating, "Terminating", "its namespace is being deleted"
	case moved != "":
		return t.conflictError(operation, moved, err)
	case isInvalid(err):
		out.class, out.Reason, out.detail = ErrInvalid, "Invalid", t.message(err, describeCauses(err))
		if len(out.Paths) == 0 {
			out.Paths = undeclaredFields(err)
		}
	case isLiveInvalid(err):
		out.class, out.Reason, out.detail = ErrInvalid, "Invalid", "the live object does not fit the schema of "+t.apiVersion+
			", so every apply fails: correct the object or the schema: "+t.message(err, answer.NotShown)
	case apierrors.IsForbidden(err):
		out.Reason, out.detail = apiReason(err), t.message(err, "a permission is missing ("+rightsTo(operation)+"), "+
			"a quota is exhausted, or a policy refuses the request; "+answer.NotShown)
	case apierrors.IsNotFound(err) && isAboutNamespace(err):
		out.Reason, out.detail = apiReason(err), "its namespace does not exist"
	default:
		out.Reason, out.detail = apiReason(err), t.message(err, answer.Describe(err))
	}
	return out
}

// conflictDetail recognizes the refusals that are conflicts by another name; empty for
// others.
func (t *target) conflictDetail(operation string, err error) string {
	paths := answer.Fields(err)
	switch {
	case !apierrors.IsInvalid(err):
		return ""
	case (operation == "apply" || operation == releasing) && slices.Contains(paths, "metadata.uid"):
		return "it was replaced meanwhile"
	case operation == "apply" && answer.IsLateFinalizer(err):
		return "its deletion began meanwhile"
	case operation == "apply" && t.controlled && slices.Contains(paths, "metadata.ownerReferences"):
		return "it got another controller meanwhile"
	case isTested(operation) && answer.IsFailedTest(err):
		return "it was changed meanwhile"
	}
	return ""
}

// isTested reports whether operation is a JSON patch that tests the values on which it depends.
func isTested(operation string) bool { return operation == "repair" || isTransfer(operation) }

func isTransfer(operation string) bool { return operation == migrating || operation == releasing }

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
	return "needed: get, list, watch, create and patch, and with ControlledBy update on the finalizers of the owner's kind, " +
		"and delete for an object that lacks the owner reference"
}

// message is what the API server says about the child, or otherwise if that is not to be shown.
func (t *target) message(err error, otherwise string) string {
	if t.isSensitive(t.gvk.GroupKind()) {
		return otherwise
	}
	return cmp.Or(answer.Message(err, t.key.Name), otherwise)
}

// hideItems returns path up to the first list item or map key if the kind is sensitive: an item is
// named by a value. The keys of Secrets and ConfigMaps are shown.
func (t *target) hideItems(path string) string {
	field, _, isCut := strings.Cut(path, "[")
	isKey := slices.Contains([]string{"data", "stringData", "binaryData"}, field)
	if !isCut || isKey || strings.HasPrefix(path, "metadata.") || !t.isSensitive(t.gvk.GroupKind()) {
		return path
	}
	return field + "[…]"
}

// shown returns an outcome whose paths may be shown.
func (t *target) shown(found outcome) outcome {
	found.changes, found.kept = slices.Clone(found.changes), slices.Clone(found.kept)
	for i := range found.changes {
		found.changes[i].Path = t.hideItems(found.changes[i].Path)
	}
	for i := range found.kept {
		found.kept[i].Path = t.hideItems(found.kept[i].Path)
	}
	return found
}

// Operations of patches that change managed fields only, as errors name them.
const (
	migrating = "migrate" // takes fields from older versions
	releasing = "release" // gives up fields of this field owner
)

// isInvalid reports whether the API server found the request invalid. kube-apiserver 1.36 answers a
// body that does not fit the schema with a 500 without a reason; only the message shows the difference
// to other failures.
func isInvalid(err error) bool {
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return true
	}
	status, ok := answer.Status(err)
	return ok && status.Code == 500 && status.Reason == "" &&
		(strings.HasPrefix(status.Message, "failed to create typed patch object") || isMistyped(status.Message))
}

// isLiveInvalid reports whether the live object does not fit the schema, so that nothing can be merged
// with it.
func isLiveInvalid(err error) bool {
	status, ok := answer.Status(err)
	return ok && status.Code == 500 && status.Reason == "" && strings.HasPrefix(status.Message, "failed to create typed live object")
}

// isMistyped: the schema takes any scalar or list there, the Go type does not.
func isMistyped(message string) bool {
	return strings.HasPrefix(message, "failed to convert new object") &&
		strings.Contains(message, " to proper version: unable to convert unstructured object to ")
}

func isNamespaceTerminating(cause metav1.StatusCause) bool {
	return cause.Type == "NamespaceTerminating"
}

func isAboutNamespace(err error) bool {
	status, ok := answer.Status(err)
	return ok && status.Details != nil && status.Details.Kind == "namespaces"
}

// describeCauses names fields and types, and no values.
func describeCauses(err error) string {
	faults := answer.Faults(err)
	for _, field := range undeclaredFields(err) {
		faults = append(faults, field+" (not in the schema)")
	}
	if len(faults) == 0 {
		return "the API server names no field; " + answer.NotShown
	}
	return strings.Join(faults, ", ")
}

// undeclaredFields returns the paths of unknown fields in the message of the API server, which names
// them nowhere else: "…: .spec.foo: field not declared in schema". Only words that look like paths are
// taken, as the rest may quote the object.
func undeclaredFields(err error) []string {
	status, _ := answer.Status(err)
	if !strings.HasPrefix(status.Message, "failed to create typed patch object") {
		return nil
	}
	var fields []string
	for line := range strings.Lines(status.Message) {
		before, found := strings.CutSuffix(strings.TrimSpace(line), ": field not declared in schema")
		if !found {
			continue
		}
		path := strings.TrimPrefix(before[strings.LastIndex(before, " ")+1:], ".")
		if path != "" && !strings.ContainsAny(path, "\"'{}&") {
			fields = appendNew(fields, path)
		}
	}
	return fields
}

func withoutIndexes(fields []string) []string {
	bare := make([]string, 0, len(fields))
	for _, field := range fields {
		bare = append(bare, indexes.ReplaceAllString(field, "[]"))
	}
	slices.Sort(bare)
	return slices.Compact(bare)
}

var indexes = regexp.MustCompile(`\[\d+\]`)

// namesFieldsOnly reports whether err is a 422 all of whose causes name fields, none
// of the metadata. A cause without a field is an admission policy's.
func namesFieldsOnly(err error) bool {
	causes := answer.Causes(err)
	return apierrors.IsInvalid(err) && len(causes) > 0 && !slices.ContainsFunc(causes, func(cause metav1.StatusCause) bool {
		return cause.Field == "" || strings.HasPrefix(cause.Field, "metadata")
	})
}
