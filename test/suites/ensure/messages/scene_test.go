package messages_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const operator = "operator"

// A scene is a namespace with an operator that is refused, and a person with every right.
type scene struct {
	t         *testing.T
	ctx       context.Context
	human     client.Client
	namespace string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
	t.Cleanup(cancel)
	return &scene{t: t, ctx: ctx, human: program.Client(t, shared, "person"), namespace: shared.Namespace(t)}
}

func (s *scene) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.namespace, Name: name}
}

// ensurer remembers nothing yet.
func (s *scene) ensurer(settings ...ensure.Setting) *ensure.Ensurer {
	return ensure.New(s.human, s.human, operator, settings...)
}

func (s *scene) make(desired client.Object) {
	s.t.Helper()
	_, err := ensure.Object(s.ctx, s.ensurer(), desired)
	require.NoError(s.t, err)
}

func (s *scene) config(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: s.named(name), Data: map[string]string{"color": "blue"}}
}

// await waits until the API server takes obj, or does not.
func (s *scene) await(obj client.Object, isTaken bool) {
	s.t.Helper()
	require.NoError(s.t, shared.Await(s.ctx, limit, s.namespace, func(ctx context.Context) error {
		err := s.human.Create(ctx, obj.DeepCopyObject().(client.Object), client.DryRunAll) //nolint:forcetypeassert // it is one
		if (err == nil) == isTaken {
			return nil
		}
		return apierrors.NewBadRequest("not yet")
	}))
}

// policy has an admission policy refuse ConfigMaps in this namespace, until done is called.
func (s *scene) policy(sentence string, reason metav1.StatusReason) (done func()) {
	s.t.Helper()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules:     []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: s.writes()}},
				NamespaceSelector: s.here(),
			},
			Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: sentence, Reason: &reason}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: policy.ObjectMeta,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	require.NoError(s.t, s.human.Create(s.ctx, policy))
	require.NoError(s.t, s.human.Create(s.ctx, binding))
	s.await(s.config("probe"), false)
	return func() {
		require.NoError(s.t, s.human.Delete(s.ctx, binding))
		require.NoError(s.t, s.human.Delete(s.ctx, policy))
		s.await(s.config("probe"), true)
	}
}

// writes is the rule for writes to ConfigMaps.
func (s *scene) writes() admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}
}

// here selects the scene's namespace.
func (s *scene) here() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.namespace}}
}

// webhook has a webhook answer writes to ConfigMaps in this namespace, until done is called.
func (s *scene) webhook(code int32, reason metav1.StatusReason) (done func()) {
	s.t.Helper()
	handler := func(_ context.Context, req admission.Request) admission.Response {
		if req.Namespace != s.namespace {
			return admission.Allowed("")
		}
		response := admission.Denied("the platform says no, in request " + string(req.UID))
		response.Result.Code, response.Result.Reason = code, reason
		return response
	}
	stop, err := shared.MutatingWebhook(s.ctx, s.namespace, []admissionregistrationv1.RuleWithOperations{s.writes()}, admission.HandlerFunc(handler))
	require.NoError(s.t, err)
	return func() { require.NoError(s.t, stop()) }
}

// quota allows no more ConfigMaps and Secrets than there are.
func (s *scene) quota(hard corev1.ResourceList) (done func()) {
	s.t.Helper()
	quota := &corev1.ResourceQuota{ObjectMeta: s.named("few"), Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	require.NoError(s.t, s.human.Create(s.ctx, quota))
	s.await(s.config("probe"), false)
	return func() { require.NoError(s.t, s.human.Delete(s.ctx, quota)) }
}
