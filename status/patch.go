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
	"github.com/trueup-go/trueup/internal/jsonpatch"
)

// maxTries is how often Patch tries with Live.
const maxTries = 5

// Patch writes what mutate changes in obj's status, with one request, or none if that
// is nothing. obj must be as it was read, from a cache or the server.
//
// The request is a JSON patch of the status subresource. It names resourceVersion, so
// that nothing is written on top of what the caller has not seen, and has one operation
// for each member that changed, inside a condition too: what the Go type does not know
// stays, in the status and in its conditions. Conditions (the items of any list named
// conditions, if each has a type of its own) are matched by type; only a new one is
// added whole, and their order stays the server's. Other lists are replaced as a whole.
// Where the server has no status yet, the request makes it. If the server's status is not
// as the Go type shows it, such as one in which the Go type knows nothing, that takes three
// requests: the first fails, the second asks what is there, the third writes that status
// with the change.
//
// mutate is called with obj itself, and may change its status only: anything else is
// refused with ErrRefused before a request is sent. It may be called again, with Live:
// it must set, not add up.
//
// Afterwards obj is the server's answer, if a request was sent and obj is not gone; after
// an error it is as it was read last.
//
// If the object was changed since it was read, the error is a Conflict
// (apierrors.IsConflict), or, with Live, the object is read again and mutate called
// again. An object that is gone, or has another of its name in its place, needs no
// status: that is no error. As the server answers in the same way for a kind whose
// status subresource is not enabled, obj is read once when it says NotFound; if obj is
// there and not on its way out, NotFound is returned. Every error is an *Error.
//
// Patch remembers nothing: a status that the API server refuses is sent again by the next call.
func Patch[T client.Object](ctx context.Context, c client.Client, obj T, mutate func(T), opts ...Option) error {
	w := newWriter(c, obj, opts)
	if err := w.check(obj); err != nil {
		return err
	}
	if mutate == nil {
		return w.refuse("the function mutate given to status.Patch is nil")
	}
	for tries := 1; ; tries++ {
		err := w.patch(ctx, obj, func() { mutate(obj) })
		if err == nil || w.live == nil || tries == maxTries || !apierrors.IsConflict(err) {
			return err
		}
		if gone, err := w.reread(ctx, obj); err != nil || gone {
			return err
		}
	}
}

// writer writes one object's status.
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
	if isNil(c) || isNil(obj) {
		return w
	}
	if isExact(obj) {
		// controller-runtime 0.25 books patches of unstructured objects under the typed
		// representation, where nobody waits for them.
		w.write = append(w.write, client.DisableReadYourWritesConsistency)
	}
	w.key = client.ObjectKeyFromObject(obj)
	w.kind, _ = apiutil.GVKForObject(obj, c.Scheme()) // the request will fail, and say why
	return w
}

// check refuses what cannot be patched.
func (w *writer) check(obj client.Object) error {
	switch {
	case isNil(w.client):
		return w.refuse("the client given to status.Patch is nil")
	case isNil(obj):
		return w.refuse("the object given to status.Patch is nil")
	case reflect.ValueOf(obj).Kind() != reflect.Pointer:
		return w.refuse("the object given to status.Patch is not a pointer")
	case obj.GetResourceVersion() == "":
		return w.refuse("metadata.resourceVersion is empty: pass the object as it was read", "metadata.resourceVersion")
	}
	return nil
}

// patch tries once, and leaves obj as it was if that fails.
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

// send sends the difference of before and obj, if there is one.
func (w *writer) send(ctx context.Context, before, obj client.Object) error {
	old, err := w.encode(before)
	if err != nil {
		return err
	}
	value, err := w.encode(obj)
	if err != nil {
		return err
	}
	if err := w.onlyStatus(old, value); err != nil {
		return err
	}
	d := differ{show: w.showOf(obj), before: old, after: value}
	d.member("", "status", old, value)
	if len(d.operations) == 0 {
		return nil
	}
	err = w.request(ctx, obj, before.GetResourceVersion(), d.operations)
	if isUnpatchable(err) {
		err = w.sendMerged(ctx, obj, before.GetResourceVersion(), d)
	}
	return w.result(ctx, before, err)
}

// sendMerged sends the whole status with the difference that d found, to a server whose
// object is not as the Go type shows it. A dry run of a patch that changes nothing is answered
// with all that the server has: no cache comes between, and it takes no other right.
func (w *writer) sendMerged(ctx context.Context, obj client.Object, version string, d differ) error {
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(w.kind)
	if err := w.request(ctx, stored, version, nil, client.DryRunAll, client.DisableReadYourWritesConsistency); err != nil {
		return err
	}
	_, had := stored.Object["status"]
	merger{show: d.show, after: d.after}.member("status", stored.Object, d.before, d.after)
	var operations []jsonpatch.Operation
	if merged, has := stored.Object["status"]; has {
		operations = append(operations, jsonpatch.Add("/status", merged))
	} else if had {
		operations = append(operations, jsonpatch.Remove("/status"))
	}
	return w.request(ctx, obj, version, operations)
}

// encode gives obj as the JSON that it is for the server.
func (w *writer) encode(obj client.Object) (map[string]any, error) {
	var content any = obj
	if u, ok := obj.(runtime.Unstructured); ok {
		content = u.UnstructuredContent()
	}
	data, err := json.Marshal(content)
	if err != nil {
		return nil, w.refuse("the object cannot be encoded as JSON: " + err.Error())
	}
	out := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // for integers that a float64 does not hold
	if err := decoder.Decode(&out); err != nil {
		return nil, w.refuse("the object is not encoded as a JSON object: " + err.Error())
	}
	return out, nil
}

// onlyStatus refuses changes outside the status.
func (w *writer) onlyStatus(old, value map[string]any) error {
	d := differ{}
	d.object("", withoutStatus(old), withoutStatus(value))
	if paths := d.paths(); len(paths) > 0 {
		return w.refuse("mutate may change only the status, but it changed "+strings.Join(paths, ", "), paths...)
	}
	return nil
}

func withoutStatus(content map[string]any) map[string]any {
	rest := maps.Clone(content)
	delete(rest, "status")
	return rest
}

// request sends the operations, and makes obj the answer. The patch sets resourceVersion: the
// server answers 409 if the object has another one, and 422 if the patch cannot be applied.
func (w *writer) request(
	ctx context.Context, obj client.Object, version string, operations []jsonpatch.Operation, opts ...client.SubResourcePatchOption,
) error {
	patch, err := json.Marshal(append([]jsonpatch.Operation{jsonpatch.Replace("/metadata/resourceVersion", version)}, operations...))
	if err != nil {
		return err
	}
	answered := emptyLike(obj, w.kind)
	answered.SetNamespace(w.key.Namespace)
	answered.SetName(w.key.Name)
	opts = slices.Concat(w.write, opts)
	if err := w.client.Status().Patch(ctx, answered, client.RawPatch(types.JSONPatchType, patch), opts...); err != nil {
		return err
	}
	assign(obj, answered)
	return nil
}

// result is what the failure of a request means.
func (w *writer) result(ctx context.Context, obj client.Object, err error) error {
	if err == nil {
		return nil
	}
	failure := w.fail(err)
	if !apierrors.IsNotFound(err) {
		return failure
	}
	var reader client.Reader = w.client
	if w.live != nil {
		reader = w.live
	}
	found := emptyLike(obj, w.kind)
	if err := reader.Get(ctx, w.key, found); err != nil {
		if answer.IsGone(err) {
			return nil
		}
		return w.fail(err)
	}
	if found.GetUID() != obj.GetUID() || found.GetDeletionTimestamp() != nil {
		return nil
	}
	return failure
}

// reread makes obj what the server has. If that is another object, or none, obj is gone.
func (w *writer) reread(ctx context.Context, obj client.Object) (gone bool, err error) {
	found := emptyLike(obj, w.kind)
	switch err := w.live.Get(ctx, w.key, found); {
	case answer.IsGone(err):
		return true, nil
	case err != nil:
		return false, w.fail(err)
	case found.GetUID() != obj.GetUID():
		return true, nil
	}
	assign(obj, found)
	return false, nil
}
