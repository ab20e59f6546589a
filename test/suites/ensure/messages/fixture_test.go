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

// A fixture is a namespace with an operator whose requests are refused, and an admin client.
type fixture struct {
	t         *testing.T
	ctx       context.Context
	admin     client.Client
	namespace string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
	t.Cleanup(cancel)
	return &fixture{t: t, ctx: ctx, admin: program.Client(t, shared, "kubectl-edit"), namespace: shared.Namespace(t)}
}

func (f *fixture) objectMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: f.namespace, Name: name}
}

// ensurer remembers nothing yet.
func (f *fixture) ensurer(settings ...ensure.Setting) *ensure.Ensurer {
	return ensure.New(f.admin, f.admin, operator, settings...)
}

func (f *fixture) make(desired client.Object) {
	f.t.Helper()
	_, err := ensure.Object(f.ctx, f.ensurer(), desired)
	require.NoError(f.t, err)
}

func (f *fixture) config(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: f.objectMeta(name), Data: map[string]string{"color": "blue"}}
}

// await waits until the API server takes obj, or does not.
func (f *fixture) await(obj client.Object, isTaken bool) {
	f.t.Helper()
	require.NoError(f.t, shared.Await(f.ctx, limit, f.namespace, func(ctx context.Context) error {
		err := f.admin.Create(ctx, obj.DeepCopyObject().(client.Object), client.DryRunAll) //nolint:forcetypeassert // it is one
		if (err == nil) == isTaken {
			return nil
		}
		return apierrors.NewBadRequest("not yet")
	}))
}

// policy has an admission policy refuse ConfigMaps in this namespace, until done is called.
func (f *fixture) policy(sentence string, reason metav1.StatusReason) (done func()) {
	f.t.Helper()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: f.namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules:     []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: f.writes()}},
				NamespaceSelector: f.here(),
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
	require.NoError(f.t, f.admin.Create(f.ctx, policy))
	require.NoError(f.t, f.admin.Create(f.ctx, binding))
	f.await(f.config("probe"), false)
	return func() {
		require.NoError(f.t, f.admin.Delete(f.ctx, binding))
		require.NoError(f.t, f.admin.Delete(f.ctx, policy))
		f.await(f.config("probe"), true)
	}
}

// writes is the rule for writes to ConfigMaps.
func (f *fixture) writes() admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}
}

// here selects the fixture's namespace.
func (f *fixture) here() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: f.namespace}}
}

// webhook has a webhook answer writes to ConfigMaps in this namespace, until done is called.
func (f *fixture) webhook(code int32, reason metav1.StatusReason) (done func()) {
	f.t.Helper()
	handler := func(_ context.Context, req admission.Request) admission.Response {
		if req.Namespace != f.namespace {
			return admission.Allowed("")
		}
		response := admission.Denied("the platform says no, in request " + string(req.UID))
		response.Result.Code, response.Result.Reason = code, reason
		return response
	}
	stop, err := shared.MutatingWebhook(f.ctx, f.namespace, []admissionregistrationv1.RuleWithOperations{f.writes()}, admission.HandlerFunc(handler))
	require.NoError(f.t, err)
	return func() { require.NoError(f.t, stop()) }
}

// quota allows no more ConfigMaps and Secrets than there are.
func (f *fixture) quota(hard corev1.ResourceList) (done func()) {
	f.t.Helper()
	quota := &corev1.ResourceQuota{ObjectMeta: f.objectMeta("few"), Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	require.NoError(f.t, f.admin.Create(f.ctx, quota))
	f.await(f.config("probe"), false)
	return func() { require.NoError(f.t, f.admin.Delete(f.ctx, quota)) }
}
