package suite

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WaitUntilGone waits until there is no object of that kind and key.
func (s *Suite) WaitUntilGone(t *testing.T, key client.ObjectKey, obj client.Object) {
	t.Helper()
	s.Eventually(t, func(ctx context.Context) error {
		err := s.Admin(t).Get(ctx, key, obj)
		return Expect(apierrors.IsNotFound(err), "%T %s is not gone: %v", obj, key, err)
	})
}

// CheckAbsent requires that there is no object of that kind and key.
func (s *Suite) CheckAbsent(t *testing.T, key client.ObjectKey, obj client.Object) {
	t.Helper()
	err := s.Admin(t).Get(t.Context(), key, obj)
	require.True(t, apierrors.IsNotFound(err), "%T %s is there: %v", obj, key, err)
}

// DeleteToReturn deletes an object and waits until another object has its name.
func (s *Suite) DeleteToReturn(t *testing.T, old client.Object, how metav1.DeletionPropagation) {
	t.Helper()
	require.NoError(t, s.Admin(t).Delete(t.Context(), old, client.PropagationPolicy(how)))
	s.Eventually(t, func(ctx context.Context) error {
		live, _ := old.DeepCopyObject().(client.Object)
		if err := s.Admin(t).Get(ctx, client.ObjectKeyFromObject(old), live); err != nil {
			return err
		}
		return Expect(live.GetUID() != old.GetUID(), "%T is still the old one", old)
	})
}
