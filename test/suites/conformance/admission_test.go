package conformance_test

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nothings are the objects that these webhooks and policies select: none exist.
func nothings() admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"nothing.example.com"}, APIVersions: []string{"*"}, Resources: []string{"nothings"},
		},
	}
}

func webhookService() admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{
		Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "webhook", Path: new("/")},
	}
}

// validatingWebhooks have their certificate filled in by another controller.
func validatingWebhooks() kindCase {
	return kindCase{
		name:   "ValidatingWebhookConfiguration",
		rename: bySuffix,
		desired: func() client.Object {
			return &admissionregistrationv1.ValidatingWebhookConfiguration{
				ObjectMeta: named("validating"),
				Webhooks: []admissionregistrationv1.ValidatingWebhook{
					{
						Name: "first.example.com", ClientConfig: webhookService(), Rules: []admissionregistrationv1.RuleWithOperations{nothings()},
						SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
						ObjectSelector: &metav1.LabelSelector{},
					},
					{
						Name: "second.example.com", ClientConfig: webhookService(), Rules: []admissionregistrationv1.RuleWithOperations{},
						SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
						FailurePolicy: new(admissionregistrationv1.Ignore),
					},
				},
			}
		},
		edits: []edit{
			on("a rule more", func(v *admissionregistrationv1.ValidatingWebhookConfiguration) {
				v.Webhooks[1].Rules = append(v.Webhooks[1].Rules, nothings())
			}),
			on("an operation more", func(v *admissionregistrationv1.ValidatingWebhookConfiguration) {
				v.Webhooks[0].Rules[0].Operations = append(v.Webhooks[0].Rules[0].Operations, admissionregistrationv1.Update)
			}),
			on("the failure policy", func(v *admissionregistrationv1.ValidatingWebhookConfiguration) {
				v.Webhooks[1].FailurePolicy = new(admissionregistrationv1.Fail)
			}),
			on("the path", func(v *admissionregistrationv1.ValidatingWebhookConfiguration) {
				v.Webhooks[0].ClientConfig.Service.Path = nil
			}),
			on("fewer objects", func(v *admissionregistrationv1.ValidatingWebhookConfiguration) {
				v.Webhooks[0].ObjectSelector.MatchLabels = map[string]string{"app": "edited"}
			}),
		},
		additions: []edit{
			on("a certificate", func(v *admissionregistrationv1.ValidatingWebhookConfiguration) {
				v.Webhooks[0].ClientConfig.CABundle = []byte(authority)
			}),
			on("a webhook", func(v *admissionregistrationv1.ValidatingWebhookConfiguration) {
				theirs := v.Webhooks[1].DeepCopy()
				theirs.Name = "theirs.example.com"
				v.Webhooks = append(v.Webhooks, *theirs)
			}),
		},
		next: then(func(v *admissionregistrationv1.ValidatingWebhookConfiguration) { v.Webhooks = v.Webhooks[:1] }),
		gone: is(func(v *admissionregistrationv1.ValidatingWebhookConfiguration) bool {
			return !slices.ContainsFunc(v.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return w.Name == "second.example.com" })
		}),
	}
}

func mutatingWebhooks() kindCase {
	return kindCase{
		name:   "MutatingWebhookConfiguration",
		rename: bySuffix,
		desired: func() client.Object {
			service := webhookService()
			service.CABundle = []byte(authority)
			return &admissionregistrationv1.MutatingWebhookConfiguration{
				ObjectMeta: named("mutating"),
				Webhooks: []admissionregistrationv1.MutatingWebhook{{
					Name: "first.example.com", ClientConfig: service, Rules: []admissionregistrationv1.RuleWithOperations{nothings()},
					SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
					NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
						{Key: "skip", Operator: metav1.LabelSelectorOpDoesNotExist, Values: []string{}},
					}},
				}},
			}
		},
		edits: []edit{
			on("the certificate", func(m *admissionregistrationv1.MutatingWebhookConfiguration) {
				m.Webhooks[0].ClientConfig.CABundle = []byte(authority + authority)
			}),
			on("no certificate", func(m *admissionregistrationv1.MutatingWebhookConfiguration) {
				m.Webhooks[0].ClientConfig.CABundle = nil
			}),
			on("all namespaces", func(m *admissionregistrationv1.MutatingWebhookConfiguration) { m.Webhooks[0].NamespaceSelector = nil }),
			on("a scope", func(m *admissionregistrationv1.MutatingWebhookConfiguration) {
				m.Webhooks[0].Rules[0].Scope = new(admissionregistrationv1.NamespacedScope)
			}),
		},
		additions: []edit{
			on("a timeout", func(m *admissionregistrationv1.MutatingWebhookConfiguration) {
				m.Webhooks[0].TimeoutSeconds = ptr.To[int32](3)
			}),
			on("a match policy", func(m *admissionregistrationv1.MutatingWebhookConfiguration) {
				m.Webhooks[0].MatchPolicy = new(admissionregistrationv1.Exact)
			}),
		},
		next: then(func(m *admissionregistrationv1.MutatingWebhookConfiguration) {
			m.Webhooks[0].ClientConfig.CABundle = nil
		}),
		gone: is(func(m *admissionregistrationv1.MutatingWebhookConfiguration) bool {
			return m.Webhooks[0].ClientConfig.CABundle == nil
		}),
	}
}

func admissionPolicy() kindCase {
	return kindCase{
		name:   "ValidatingAdmissionPolicy",
		rename: bySuffix,
		desired: func() client.Object {
			return &admissionregistrationv1.ValidatingAdmissionPolicy{
				ObjectMeta: named("policy"),
				Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
					MatchConstraints: &admissionregistrationv1.MatchResources{
						ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: nothings()}},
					},
					Variables:   []admissionregistrationv1.Variable{{Name: "small", Expression: "object.metadata.name.size() < 9"}},
					Validations: []admissionregistrationv1.Validation{{Expression: "variables.small", Message: "zu groß"}},
				},
			}
		},
		settled: is(func(p *admissionregistrationv1.ValidatingAdmissionPolicy) bool {
			return p.Status.ObservedGeneration == p.Generation
		}),
		edits: []edit{
			on("an expression", func(p *admissionregistrationv1.ValidatingAdmissionPolicy) { p.Spec.Validations[0].Expression = "true" }),
			on("a validation more", func(p *admissionregistrationv1.ValidatingAdmissionPolicy) {
				p.Spec.Validations = append(p.Spec.Validations, admissionregistrationv1.Validation{Expression: "false"})
			}),
			on("a variable", func(p *admissionregistrationv1.ValidatingAdmissionPolicy) { p.Spec.Variables[0].Expression = "true" }),
			on("a reason", func(p *admissionregistrationv1.ValidatingAdmissionPolicy) {
				p.Spec.Validations[0].Reason = new(metav1.StatusReasonForbidden)
			}),
		},
		additions: []edit{on("a failure policy", func(p *admissionregistrationv1.ValidatingAdmissionPolicy) {
			p.Spec.FailurePolicy = new(admissionregistrationv1.Ignore)
		})},
		next: then(func(p *admissionregistrationv1.ValidatingAdmissionPolicy) {
			p.Spec.Variables, p.Spec.Validations[0].Expression = nil, "true"
		}),
		gone: is(func(p *admissionregistrationv1.ValidatingAdmissionPolicy) bool { return p.Spec.Variables == nil }),
	}
}

func admissionPolicyBinding() kindCase {
	return kindCase{
		name:   "ValidatingAdmissionPolicyBinding",
		rename: bySuffix,
		desired: func() client.Object {
			return &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
				ObjectMeta: named("binding"),
				Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
					PolicyName:        "nothing.example.com",
					ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
					MatchResources:    &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{}},
				},
			}
		},
		edits: []edit{
			on("another policy's", func(p *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
				p.Spec.PolicyName = "edited.example.com"
			}),
			on("some namespaces", func(p *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
				p.Spec.MatchResources.NamespaceSelector.MatchLabels = map[string]string{"team": "edited"}
			}),
			on("a match policy beside ours", func(p *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
				p.Spec.MatchResources.MatchPolicy = new(admissionregistrationv1.Exact) // the struct is atomic
			}),
		},
		additions: []edit{on("an action", func(p *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
			p.Spec.ValidationActions = append(p.Spec.ValidationActions, admissionregistrationv1.Audit) // the list is a set
		})},
		next: then(func(p *admissionregistrationv1.ValidatingAdmissionPolicyBinding) { p.Spec.MatchResources = nil }),
		gone: is(func(p *admissionregistrationv1.ValidatingAdmissionPolicyBinding) bool {
			return p.Spec.MatchResources == nil
		}),
	}
}

// authority is the certificate of nobody's authority.
const authority = `-----BEGIN CERTIFICATE-----
MIIBgjCCASmgAwIBAgIUQrtoAxCaKOOWBMF5WrYanPJ9dwgwCgYIKoZIzj0EAwIw
FjEUMBIGA1UEAwwLY29uZm9ybWFuY2UwIBcNMjYxMTIxMDQxMTM2WhgPMjEyNjEw
MjgwNDExMzZaMBYxFDASBgNVBAMMC2NvbmZvcm1hbmNlMFkwEwYHKoZIzj0CAQYI
KoZIzj0DAQcDQgAEwa8pMhYhA4zMigoW8KOMyz81Mfx4b6d3zrza8C0m3npU5E2R
KnnRDnNjxOlJuD09Jj1rLDiu/fpn1Fa8TQSrDKNTMFEwHQYDVR0OBBYEFFNCO5gg
8nci6g+TfOX+w06byphiMB8GA1UdIwQYMBaAFFNCO5gg8nci6g+TfOX+w06byphi
MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgaAHApTtWvBcAIbnA
CzKgNZNewkzlCOkZLEE+uul0nMkCIGYps3G38JxvelLStY01IoB31GIxPtff/x3I
9K7ef42I
-----END CERTIFICATE-----
`
