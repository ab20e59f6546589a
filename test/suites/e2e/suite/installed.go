package suite

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/operator"
)

// prefix begins the names of all that config/default makes.
func prefix(o operator.Operator) string { return strings.TrimSuffix(o.Namespace, "system") }

// CheckInstalled checks the objects of config/default: the server accepted them and created the
// operator's pod.
func (s *Suite) CheckInstalled(t *testing.T) {
	t.Helper()
	o := s.Installed(t)
	s.Eventually(t, func(ctx context.Context) error {
		var manager appsv1.Deployment
		key := client.ObjectKey{Namespace: o.Namespace, Name: prefix(o) + "controller-manager"}
		if err := s.Admin(t).Get(ctx, key, &manager); err != nil {
			return err
		}
		pod := manager.Spec.Template.Spec
		require.Equal(t, "manager", pod.Containers[0].Name)
		require.Equal(t, o.ServiceAccount, pod.ServiceAccountName)
		return Expect(manager.Status.AvailableReplicas == *manager.Spec.Replicas, "a pod is not admitted: %+v", manager.Status.Conditions)
	})
}

// DropLease deletes the lease of the leader election, so that the operator has to create the lease.
func (s *Suite) DropLease(t *testing.T, name string) {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: s.Installed(t).Namespace, Name: name}}
	require.NoError(t, client.IgnoreNotFound(s.Admin(t).Delete(t.Context(), lease)))
}
