package conformance_test

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func roleBinding() kindCase {
	return kindCase{
		name: "RoleBinding",
		desired: func() client.Object {
			return &rbacv1.RoleBinding{
				ObjectMeta: named("binding"),
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
				Subjects: []rbacv1.Subject{
					{Kind: rbacv1.ServiceAccountKind, Name: "reader", Namespace: "default"},
					{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "alice"},
				},
			}
		},
		edits: []edit{
			on("a subject", func(r *rbacv1.RoleBinding) { r.Subjects[1].Name = "mallory" }),
			on("a subject more", func(r *rbacv1.RoleBinding) {
				r.Subjects = append(r.Subjects, rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "mallory"})
			}),
			on("no subjects", func(r *rbacv1.RoleBinding) { r.Subjects = nil }),
		},
		next: then(func(r *rbacv1.RoleBinding) { r.Subjects = []rbacv1.Subject{} }),
		gone: is(func(r *rbacv1.RoleBinding) bool { return len(r.Subjects) == 0 }),
	}
}

func policyRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"get", "list"}, ResourceNames: []string{}},
		{APIGroups: []string{"apps"}, Resources: []string{"*"}, Verbs: []string{"*"}, ResourceNames: []string{"web"}},
	}
}

func role() kindCase {
	return kindCase{
		name: "Role",
		desired: func() client.Object {
			return &rbacv1.Role{ObjectMeta: named("role"), Rules: policyRules()}
		},
		edits: []edit{
			on("a verb more", func(r *rbacv1.Role) { r.Rules[0].Verbs = append(r.Rules[0].Verbs, "delete") }),
			on("a rule more", func(r *rbacv1.Role) { r.Rules = append(r.Rules, r.Rules[1]) }),
			on("more names", func(r *rbacv1.Role) { r.Rules[1].ResourceNames = nil }),
			on("reordered rules", func(r *rbacv1.Role) { slices.Reverse(r.Rules) }),
			on("no rules", func(r *rbacv1.Role) { r.Rules = nil }),
		},
		next: then(func(r *rbacv1.Role) { r.Rules = []rbacv1.PolicyRule{} }),
		gone: is(func(r *rbacv1.Role) bool { return len(r.Rules) == 0 }),
	}
}

func clusterRole() kindCase {
	return kindCase{
		name:   "ClusterRole",
		rename: bySuffix,
		desired: func() client.Object {
			return &rbacv1.ClusterRole{
				ObjectMeta: named("cluster-role"),
				Rules:      append(policyRules(), rbacv1.PolicyRule{NonResourceURLs: []string{"/healthz/*"}, Verbs: []string{"get"}}),
			}
		},
		edits: []edit{
			on("a resource more", func(r *rbacv1.ClusterRole) { r.Rules[0].Resources = append(r.Rules[0].Resources, "nodes") }),
			on("a rule more", func(r *rbacv1.ClusterRole) { r.Rules = append(r.Rules, r.Rules[1]) }),
			on("a rule less", func(r *rbacv1.ClusterRole) { r.Rules = r.Rules[1:] }),
			on("a path", func(r *rbacv1.ClusterRole) { r.Rules[2].NonResourceURLs[0] = "*" }),
		},
		next: then(func(r *rbacv1.ClusterRole) { r.Rules = r.Rules[2:] }),
		gone: is(func(r *rbacv1.ClusterRole) bool { return len(r.Rules) == 1 }),
	}
}

// aggregatedClusterRole has rules that a controller fills in.
func aggregatedClusterRole() kindCase {
	selecting := func(key string) metav1.LabelSelector {
		return metav1.LabelSelector{MatchLabels: map[string]string{key: "true"}}
	}
	return kindCase{
		name:   "aggregated ClusterRole",
		rename: bySuffix,
		desired: func() client.Object {
			return &rbacv1.ClusterRole{
				ObjectMeta: named("aggregated"),
				AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
					selecting("rbac.authorization.k8s.io/aggregate-to-view"), selecting("rbac.example.com/nothing"),
				}},
			}
		},
		settled: is(func(r *rbacv1.ClusterRole) bool { return len(r.Rules) > 0 }),
		edits: []edit{
			on("a selector more", func(r *rbacv1.ClusterRole) {
				rule := r.AggregationRule
				rule.ClusterRoleSelectors = append(rule.ClusterRoleSelectors, selecting("rbac.example.com/nothing-more"))
			}),
			on("a selector less", func(r *rbacv1.ClusterRole) {
				r.AggregationRule.ClusterRoleSelectors = r.AggregationRule.ClusterRoleSelectors[:1]
			}),
		},
		next: then(func(r *rbacv1.ClusterRole) {
			r.AggregationRule.ClusterRoleSelectors = r.AggregationRule.ClusterRoleSelectors[:1]
		}),
		gone:       is(func(r *rbacv1.ClusterRole) bool { return len(r.AggregationRule.ClusterRoleSelectors) == 1 }),
		exceptions: map[string]string{freeRestart: "the aggregation controller wrote its rules after we had made it"},
	}
}

func clusterRoleBinding() kindCase {
	return kindCase{
		name:   "ClusterRoleBinding",
		rename: bySuffix,
		desired: func() client.Object {
			return &rbacv1.ClusterRoleBinding{
				ObjectMeta: named("cluster-binding"),
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "none"},
				Subjects:   []rbacv1.Subject{},
			}
		},
		edits: []edit{
			on("a subject more", func(r *rbacv1.ClusterRoleBinding) {
				r.Subjects = append(r.Subjects, rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "mallory"})
			}),
			on("everybody", func(r *rbacv1.ClusterRoleBinding) {
				r.Subjects = []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "system:authenticated"}}
			}),
		},
		next: then(func(r *rbacv1.ClusterRoleBinding) { delete(r.Labels, ours) }),
		gone: is(func(r *rbacv1.ClusterRoleBinding) bool {
			_, ok := r.Labels[ours]
			return !ok
		}),
	}
}
