package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/cluster"
	"github.com/trueup-go/trueup/test/e2e/operator"
)

// TestRights shows that the operator's roles hold nothing that it does not need.
// Most verbs are seen in its requests. Those that other verbs need beside them
// (creating by patch, putting an owner back) are taken away one by one: it has to
// hurt.
func TestRights(t *testing.T) {
	o := installed(t)
	require.NoError(t, client.IgnoreNotFound(human(t).Delete(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: lease},
	})), "so that it has to be created")
	mark := shared.Mark()
	lists := o
	lists.Env = []string{"KUBE_FEATURE_WatchListClient=false"} // as with a server that does not stream its lists
	require.NoError(t, startWith(t, lists).Stop())
	process := start(t)
	s := newScene(t, process)
	for kind, child := range s.children(t) {
		s.patch(t, child, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`)
		eventually(t, func(context.Context) error {
			return expect(s.children(t)[kind].GetLabels()["app.kubernetes.io/managed-by"] != "", "%s: no label", kind)
		})
	}

	role := &rbacv1.ClusterRole{}
	require.NoError(t, human(t).Get(t.Context(), client.ObjectKey{Name: "application-operator-manager-role"}, role))
	leading := &rbacv1.Role{}
	require.NoError(t, human(t).Get(t.Context(),
		client.ObjectKey{Namespace: o.Namespace, Name: "application-operator-leader-election-role"}, leading))
	given := rights(append(slices.Clone(role.Rules), leading.Rules...))
	unseen := sets.New("create secrets", "delete secrets", "create deployments", "delete deployments",
		"create services", "delete services", "update applications/finalizers")

	eventually(t, func(context.Context) error {
		used, err := usedRights(o, mark)
		if err != nil {
			return err
		}
		unused := given.Difference(used).Difference(unseen)
		return expect(unused.Len() == 0, "never used: %v", sets.List(unused))
	})
	for _, right := range sets.List(unseen) {
		t.Run("without "+right, func(t *testing.T) { testWithout(t, s, role, right) })
	}
}

// testWithout takes a right away, waits until that shows, and gives it back.
func testWithout(t *testing.T, s scene, role *rbacv1.ClusterRole, right string) {
	full := role.DeepCopy()
	t.Cleanup(func() {
		require.NoError(t, human(t).Patch(context.Background(), full.DeepCopy(), client.RawPatch(
			"application/merge-patch+json", []byte(`{"rules":`+toJSON(t, full.Rules)+`}`))))
	})
	var verb, resource string
	_, err := fmt.Sscan(right, &verb, &resource)
	require.NoError(t, err)
	rules := without(full.Rules, verb, resource)
	require.NoError(t, human(t).Patch(t.Context(), role, client.RawPatch(
		"application/merge-patch+json", []byte(`{"rules":`+toJSON(t, rules)+`}`))))
	eventually(t, func(context.Context) error {
		return expect(!mayDo(t, s, verb, resource), "it still may %s", right)
	})

	child := map[string]client.Object{
		"secrets": s.secret(t), "deployments": s.deployment(t), "services": s.service(t), "applications/finalizers": s.service(t),
	}[resource]
	if verb == "delete" {
		s.patch(t, child, `{"metadata":{"ownerReferences":null}}`)
	} else {
		require.NoError(t, human(t).Delete(t.Context(), child))
	}
	s.waitForReason(t, "Forbidden")

	s.patch(t, role, `{"rules":`+toJSON(t, full.Rules)+`}`)
	eventually(t, func(context.Context) error {
		return expect(mayDo(t, s, verb, resource), "it may not %s yet", right)
	})
	s.reconcile(t)
	s.settle(t)
}

// mayDo asks the server about the operator's rights in the scene's namespace.
func mayDo(t *testing.T, s scene, verb, resource string) bool {
	t.Helper()
	group := map[string]string{"deployments": "apps", "applications/finalizers": "application.sample.ibm.com"}[resource]
	subresource := ""
	if resource == "applications/finalizers" {
		resource, subresource = "applications", "finalizers"
	}
	o := installed(t)
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: o.User(),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: s.namespace, Verb: verb, Group: group, Resource: resource, Subresource: subresource,
		},
	}}
	require.NoError(t, human(t).Create(t.Context(), review))
	return review.Status.Allowed
}

func rights(rules []rbacv1.PolicyRule) sets.Set[string] {
	out := sets.New[string]()
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				out.Insert(verb + " " + resource)
			}
		}
	}
	return out
}

// usedRights are those that the operator's requests since the mark took.
func usedRights(o operator.Operator, mark cluster.Mark) (sets.Set[string], error) {
	requests, err := shared.Requests(mark, cluster.ByUser(o.User()))
	if err != nil {
		return nil, err
	}
	out := sets.New[string]()
	for _, request := range requests {
		out.Insert(request.String())
	}
	return out, nil
}

func without(rules []rbacv1.PolicyRule, verb, resource string) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, rule := range rules {
		for _, each := range rule.Resources {
			one := *rule.DeepCopy()
			one.Resources = []string{each}
			if each == resource {
				one.Verbs = slices.DeleteFunc(one.Verbs, func(v string) bool { return v == verb })
			}
			if len(one.Verbs) > 0 {
				out = append(out, one)
			}
		}
	}
	return out
}
