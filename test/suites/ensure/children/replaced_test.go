package children_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trueup-go/trueup/ensure"
)

// TestReplacedDuringTheApply: a user deletes a child and creates an object of its own in the child's place, while the API
// server handles the operator's apply. That object is not the operator's.
func TestReplacedDuringTheApply(t *testing.T) {
	t.Parallel()
	f := newCachedFixture(t)
	config := func(value string) client.Object { return f.config("replaced-config", value) }
	secret := func(value string) client.Object {
		return &corev1.Secret{ObjectMeta: f.objectMeta("replaced-secret"), Data: map[string][]byte{"key": []byte(value)}}
	}
	service := func(value string) client.Object {
		return &corev1.Service{ObjectMeta: f.objectMeta("replaced-service"), Spec: corev1.ServiceSpec{
			Ports: []corev1.ServicePort{{Name: "http", Port: 80}}, Selector: map[string]string{"app": value},
		}}
	}
	during := f.interludes("configmaps", "secrets", "services")
	for name, kind := range map[string]func(string) client.Object{"ConfigMap": config, "Secret": secret, "Service": service} {
		t.Run(name, func(t *testing.T) {
			f.mustEnsure(ensure.Created, kind("ours"))
			edited := kind("edited")
			require.NoError(t, f.admin.Update(f.ctx, edited))
			f.awaitCached(edited)
			theirs, replaced := kind("theirs"), make(chan error, 1)
			during.update(theirs.GetName(), func() {
				replaced <- errors.Join(f.admin.Delete(f.ctx, kind("ours")), f.admin.Create(f.ctx, theirs))
			})
			_, err := f.ensure(kind("ours"))
			require.ErrorIs(t, err, ensure.ErrForeign)
			require.NoError(t, <-replaced)
			require.Equal(t, theirs, f.find(theirs))
		})
	}
}

// interludes are what a webhook does while the API server waits for its answer about an update.
type interludes struct {
	mutex  sync.Mutex
	byName map[string]func()
}

// interludes installs a webhook that is asked about the updates of these resources in the fixture's namespace.
func (f *fixture) interludes(resources ...string) *interludes {
	f.t.Helper()
	during := &interludes{byName: map[string]func(){}}
	stop, err := shared.MutatingWebhook(f.ctx, f.namespace, []admissionregistrationv1.RuleWithOperations{everyWriteOf(resources...)},
		admission.HandlerFunc(func(_ context.Context, request admission.Request) admission.Response {
			if request.Namespace == f.namespace && request.Operation == admissionv1.Update {
				during.take(request.Name)()
			}
			return admission.Allowed("")
		}))
	require.NoError(f.t, err)
	f.t.Cleanup(func() { require.NoError(f.t, stop()) })
	return during
}

// update has do run once, during the next update of the object of this name.
func (i *interludes) update(name string, do func()) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.byName[name] = do
}

func (i *interludes) take(name string) func() {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	do, ok := i.byName[name]
	if !ok {
		return func() {}
	}
	delete(i.byName, name)
	return do
}
