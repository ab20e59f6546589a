package cluster_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

func TestServiceAccountIsItselfAndNobodyElse(t *testing.T) {
	namespace := shared.Namespace(t)
	config, err := shared.ServiceAccount(t.Context(), namespace, "robot")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, cluster.WriteKubeconfig(path, config))
	fromFile, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(t, err)

	for _, config := range []*rest.Config{config, fromFile} {
		user := whoAmI(t, config)
		require.Equal(t, "system:serviceaccount:"+namespace+":robot", user.Username)
		require.NotContains(t, user.Groups, "system:masters")
	}
	_, err = clients(t, config).CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), "it has no rights of its own: %v", err)
}

func TestServiceAccountMayExistAlready(t *testing.T) {
	config, err := shared.ServiceAccount(t.Context(), shared.Namespace(t), "default")
	require.NoError(t, err)
	require.Contains(t, whoAmI(t, config).Username, ":default")
}

func TestServiceAccountNeedsItsNamespace(t *testing.T) {
	_, err := shared.ServiceAccount(t.Context(), "missing", "robot")
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}

func TestKubeconfigIsTheAdministrators(t *testing.T) {
	config, err := clientcmd.BuildConfigFromFlags("", shared.Kubeconfig())
	require.NoError(t, err)
	require.Contains(t, whoAmI(t, config).Groups, "system:masters")
	require.Contains(t, whoAmI(t, shared.Config()).Groups, "system:masters")
}

// TestBlockingOwnerNeedsTheRightToItsFinalizers shows that the admission plugin
// OwnerReferencesPermissionEnforcement is active: a cluster without the plugin hides a missing rule
// in an operator's role.
func TestBlockingOwnerNeedsTheRightToItsFinalizers(t *testing.T) {
	namespace := shared.Namespace(t)
	admin := clients(t, shared.Config())
	owner, err := admin.CoreV1().ConfigMaps(namespace).Create(t.Context(), configMap("owner"), metav1.CreateOptions{})
	require.NoError(t, err)
	config, err := shared.ServiceAccount(t.Context(), namespace, "robot")
	require.NoError(t, err)
	robot := clients(t, config).CoreV1().ConfigMaps(namespace)
	child := configMap("child")
	child.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: new(true),
	}}

	allow(t, namespace, "robot", "create", "configmaps")
	require.Eventually(t, func() bool {
		_, err := robot.Create(t.Context(), configMap("without-owner"), metav1.CreateOptions{})
		return err == nil
	}, limit, tick, "a new role takes a moment to be in force")
	_, err = robot.Create(t.Context(), child, metav1.CreateOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, "blockOwnerDeletion")

	allow(t, namespace, "robot", "update", "configmaps/finalizers")
	require.Eventually(t, func() bool {
		_, err = robot.Create(t.Context(), child, metav1.CreateOptions{})
		return err == nil
	}, limit, tick)
}

func whoAmI(t *testing.T, config *rest.Config) authenticationv1.UserInfo {
	t.Helper()
	review, err := clients(t, config).AuthenticationV1().SelfSubjectReviews().
		Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	require.NoError(t, err)
	return review.Status.UserInfo
}

// allow gives a ServiceAccount the right to do this.
func allow(t *testing.T, namespace, account, verb, resource string) {
	t.Helper()
	rbac := clients(t, shared.Config()).RbacV1()
	role, err := rbac.Roles(namespace).Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "role-"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{verb}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = rbac.RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
