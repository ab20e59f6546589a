package suite

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// A Right is a verb on a resource or a subresource of a group.
type Right struct {
	Verb, Group, Resource string
}

// String is the right as Request.String writes a request, such as patch deployments/status.
func (r Right) String() string { return r.Verb + " " + r.Resource }

// rights returns the rights that rules grant.
func rights(rules []rbacv1.PolicyRule) sets.Set[Right] {
	out := sets.New[Right]()
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					out.Insert(Right{verb, group, resource})
				}
			}
		}
	}
	return out
}

// usedRights returns the rights that the operator's requests since the mark needed.
func (s *Suite) usedRights(t *testing.T, since cluster.Mark) sets.Set[Right] {
	t.Helper()
	o := s.Installed(t)
	requests, err := (*s.cluster).Requests(since, cluster.ByUser(o.User()))
	require.NoError(t, err)
	out := sets.New[Right]()
	for _, request := range requests {
		out.Insert(Right{request.Verb, request.Group, strings.TrimPrefix(request.String(), request.Verb+" ")})
	}
	return out
}

// OnlyUsed requires that the operator's roles grant only rights that the operator used since the
// mark, and the rights in unseen, which the caller has to verify in another way. OnlyUsed returns
// the operator's cluster-wide role.
func (s *Suite) OnlyUsed(t *testing.T, since cluster.Mark, unseen ...Right) *rbacv1.ClusterRole {
	t.Helper()
	o := s.Installed(t)
	role, leading := &rbacv1.ClusterRole{}, &rbacv1.Role{}
	require.NoError(t, s.Admin(t).Get(t.Context(), client.ObjectKey{Name: prefix(o) + "manager-role"}, role))
	require.NoError(t, s.Admin(t).Get(t.Context(),
		client.ObjectKey{Namespace: o.Namespace, Name: prefix(o) + "leader-election-role"}, leading))
	given := rights(slices.Concat(role.Rules, leading.Rules))
	for right := range given {
		require.NotContains(t, right.Verb+right.Group+right.Resource, "*")
	}
	for _, right := range unseen {
		given.Delete(right)
	}
	s.Eventually(t, func(context.Context) error {
		unused := given.Difference(s.usedRights(t, since))
		return Expect(unused.Len() == 0, "never used: %v", unused.UnsortedList())
	})
	return role
}

// Without removes a right from the operator's role, waits until the removal takes effect in the
// namespace, and returns a function that restores the right. The right is restored at the end of
// the test at the latest.
func (s *Suite) Without(t *testing.T, role *rbacv1.ClusterRole, right Right, namespace string) (giveBack func()) {
	t.Helper()
	rules := func(rules []rbacv1.PolicyRule) client.Patch {
		text, err := json.Marshal(map[string]any{"rules": rules})
		require.NoError(t, err)
		return client.RawPatch("application/merge-patch+json", text)
	}
	write := func(ctx context.Context, to []rbacv1.PolicyRule) {
		name := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role.Name}}
		require.NoError(t, s.Admin(t).Patch(ctx, name, rules(to)))
	}
	t.Cleanup(func() { write(context.Background(), role.Rules) })
	write(t.Context(), without(role.Rules, right))
	s.Eventually(t, func(ctx context.Context) error {
		return Expect(!s.may(ctx, t, right, namespace), "it still may %s", right)
	})
	return func() {
		t.Helper()
		write(t.Context(), role.Rules)
		s.Eventually(t, func(ctx context.Context) error {
			return Expect(s.may(ctx, t, right, namespace), "it may not %s yet", right)
		})
	}
}

func without(rules []rbacv1.PolicyRule, right Right) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			one := *rule.DeepCopy()
			one.Resources = []string{resource}
			if resource == right.Resource {
				one.Verbs = slices.DeleteFunc(one.Verbs, func(verb string) bool { return verb == right.Verb })
			}
			if len(one.Verbs) > 0 {
				out = append(out, one)
			}
		}
	}
	return out
}

// may asks the server about the operator's rights in a namespace.
func (s *Suite) may(ctx context.Context, t *testing.T, right Right, namespace string) bool {
	t.Helper()
	resource, subresource, _ := strings.Cut(right.Resource, "/")
	o := s.Installed(t)
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: o.User(),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: right.Verb, Group: right.Group, Resource: resource, Subresource: subresource,
		},
	}}
	require.NoError(t, s.Admin(t).Create(ctx, review))
	return review.Status.Allowed
}
