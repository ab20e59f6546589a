package suite

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trueup-go/trueup/test/harness/operator"
)

const demand = "every Deployment needs a label team, ask platform@example.com"

// deploymentCreations are the requests that are refused.
var deploymentCreations = admissionregistrationv1.RuleWithOperations{
	Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
	Rule: admissionregistrationv1.Rule{
		APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"},
	},
}

// TestSentences has an admission policy, a quota and a webhook refuse all Deployments of a namespace
// each, and checks that the API server's sentence is where people look: in a condition, in a Warning
// event and in the operator's log. begin creates a custom resource that needs a Deployment, waits for
// a condition with the reason, and returns the name of the one and the message of the other.
func (s *Suite) TestSentences(
	t *testing.T, process *operator.Process, begin func(t *testing.T, namespace, reason string) (name, message string),
) {
	t.Helper()
	for refusal, test := range map[string]struct {
		refuse           func(t *testing.T, namespace string)
		reason, sentence string
	}{
		"policy":  {s.refuseByPolicy, "Invalid", "denied request: " + demand},
		"quota":   {s.refuseByQuota, "Forbidden", "exceeded quota: few, requested: count/deployments.apps=1"},
		"webhook": {s.refuseByWebhook, "Forbidden", "denied the request: " + demand},
	} {
		t.Run(refusal, func(t *testing.T) {
			namespace := (*s.cluster).Namespace(t)
			test.refuse(t, namespace)
			s.awaitRefusal(t, namespace)
			name, message := begin(t, namespace, test.reason)
			require.Contains(t, message, test.sentence)
			s.Eventually(t, func(context.Context) error {
				warnings := strings.Join(s.Warnings(t, namespace, name, test.reason), "\n") //nolint:contextcheck // it has the test's
				return Expect(strings.Contains(warnings, test.sentence) && saysOf(process.Log(), namespace, test.sentence),
					"it is not in the log, or not in the events: %s", warnings)
			})
		})
	}
}

// saysOf reports whether a line of the log has the sentence and is about the namespace.
func saysOf(log, namespace, sentence string) bool {
	for line := range strings.Lines(log) {
		if strings.Contains(line, sentence) && strings.Contains(line, namespace) {
			return true
		}
	}
	return false
}

func (s *Suite) refuseByPolicy(t *testing.T, namespace string) {
	t.Helper()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
				ResourceRules:     []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: deploymentCreations}},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: demand}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: policy.ObjectMeta,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: namespace, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	for _, obj := range []client.Object{policy, binding} {
		require.NoError(t, s.Admin(t).Create(t.Context(), obj))
		t.Cleanup(func() { require.NoError(t, s.Admin(t).Delete(context.Background(), obj)) })
	}
}

func (s *Suite) refuseByQuota(t *testing.T, namespace string) {
	t.Helper()
	require.NoError(t, s.Admin(t).Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "few"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/deployments.apps": resource.MustParse("0")}},
	}))
}

func (s *Suite) refuseByWebhook(t *testing.T, namespace string) {
	t.Helper()
	refuse := func(_ context.Context, request admission.Request) admission.Response {
		if request.Namespace == namespace {
			return admission.Denied(demand)
		}
		return admission.Allowed("")
	}
	stop, err := (*s.cluster).MutatingWebhook(t.Context(), namespace,
		[]admissionregistrationv1.RuleWithOperations{deploymentCreations}, admission.HandlerFunc(refuse))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stop()) })
}

// awaitRefusal waits until the API server enforces the quota, which takes a moment after its
// creation.
func (s *Suite) awaitRefusal(t *testing.T, namespace string) {
	t.Helper()
	labels := map[string]string{"app": "probe"}
	probe := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "probe", Image: "probe"}}},
		},
	}}
	s.Eventually(t, func(ctx context.Context) error {
		err := s.Admin(t).Create(ctx, probe.DeepCopy(), client.DryRunAll)
		if err == nil || strings.Contains(err.Error(), "status unknown for quota") {
			return errors.New("the API server has not heard of it yet")
		}
		return nil
	})
}
