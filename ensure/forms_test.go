package ensure_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// TestForms ensures objects of one kind in each Go type that can hold it, all through one
// Ensurer and at the same time.
func TestForms(t *testing.T) {
	server := newServer()
	e := ensure.New(server, server, fieldOwner)
	forms := map[string]func() client.Object{
		"typed":         func() client.Object { return configMap() },
		"unstructured":  func() client.Object { return unstructuredConfigMap() },
		"metadata-only": func() client.Object { return partialConfigMap() },
	}
	failures := make(chan error, len(forms))
	var passes sync.WaitGroup
	for name, form := range forms {
		passes.Go(func() {
			for range 50 {
				desired := form()
				desired.SetName(name)
				if _, err := ensure.Object(t.Context(), e, desired, ensure.ControlledBy(shop())); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	passes.Wait()
	close(failures)
	require.NoError(t, <-failures)
	for name := range forms {
		var live corev1.ConfigMap
		require.NoError(t, server.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, &live))
		require.Equal(t, "shop", live.Labels["app"], name)
		require.Len(t, live.OwnerReferences, 1, name)
	}
}
