package conformance_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// refuse is a label that makes a real admission policy refuse an object: the value names the
// operations, or asks for the answer Forbidden instead of Invalid.
const (
	refuse    = "conformance.trueup-go.github.io/refuse"
	toCreate  = "create"
	toUpdate  = "update"
	both      = "both"
	forbidden = "forbidden"
)

func refusedOn(value string) func(*fixture) (client.Object, string) {
	return func(f *fixture) (client.Object, string) {
		desired := f.desired()
		desired.SetLabels(with(desired.GetLabels(), refuse, value))
		return desired, ""
	}
}

// refusing applies to writes of the operator under test only: the controllers still have to clean
// up.
func refusing() *admissionregistrationv1.ValidatingAdmissionPolicy {
	asked := fmt.Sprintf("object.metadata.labels[%q]", refuse)
	everything := admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"}},
	}
	return &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: refuse[:len(refuse)-len("/refuse")]},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: everything}},
				ObjectSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: refuse, Operator: metav1.LabelSelectorOpExists},
				}},
			},
			MatchConditions: []admissionregistrationv1.MatchCondition{
				{Name: "labelled", Expression: fmt.Sprintf("has(object.metadata.labels) && %q in object.metadata.labels", refuse)},
				{Name: "operator", Expression: fmt.Sprintf("request.options.?fieldManager.orValue('') == %q", fieldOwner)},
			},
			Validations: []admissionregistrationv1.Validation{
				{
					Expression: fmt.Sprintf("%s != %q && %s != {'CREATE': %q, 'UPDATE': %q}[request.operation]", asked, both, asked, toCreate, toUpdate),
					Message:    "not " + secretText, Reason: new(metav1.StatusReasonInvalid),
				},
				{
					Expression: fmt.Sprintf("%s != %q", asked, forbidden),
					Message:    "not " + secretText, Reason: new(metav1.StatusReasonForbidden),
				},
			},
		},
	}
}

// installPolicy creates the policy once and waits until the policy is enforced.
func installPolicy(t *testing.T) {
	t.Helper()
	require.NoError(t, prepare())
	require.NoError(t, policyInstalled())
}

var policyInstalled = sync.OnceValue(func() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p := refusing()
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: p.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	for _, obj := range []client.Object{p, binding} {
		if err := admin.Create(ctx, obj); err != nil {
			return err
		}
	}
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: metav1.NamespaceDefault, GenerateName: "probe-", Labels: map[string]string{refuse: both},
	}}
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := admin.Create(ctx, probe.DeepCopy(), client.DryRunAll, client.FieldOwner(fieldOwner))
		if apierrors.IsInvalid(err) {
			return true, nil
		}
		return false, err
	})
})
