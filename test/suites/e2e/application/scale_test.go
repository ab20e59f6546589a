package application_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
)

// TestScale has a user scale an Application, as an autoscaler would.
func TestScale(t *testing.T) {
	f := newFixture(t, start(t))
	meta := metav1.ObjectMeta{Namespace: f.namespace, Name: "scaler"}
	require.NoError(t, admin(t).Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"applications"}, Verbs: []string{"get"}},
		{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"applications/scale"}, Verbs: []string{"get", "patch"}},
	}}))
	require.NoError(t, admin(t).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "jane"}},
	}))
	mark := shared.Mark()
	kubectl(t, "--as=jane", "scale", "application", f.name, "-n", f.namespace, "--replicas=3")
	f.settle(t)
	require.Equal(t, map[string]int{"patch deployments": 1}, f.requests(t, mark))
	require.Equal(t, new(int32(3)), f.application(t).Spec.AmountPods)
	require.Len(t, f.pods(t), 3)

	tests.CheckScale(t, f.named(), 3, 3)
}
