package suite

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// staleStatus is what an instance that has ended may have written last.
const staleStatus = `{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Forbidden","message":"a permission is missing",` +
	`"lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`

// CheckStatus overwrites the conditions of obj, which is ready, and waits until the operator has corrected
// them. Nothing else wakes the operator than a resync: run it with a short --sync-period.
func (s *Suite) CheckStatus(t *testing.T, obj client.Object) {
	t.Helper()
	kind, err := apiutil.GVKForObject(obj, s.Admin(t).Scheme())
	require.NoError(t, err)
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(kind)
	live.SetNamespace(obj.GetNamespace())
	live.SetName(obj.GetName())
	stale := client.RawPatch("application/merge-patch+json", []byte(staleStatus))
	require.NoError(t, s.Admin(t).Status().Patch(t.Context(), live, stale))
	s.Eventually(t, func(ctx context.Context) error {
		if err := s.Admin(t).Get(ctx, client.ObjectKeyFromObject(obj), live); err != nil {
			return err
		}
		conditions, _, err := unstructured.NestedSlice(live.Object, "status", "conditions")
		require.NoError(t, err)
		for _, condition := range conditions {
			if condition := condition.(map[string]any); condition["type"] == "Ready" && condition["status"] == "True" {
				return nil
			}
		}
		return Expect(false, "not corrected: %v", conditions)
	})
}
