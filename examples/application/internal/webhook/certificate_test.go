package webhook //nolint:testpackage // tests unexported functions

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestSlower has another instance store a certificate between our read and our write of the Secret.
func TestSlower(t *testing.T) {
	secret := types.NamespacedName{Namespace: "system", Name: "certificate"}
	for name, former := range map[string][]client.Object{
		"no Secret":              nil,
		"an invalid certificate": {&corev1.Secret{}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, object := range former {
				object.SetNamespace(secret.Namespace)
				object.SetName(secret.Name)
			}
			server := fake.NewClientBuilder().WithObjects(former...).Build()
			faster := &store{client: server, secret: secret, host: "host"}
			var stored *certificate
			beFaster := func(ctx context.Context) {
				if stored == nil {
					var err error
					stored, err = faster.load(ctx)
					require.NoError(t, err)
				}
			}
			slower := &store{secret: secret, host: "host", client: interceptor.NewClient(server, interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
					beFaster(ctx)
					return c.Create(ctx, object, options...)
				},
				Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
					beFaster(ctx)
					return c.Patch(ctx, object, patch, options...)
				},
			})}
			loaded, err := slower.load(t.Context())
			require.NoError(t, err)
			require.NotNil(t, stored)
			require.Equal(t, stored.chain, loaded.chain)
			require.Equal(t, stored.bundle, loaded.bundle)
		})
	}
}

// TestServe renews a certificate: an API server that does not know the new one yet still gets the former.
func TestServe(t *testing.T) {
	first, err := newCertificate("host", nil)
	require.NoError(t, err)
	renewed, err := newCertificate("host", first.chain)
	require.NoError(t, err)
	other, err := newCertificate("host", nil)
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		w := &webhook{}
		w.serve(first)
		require.Same(t, first, w.served.Load(), "there is no other")

		w.serve(renewed)
		require.Same(t, renewed, w.current.Load())
		<-time.After(trustDelay - time.Second)
		w.serve(renewed)
		require.Same(t, first, w.served.Load(), "not all API servers may know the renewed one")
		<-time.After(2 * time.Second)
		require.Same(t, renewed, w.served.Load())

		w.serve(other)
		require.Same(t, other, w.served.Load(), "the API server does not trust the former any more")
	})
}
