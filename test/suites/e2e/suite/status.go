package suite

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// staleStatus is what an instance that has ended may have written last.
const staleStatus = `{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Forbidden","message":"a permission is missing",` +
	`"lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`

// CheckStatus overwrites the conditions of obj, which is at rest, and waits until it is at rest again. Nothing else wakes
// the operator than a resync: run it with a short --sync-period. Only kind, namespace and name of obj matter.
func (s *Suite) CheckStatus(t *testing.T, obj client.Object, isAtRest func(context.Context) error) {
	t.Helper()
	obj.SetResourceVersion("")
	stale := client.RawPatch("application/merge-patch+json", []byte(staleStatus))
	require.NoError(t, s.Admin(t).Status().Patch(t.Context(), obj, stale))
	s.Eventually(t, isAtRest)
}
