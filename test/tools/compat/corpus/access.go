//nolint:lll // a case a line, as in the table of a test
package corpus

import (
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func access() []Entry {
	return []Entry{
		{"rbac/v1/Role/operator", &rbacv1.Role{ObjectMeta: named("operator"), Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods", "pods/log"}, Verbs: []string{"*"}, ResourceNames: []string{}},
			{NonResourceURLs: []string{"/metrics"}, Verbs: []string{}},
			{},
		}}},
		{"rbac/v1/Role/nil-rules", &rbacv1.Role{ObjectMeta: named("nothing")}},
		{"rbac/v1/Role/empty-rules", &rbacv1.Role{ObjectMeta: named("nothing"), Rules: []rbacv1.PolicyRule{}}},
		{"rbac/v1/ClusterRole/aggregated", &rbacv1.ClusterRole{
			ObjectMeta:      global("aggregated"),
			AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{*selector(), {}}},
		}},
		{"rbac/v1/ClusterRole/empty-aggregation", &rbacv1.ClusterRole{
			ObjectMeta: global("empty"), AggregationRule: &rbacv1.AggregationRule{}, Rules: []rbacv1.PolicyRule{},
		}},
		{"rbac/v1/RoleBinding/plain", &rbacv1.RoleBinding{
			ObjectMeta: named("operator"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "operator"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "shop", Name: "shop"}, {Kind: rbacv1.UserKind, Name: "jürgen"}, {}},
		}},
		{"rbac/v1/ClusterRoleBinding/empty-subjects", &rbacv1.ClusterRoleBinding{
			ObjectMeta: global("nobody"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "view"}, Subjects: []rbacv1.Subject{},
		}},
		{"rbac/v1/ClusterRoleBinding/nil-subjects", &rbacv1.ClusterRoleBinding{
			ObjectMeta: global("nobody"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "view"},
		}},
		{"rbac/v1beta1/Role/plain", &rbacv1beta1.Role{ObjectMeta: named("old"), Rules: []rbacv1beta1.PolicyRule{}}},
		{"policy/v1/PodDisruptionBudget/one", &policyv1.PodDisruptionBudget{ObjectMeta: named("shop"), Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(1)), Selector: selector(), UnhealthyPodEvictionPolicy: new(policyv1.AlwaysAllow),
		}}},
		{"policy/v1/PodDisruptionBudget/none", &policyv1.PodDisruptionBudget{ObjectMeta: named("shop"), Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(0)), Selector: &metav1.LabelSelector{},
		}}},
		{"policy/v1/PodDisruptionBudget/percent", &policyv1.PodDisruptionBudget{ObjectMeta: named("shop"), Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromString("0%")), Selector: &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: "tier", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"", "cache"}},
					{Key: "spot", Operator: metav1.LabelSelectorOpExists, Values: []string{}},
				},
			},
		}}},
		{"policy/v1/Eviction/now", &policyv1.Eviction{ObjectMeta: named("shop"), DeleteOptions: &metav1.DeleteOptions{
			GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{}, DryRun: []string{},
		}}},
		{"policy/v1beta1/PodDisruptionBudget/plain", &policyv1beta1.PodDisruptionBudget{
			ObjectMeta: named("old"), Spec: policyv1beta1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}},
		}},
	}
}
