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

// A vault is a namespace with an operator that generates a password in each pass, and a person.
type vault struct {
	t         *testing.T
	agent     string
	lens      *lens
	person    client.Client
	namespace string
	ensurer   *ensure.Ensurer
	typed     bool
	generated []string // all passwords so far
}

func newVault(t *testing.T, show view) *vault {
	t.Helper()
	agent := "operator of " + t.Name()
	v := &vault{
		t: t, agent: agent, lens: &lens{Client: program.Client(t, shared, agent), show: show, key: map[client.ObjectKey]client.Object{}},
		person: program.Client(t, shared, "person"), namespace: shared.Namespace(t), typed: true,
	}
	v.restart()
	return v
}

// restart makes the operator forget everything.
func (v *vault) restart() { v.ensurer = ensure.New(v.lens, v.lens.Client, fieldOwner) }

// secret has another password each time.
func (v *vault) secret(user string) client.Object {
	v.t.Helper()
	generated := rand.Text()
	v.generated = append(v.generated, generated)
	return v.form(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.namespace, Name: "credentials"},
		Data:       map[string][]byte{"user": []byte(user), "password": []byte(generated)},
	})
}

// form makes a typed object unstructured if the test uses unstructured objects.
func (v *vault) form(obj client.Object) client.Object {
	v.t.Helper()
	if v.typed {
		return obj
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	require.NoError(v.t, err)
	gvk, err := v.person.GroupVersionKindFor(obj)
	require.NoError(v.t, err)
	out := &unstructured.Unstructured{Object: content}
	out.SetGroupVersionKind(gvk)
	delete(out.Object, "status")
	unstructured.RemoveNestedField(out.Object, "metadata", "creationTimestamp")
	if strategy, _, _ := unstructured.NestedMap(out.Object, "spec", "strategy"); len(strategy) == 0 {
		unstructured.RemoveNestedField(out.Object, "spec", "strategy")
	}
	return out
}

// pass ensures desired. Neither the result nor the error may contain a password.
func (v *vault) pass(desired client.Object, opts ...ensure.Option) (ensure.Result[client.Object], error) {
	v.t.Helper()
	res, err := ensure.Object(v.t.Context(), v.ensurer, desired, opts...)
	for _, generated := range v.generated {
		for _, form := range []string{generated, base64.StdEncoding.EncodeToString([]byte(generated))} {
			require.NotContains(v.t, fmt.Sprint(res.Changes, err), form)
		}
	}
	return res, err
}

func (v *vault) mustPass(want ensure.Operation, desired client.Object, opts ...ensure.Option) ensure.Result[client.Object] {
	v.t.Helper()
	res, err := v.pass(desired, opts...)
	require.NoError(v.t, err)
	require.Equal(v.t, want, res.Operation, "%s %v", res.Cause, res.Changes)
	return res
}

// data returns the data of the live Secret.
func (v *vault) data() map[string]string {
	v.t.Helper()
	live := &corev1.Secret{}
	require.NoError(v.t, v.person.Get(v.t.Context(), v.name("credentials"), live))
	data := map[string]string{}
	for key, value := range live.Data {
		data[key] = string(value)
	}
	return data
}

// owned returns the fields of the Secret that a manager owns by updates.
func (v *vault) owned(manager string) string {
	v.t.Helper()
	live := &corev1.Secret{}
	require.NoError(v.t, v.person.Get(v.t.Context(), v.name("credentials"), live))
	at := managedfields.Find(live, manager, metav1.ManagedFieldsOperationUpdate)
	if at < 0 {
		return ""
	}
	return string(live.ManagedFields[at].FieldsV1.GetRawBytes())
}

func (v *vault) name(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: v.namespace, Name: name}
}

// rotate is a person's new password.
func (v *vault) rotate(to string) {
	v.t.Helper()
	v.patch(fmt.Sprintf(`{"data": {"password": %q}}`, base64.StdEncoding.EncodeToString([]byte(to))))
}

// patch is a merge patch of the Secret by a person.
func (v *vault) patch(patch string) {
	v.t.Helper()
	obj := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v.namespace, Name: "credentials"}}
	require.NoError(v.t, v.person.Patch(v.t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("person")))
}

// writes are the patches, creations and deletions of the operator since mark.
func (v *vault) writes(mark cluster.Mark) int {
	v.t.Helper()
	n := 0
	for _, r := range program.Requests(v.t, shared, mark, v.agent) {
		if cluster.Writes(r) {
			n++
		}
	}
	return n
}

// A view returns the cached copy of a live object, or nil if the cache has none.
type view func(live, first client.Object) client.Object

var views = map[string]view{
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

// A lens is a client whose cached copies come from show, and whose requests can fail.
type lens struct {
	client.Client
	show view
	key  map[client.ObjectKey]client.Object // as it was first seen

	before func(nth int) // a patch is sent
	after  func(nth int) error
	nth    int
}

func (l *lens) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := l.Client.Get(ctx, key, obj, opts...)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	live := obj
	if err != nil {
		live = nil
	}
	if first := l.key[key]; live != nil && (first == nil || first.GetUID() != live.GetUID()) {
		l.key[key], _ = live.DeepCopyObject().(client.Object)
	}
	shown := l.show(live, l.key[key])
	if shown == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "any"}, key.Name)
	}
	if shown != obj {
		reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(shown.DeepCopyObject()).Elem())
	}
	return nil
}

func (l *lens) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	l.nth++
	if l.before != nil {
		l.before(l.nth)
	}
	err := l.Client.Patch(ctx, obj, patch, opts...)
	if err == nil && l.after != nil {
		err = l.after(l.nth)
	}
	return err
}

var errDied = errors.New("the program died")
