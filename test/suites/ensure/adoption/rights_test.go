package adoption_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// TestAdoptionTakesTheRightToDelete: the admission plugin OwnerReferencesPermissionEnforcement lets nobody give an object an
// owner who may not delete it. The error says so, although it shows no message about a Secret.
func TestAdoptionTakesTheRightToDelete(t *testing.T) {
	t.Parallel()
	f := newFixture(t, true, plain)
	user := "user of " + f.namespace
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "operator"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch", "create", "patch"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps/finalizers"}, Verbs: []string{"update"}},
	}}
	require.NoError(t, f.admin.Create(t.Context(), role))
	require.NoError(t, f.admin.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "operator"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "operator"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "web"}}
	require.NoError(t, f.admin.Create(t.Context(), secret.DeepCopy()))
	config := program.Config(shared, f.userAgent)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	var err error
	f.client, err = client.New(config, client.Options{Scheme: f.admin.Scheme()})
	require.NoError(t, err)
	f.reader = f.client
	await := func(is func() bool) { t.Helper(); require.Eventually(t, is, time.Minute, 20*time.Millisecond) }
	await(func() bool {
		return f.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret.DeepCopy()) == nil
	})

	adopt := func() (ensure.Result[*corev1.Secret], error) {
		return ensure.Object(t.Context(), f.started(), secret.DeepCopy(), ensure.Adopt(), ensure.ControlledBy(f.owner))
	}
	_, err = adopt()
	require.ErrorIs(t, err, ensure.ErrAPI)
	require.ErrorContains(t, err, ": Forbidden: a permission is missing (needed: ")
	require.ErrorContains(t, err, "and delete for an object that lacks the owner reference")

	role.Rules[0].Verbs = append(role.Rules[0].Verbs, "delete")
	require.NoError(t, f.admin.Update(t.Context(), role))
	await(func() bool {
		result, err := adopt()
		return err == nil && result.Operation == ensure.Updated
	})
}
