package status

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/consistency"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/object"
)

// maxAttempts is the number of attempts that Patch makes with Live.
const maxAttempts = 5

// Patch writes the changes that mutate makes to obj's status, with one request, or none if
// nothing changed. Pass obj as it was read, from a cache or from the API server.
//
// The request is a patch of the status subresource. The patch contains
// only the changed fields, also inside a condition. It also contains the resourceVersion, so that it never
// overwrites a change that the caller has not seen. Fields that the Go type does not know are kept,
// in the status and in its conditions. Conditions (the items of any list named conditions, if each
// has a type of its own) are matched by type: only a new condition is added as a whole, and the
// order on the server is kept. Other lists are replaced as a whole. An object without a status gets
// one.
//
// The stored status can differ from the Go type's form, for example when all fields of a
// struct in a condition are unknown to the Go type. Patch then needs three requests: the first fails, the
// second reads the stored status, the third writes the stored status with the change.
//
// Patch calls mutate with obj itself. mutate may change only the status: any other change is
// refused with ErrRefused before a request is sent. With Live, Patch may call mutate more
// than once, so mutate must be idempotent.
//
// Afterwards, obj is the server's response, if a request was sent and the object still exists.
// After an error, obj is the copy that was read last.
//
// If the object was changed since it was read, Patch returns a Conflict (apierrors.IsConflict); with
// Live, Patch reads the object again and calls mutate again. If the object is gone, or with Live
// replaced by another object of the same name, no status is needed and Patch returns nil. The server
// also responds NotFound if the status subresource of the kind is not enabled. So after a NotFound,
// Patch reads the object once, and returns NotFound if the object exists and is not being deleted.
// Every error is an *Error.
//
// Patch keeps no state: after the API server refused a status, the next call sends it again.
func Patch[T client.Object](ctx context.Context, c client.Client, obj T, mutate func(T), opts ...Option) error {
	w := newWriter(c, obj, opts)
	if err := w.check(obj); err != nil {
		return err
	}
	if mutate == nil {
		return w.refusal("the function mutate given to status.Patch is nil")
	}
	for attempt := 1; ; attempt++ {
		err := w.patch(ctx, obj, func() { mutate(obj) })
		if err == nil || w.live == nil || attempt == maxAttempts || !apierrors.IsConflict(err) {
			return err
		}
		if gone, err := w.reread(ctx, obj); err != nil || gone {
			return err
		}
	}
}

// A writer writes the status of one object.
type writer struct {
	options
	client client.Client
	kind   schema.GroupVersionKind
	key    types.NamespacedName
}

func newWriter(c client.Client, obj client.Object, opts []Option) *writer {
	w := &writer{client: c}
	for _, opt := range opts {
		opt(&w.options)
	}
	if object.IsNil(c) || object.IsUnusable(obj) {
		return w
	}
	if object.IsPatchMisrecorded(obj) {
		w.write = append(w.write, consistency.Off)
	}
	w.key = client.ObjectKeyFromObject(obj)
	w.kind, _ = apiutil.GVKForObject(obj, c.Scheme()) // if this fails, the request fails with the reason
	return w
}

// check refuses a client or an object that Patch cannot use.
func (w *writer) check(obj client.Object) error {
	switch {
	case object.IsNil(w.client):
		return w.refusal("the client given to status.Patch is nil")
	case object.IsUnusable(obj):
		return w.refusal("the object given to status.Patch is nil, or embeds a pointer that is nil")
	case reflect.ValueOf(obj).Kind() != reflect.Pointer:
		return w.refusal("the object given to status.Patch is not a pointer")
	case obj.GetResourceVersion() == "":
		return w.refusal("metadata.resourceVersion is empty: pass the object as it was read", "metadata.resourceVersion")
	}
	return nil
}

// patch makes one attempt. If the attempt fails, obj stays as it was.
func (w *writer) patch(ctx context.Context, obj client.Object, mutate func()) error {
	before := copyOf(obj)
	mutate()
	if reflect.DeepEqual(before, obj) {
		return nil
	}
	err := w.send(ctx, before, obj)
	if err != nil {
		assign(obj, before)
	}
	return err
}

// send sends the difference between before and obj, if there is one.
func (w *writer) send(ctx context.Context, before, obj client.Object) error {
	old, err := w.encode(before)
	if err != nil {
		return err
	}
	value, err := w.encode(obj)
	if err != nil {
		return err
	}
	if err := w.checkOnlyStatus(old, value); err != nil {
		return err
	}
	d := differ{roundTrip: w.roundTripOf(obj), before: old, after: value}
	d.diffMember("", "status", old, value)
	if len(d.operations) == 0 {
		return nil
	}
	version := before.GetResourceVersion()
	if merge := d.mergePatch(); merge != nil {
		merge["metadata"] = map[string]any{"resourceVersion": version}
		err = w.request(ctx, obj, types.MergePatchType, merge)
	} else {
		err = w.request(ctx, obj, types.JSONPatchType, withVersion(version, d.operations))
	}
	if isUnpatchable(err) {
		err = w.sendMerged(ctx, obj, version, d)
	}
	return w.unlessGone(ctx, before, err)
}

// sendMerged writes the whole stored status with the change that d found, for a stored
// object that differs from the Go type's form. The response to a dry run of a patch
// without changes is the stored object: a dry run bypasses caches and needs no further right.
func (w *writer) sendMerged(ctx context.Context, obj client.Object, version string, d differ) error {
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(w.kind)
	nothing := withVersion(version, nil)
	if err := w.request(ctx, stored, types.JSONPatchType, nothing, client.DryRunAll, consistency.Off); err != nil {
		return err
	}
	_, had := stored.Object["status"]
	merger{roundTrip: d.roundTrip, after: d.after}.mergeMember("status", stored.Object, d.before, d.after)
	var operations []jsonpatch.Operation
	if merged, has := stored.Object["status"]; has {
		operations = append(operations, jsonpatch.Add("/status", merged))
	} else if had {
		operations = append(operations, jsonpatch.Remove("/status"))
	}
	return w.request(ctx, obj, types.JSONPatchType, withVersion(version, operations))
}

// encode returns obj's JSON form, which a request would contain.
func (w *writer) encode(obj client.Object) (map[string]any, error) {
	var content any = obj
	if u, ok := obj.(runtime.Unstructured); ok {
		content = u.UnstructuredContent()
	}
	data, err := json.Marshal(content)
	if err != nil {
		return nil, w.refusal("the object cannot be encoded as JSON: " + err.Error())
	}
	out := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // keeps integers that float64 cannot hold
	if err := decoder.Decode(&out); err != nil {
		return nil, w.refusal("the object is not encoded as a JSON object: " + err.Error())
	}
	return out, nil
}

// checkOnlyStatus refuses changes outside the status.
func (w *writer) checkOnlyStatus(old, value map[string]any) error {
	d := differ{}
	d.diffObject("", withoutStatus(old), withoutStatus(value))
	if paths := d.paths(); len(paths) > 0 {
		return w.refusal("mutate may change only the status, but it changed "+strings.Join(paths, ", "), paths...)
	}
	return nil
}

func withoutStatus(content map[string]any) map[string]any {
	rest := maps.Clone(content)
	delete(rest, "status")
	return rest
}

// withVersion returns operations that set resourceVersion first: the server responds 409 if the object has another one,
// and 422 if the operations cannot be applied.
func withVersion(version string, operations []jsonpatch.Operation) []jsonpatch.Operation {
	return append([]jsonpatch.Operation{jsonpatch.Replace("/metadata/resourceVersion", version)}, operations...)
}

// request sends a patch of the status and overwrites obj with the response.
func (w *writer) request(
	ctx context.Context, obj client.Object, patchType types.PatchType, patch any, opts ...client.SubResourcePatchOption,
) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	response := w.emptyLike(obj)
	response.SetNamespace(w.key.Namespace)
	response.SetName(w.key.Name)
	opts = slices.Concat(w.write, opts)
	if err := w.client.Status().Patch(ctx, response, client.RawPatch(patchType, body), opts...); err != nil {
		return err
	}
	assign(obj, response)
	return nil
}

// emptyLike returns a new object of obj's Go type.
func (w *writer) emptyLike(obj client.Object) client.Object {
	return object.New(obj, w.kind.GroupVersion().String(), w.kind.Kind)
}

// unlessGone returns the error of a failed request, or nil if the object is gone, replaced or
// being deleted: then no status is needed.
func (w *writer) unlessGone(ctx context.Context, obj client.Object, err error) error {
	if err == nil {
		return nil
	}
	failure := w.failure(err)
	if !apierrors.IsNotFound(err) {
		return failure
	}
	var reader client.Reader = w.client
	if w.live != nil {
		reader = w.live
	}
	found := w.emptyLike(obj)
	if err := reader.Get(ctx, w.key, found, consistency.Off); err != nil {
		if answer.IsGone(err) {
			return nil
		}
		return w.failure(err)
	}
	if found.GetUID() != obj.GetUID() || found.GetDeletionTimestamp() != nil {
		return nil
	}
	return failure
}

// reread overwrites obj with the live object. An object that was replaced is gone, too.
func (w *writer) reread(ctx context.Context, obj client.Object) (gone bool, err error) {
	found := w.emptyLike(obj)
	switch err := w.live.Get(ctx, w.key, found); {
	case answer.IsGone(err):
		return true, nil
	case err != nil:
		return false, w.failure(err)
	case found.GetUID() != obj.GetUID():
		return true, nil
	}
	assign(obj, found)
	return false, nil
}
