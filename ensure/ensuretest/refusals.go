package ensuretest

import (
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// requireUID refuses a request for another object with the same name.
func (s *server) requireUID(obj client.Object, uid types.UID) error {
	live, gvr, err := s.store.live(obj)
	if err != nil || uid == "" {
		return client.IgnoreNotFound(err) // the write itself tells
	}
	accessor, err := meta.Accessor(live)
	if err != nil || accessor.GetUID() == uid {
		return err
	}
	return apierrors.NewConflict(gvr.GroupResource(), obj.GetName(), errors.New("the precondition on the UID failed"))
}

// refuseOtherUID refuses an apply that is for another object of that name.
func refuseOtherUID(gvk schema.GroupVersionKind, config metav1.Object, live runtime.Object) error {
	accessor, err := meta.Accessor(live)
	if err != nil || config.GetUID() == "" || config.GetUID() == accessor.GetUID() {
		return err
	}
	immutable := field.Invalid(field.NewPath("metadata", "uid"), string(config.GetUID()), "field is immutable")
	return apierrors.NewInvalid(gvk.GroupKind(), config.GetName(), field.ErrorList{immutable, immutable}) // a server repeats the cause
}

// refuseOtherObject refuses the body of an apply that is not the object's which the request
// names.
func refuseOtherObject(gvk schema.GroupVersionKind, config *unstructured.Unstructured, named client.Object) error {
	name, namespace := config.GetName(), config.GetNamespace()
	switch {
	case config.GroupVersionKind() != gvk:
		return apierrors.NewBadRequest("invalid object type: " + config.GroupVersionKind().String())
	case name != "" && name != named.GetName():
		return apierrors.NewBadRequest("the name of the object (" + name + ") does not match the name on the URL (" + named.GetName() + ")")
	case namespace != "" && namespace != named.GetNamespace():
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// goTyped are the groups beside Kubernetes' own that a server has Go types for.
var goTyped = sets.New("apiextensions.k8s.io", "apiregistration.k8s.io")

// refuseStrategic refuses a strategic merge patch of a custom object: the server has no Go type that
// says how its lists merge.
func (s *server) refuseStrategic(obj client.Object, patch client.Patch) error {
	gvk, err := s.fake.GroupVersionKindFor(obj)
	if err != nil || patch.Type() != types.StrategicMergePatchType || builtIn().Recognizes(gvk) || goTyped.Has(gvk.Group) {
		return err
	}
	return apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "patch", schema.GroupResource{}, obj.GetName(),
		"the body of the request was in an unknown format - accepted media types include: "+
			"application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml", 0, false)
}

// asUnversioned returns the server's answer to an update without a resourceVersion, of a kind that
// requires one, as all custom kinds do.
func (s *server) asUnversioned(obj client.Object, err error) error {
	gvk, unknown := s.fake.GroupVersionKindFor(obj)
	if unknown != nil || obj.GetResourceVersion() != "" || !apierrors.IsConflict(err) {
		return err
	}
	missing := field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")
	return apierrors.NewInvalid(gvk.GroupKind(), obj.GetName(), field.ErrorList{missing})
}

// refuseNewFinalizers refuses new finalizers of an object in deletion.
func refuseNewFinalizers(gvk schema.GroupVersionKind, before, after metav1.Object) error {
	if before.GetDeletionTimestamp() == nil {
		return nil
	}
	path := field.NewPath("metadata", "finalizers")
	if added := validation.ValidateNoNewFinalizers(after.GetFinalizers(), before.GetFinalizers(), path); len(added) > 0 {
		return apierrors.NewInvalid(gvk.GroupKind(), after.GetName(), append(added, added...)) // a server repeats the cause
	}
	return nil
}

// These are the errors of a client for an object without a name or without a required namespace, and for
// an object of which only the metadata is known; and the error of a server for a patch.
var (
	errNameless      = errors.New("resource name may not be empty")
	errCreatePartial = errors.New("cannot create using only metadata")
	errUpdatePartial = errors.New("cannot update using only metadata -- did you mean to patch?")
	errCreateNowhere = errors.New("an empty namespace may not be set during creation")
	errWriteNowhere  = errors.New("an empty namespace may not be set when a resource name is provided")
	errPatchNowhere  = &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: "the server could not find the requested resource",
	}}
	errDeleteAllNowhere = &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusMethodNotAllowed, Reason: metav1.StatusReasonMethodNotAllowed,
		Message: "the server does not allow this method on the requested resource",
	}}
)

// place drops the namespace of an object of a cluster-scoped kind, as a server does, and refuses an
// object of a built-in namespaced kind without a namespace. Nothing says whether a custom kind is
// namespaced.
func (s *server) place(obj client.Object, refusal error) error {
	gvk, err := s.fake.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	namespaced, err := apiutil.IsGVKNamespaced(gvk, s.mapper)
	switch {
	case err != nil:
		return nil //nolint:nilerr // the mapper knows the kinds that were in the scheme from the beginning
	case !namespaced:
		obj.SetNamespace("")
	case obj.GetNamespace() == "" && builtIn().Recognizes(gvk):
		return refusal
	}
	return nil
}

// isPartial reports whether obj is the metadata of an object and nothing else.
func isPartial(obj client.Object) bool {
	_, ok := obj.(*metav1.PartialObjectMetadata)
	return ok
}

// asAnswer returns the server's answer to a body that does not fit the schema of the kind.
func asAnswer(err error) error {
	if !strings.HasPrefix(err.Error(), "failed to create typed patch object") {
		return err
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error(),
	}}
}

// asUnprocessable returns the server's answer to a JSON patch that cannot be applied.
func asUnprocessable(patch client.Patch, err error) error {
	var answer apierrors.APIStatus
	if err == nil || patch.Type() != types.JSONPatchType || errors.As(err, &answer) {
		return err
	}
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}
