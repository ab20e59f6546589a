package once_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const fieldOwner = "vault-operator"

var password = ensure.Once("data[password]")

// A fixture is a namespace with an operator that generates a password in each pass, and an admin.
type fixture struct {
	t         *testing.T
	userAgent string
	client    *interceptingClient
	admin     client.Client
	namespace string
	ensurer   *ensure.Ensurer
	typed     bool
	generated []string // all passwords so far
}

func newFixture(t *testing.T, show cacheView) *fixture {
	t.Helper()
	agent := "operator of " + t.Name()
	f := &fixture{
		t: t, userAgent: agent, client: &interceptingClient{Client: program.Client(t, shared, agent), show: show, firstSeen: map[client.ObjectKey]client.Object{}},
		admin: program.Client(t, shared, "kubectl-edit"), namespace: shared.Namespace(t), typed: true,
	}
	f.restart()
	return f
}

// restart makes the operator forget everything.
func (f *fixture) restart() { f.ensurer = ensure.New(f.client, f.client.Client, fieldOwner) }

// secret has another password each time.
func (f *fixture) secret(user string) client.Object {
	f.t.Helper()
	generated := rand.Text()
	f.generated = append(f.generated, generated)
	return f.form(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "credentials"},
		Data:       map[string][]byte{"user": []byte(user), "password": []byte(generated)},
	})
}

// form makes a typed object unstructured if the test uses unstructured objects.
func (f *fixture) form(obj client.Object) client.Object {
	f.t.Helper()
	if f.typed {
		return obj
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	require.NoError(f.t, err)
	gvk, err := f.admin.GroupVersionKindFor(obj)
	require.NoError(f.t, err)
	out := &unstructured.Unstructured{Object: content}
	out.SetGroupVersionKind(gvk)
	delete(out.Object, "status")
	unstructured.RemoveNestedField(out.Object, "metadata", "creationTimestamp")
	if strategy, _, _ := unstructured.NestedMap(out.Object, "spec", "strategy"); len(strategy) == 0 {
		unstructured.RemoveNestedField(out.Object, "spec", "strategy")
	}
	return out
}

// ensure ensures desired. Neither the result nor the error may contain a password.
func (f *fixture) ensure(desired client.Object, opts ...ensure.Option) (ensure.Result[client.Object], error) {
	f.t.Helper()
	res, err := ensure.Object(f.t.Context(), f.ensurer, desired, opts...)
	for _, generated := range f.generated {
		for _, form := range []string{generated, base64.StdEncoding.EncodeToString([]byte(generated))} {
			require.NotContains(f.t, fmt.Sprint(res.Changes, err), form)
		}
	}
	return res, err
}

func (f *fixture) mustEnsure(want ensure.Operation, desired client.Object, opts ...ensure.Option) ensure.Result[client.Object] {
	f.t.Helper()
	res, err := f.ensure(desired, opts...)
	require.NoError(f.t, err)
	require.Equal(f.t, want, res.Operation, "%s %v", res.Cause, res.Changes)
	return res
}

// data returns the data of the live Secret.
func (f *fixture) data() map[string]string {
	f.t.Helper()
	live := &corev1.Secret{}
	require.NoError(f.t, f.admin.Get(f.t.Context(), f.key("credentials"), live))
	data := map[string]string{}
	for key, value := range live.Data {
		data[key] = string(value)
	}
	return data
}

// owned returns the fields of the Secret that a manager owns by updates.
func (f *fixture) owned(manager string) string {
	f.t.Helper()
	live := &corev1.Secret{}
	require.NoError(f.t, f.admin.Get(f.t.Context(), f.key("credentials"), live))
	at := managedfields.Find(live, manager, metav1.ManagedFieldsOperationUpdate)
	if at < 0 {
		return ""
	}
	return string(live.ManagedFields[at].FieldsV1.GetRawBytes())
}

func (f *fixture) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: f.namespace, Name: name}
}

// rotate sets a new password as the admin.
func (f *fixture) rotate(to string) {
	f.t.Helper()
	f.patch(fmt.Sprintf(`{"data": {"password": %q}}`, base64.StdEncoding.EncodeToString([]byte(to))))
}

// patch sends a merge patch of the Secret as the admin.
func (f *fixture) patch(patch string) {
	f.t.Helper()
	obj := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "credentials"}}
	require.NoError(f.t, f.admin.Patch(f.t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("kubectl-edit")))
}

// writes are the patches, creations and deletions of the operator since mark.
func (f *fixture) writes(mark cluster.Mark) int {
	f.t.Helper()
	n := 0
	for _, r := range program.Requests(f.t, shared, mark, f.userAgent) {
		if cluster.Writes(r) {
			n++
		}
	}
	return n
}

// A cacheView returns the cached copy of a live object, or nil if the cache has none.
type cacheView func(live, first client.Object) client.Object

var cacheViews = map[string]cacheView{
	"faithful": func(live, _ client.Object) client.Object { return live },
	"nothing":  func(client.Object, client.Object) client.Object { return nil },
	"stripped": func(live, _ client.Object) client.Object {
		if live != nil {
			live.SetManagedFields(nil)
		}
		return live
	},
	"lagging": func(live, first client.Object) client.Object {
		if live == nil {
			return nil
		}
		return first
	},
}

// An interceptingClient returns cached copies chosen by show, and calls hooks before and after its
// patches, which can fail them.
type interceptingClient struct {
	client.Client
	show      cacheView
	firstSeen map[client.ObjectKey]client.Object // as it was first seen

	before  func(nth int) // a patch is sent
	after   func(nth int) error
	patches int
}

func (c *interceptingClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := c.Client.Get(ctx, key, obj, opts...)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	live := obj
	if err != nil {
		live = nil
	}
	if first := c.firstSeen[key]; live != nil && (first == nil || first.GetUID() != live.GetUID()) {
		c.firstSeen[key], _ = live.DeepCopyObject().(client.Object)
	}
	shown := c.show(live, c.firstSeen[key])
	if shown == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "any"}, key.Name)
	}
	if shown != obj {
		reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(shown.DeepCopyObject()).Elem())
	}
	return nil
}

func (c *interceptingClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	c.patches++
	if c.before != nil {
		c.before(c.patches)
	}
	err := c.Client.Patch(ctx, obj, patch, opts...)
	if err == nil && c.after != nil {
		err = c.after(c.patches)
	}
	return err
}

var errKilled = errors.New("the program died")
