//nolint:lll // a case a line, as in the table of a test
package corpus

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func admission() []Entry {
	return []Entry{
		{"admissionregistration/v1/ValidatingWebhookConfiguration/plain", validatingWebhooks()},
		{"admissionregistration/v1/ValidatingWebhookConfiguration/empty", &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: global("empty"), Webhooks: []admissionregistrationv1.ValidatingWebhook{},
		}},
		{"admissionregistration/v1/MutatingWebhookConfiguration/plain", mutatingWebhooks()},
		{"admissionregistration/v1/MutatingWebhookConfiguration/nil", &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: global("nil")}},
		{"admissionregistration/v1/ValidatingAdmissionPolicy/plain", validatingPolicy()},
		{"admissionregistration/v1/ValidatingAdmissionPolicyBinding/plain", &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: global("replicas"), Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: "replicas", ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
				MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{}},
				ParamRef:       &admissionregistrationv1.ParamRef{Selector: &metav1.LabelSelector{}},
			},
		}},
		{"admissionregistration/v1beta1/ValidatingAdmissionPolicy/empty", &admissionregistrationv1beta1.ValidatingAdmissionPolicy{
			ObjectMeta: global("beta"), Spec: admissionregistrationv1beta1.ValidatingAdmissionPolicySpec{
				ParamKind: &admissionregistrationv1beta1.ParamKind{}, MatchConstraints: &admissionregistrationv1beta1.MatchResources{},
			},
		}},
	}
}

func rules() []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{
		{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{""}, APIVersions: []string{"*"}, Resources: []string{"*/*"}, Scope: new(admissionregistrationv1.AllScopes),
			},
		},
		{Operations: []admissionregistrationv1.OperationType{}, Rule: admissionregistrationv1.Rule{APIGroups: []string{}}},
		{},
	}
}

// validatingWebhooks has a bundle that is nil, one that is empty, and one that is
// neither: an injector fills them.
func validatingWebhooks() *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: global("shop"), Webhooks: []admissionregistrationv1.ValidatingWebhook{
		{
			Name: "a.example.org", Rules: rules(), SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{
				Namespace: "shop", Name: "webhook", Path: new("/validate"), Port: new(int32(443)),
			}},
		},
		{
			Name: "b.example.org", ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: []byte{}, URL: new("https://example.org/?a=1&b=2")},
			Rules: []admissionregistrationv1.RuleWithOperations{}, MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "x", Expression: "a < b && c"}},
		},
		{
			Name: "c.example.org", ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: []byte("-----BEGIN\r\n")},
			TimeoutSeconds: new(int32(0)), FailurePolicy: new(admissionregistrationv1.Ignore), MatchPolicy: new(admissionregistrationv1.Exact),
		},
		{},
	}}
}

func mutatingWebhooks() *admissionregistrationv1.MutatingWebhookConfiguration {
	return &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: global("shop"), Webhooks: []admissionregistrationv1.MutatingWebhook{{
		Name: "m.example.org", Rules: rules(), ReinvocationPolicy: new(admissionregistrationv1.IfNeededReinvocationPolicy),
		AdmissionReviewVersions: []string{}, MatchConditions: []admissionregistrationv1.MatchCondition{},
	}}}
}

func validatingPolicy() *admissionregistrationv1.ValidatingAdmissionPolicy {
	return &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: global("replicas"), Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{
			ResourceRules:        []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: rules()[0]}, {ResourceNames: []string{"x"}}},
			ExcludeResourceRules: []admissionregistrationv1.NamedRuleWithOperations{},
		},
		Validations: []admissionregistrationv1.Validation{
			{Expression: "object.spec.replicas <= 5", Message: "too many", Reason: new(metav1.StatusReasonInvalid), MessageExpression: "''"},
			{},
		},
		FailurePolicy:    new(admissionregistrationv1.Fail),
		AuditAnnotations: []admissionregistrationv1.AuditAnnotation{{Key: "replicas", ValueExpression: "string(object.spec.replicas)"}},
		Variables:        []admissionregistrationv1.Variable{{Name: "x", Expression: "\"\\n\""}},
	}}
}
