package secrecy_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trueup-go/trueup/ensure"
)

// The webhook recognises objects to refuse by these names.
const (
	denied          = "vault.example.com/denied"
	deniedFinalizer = "example.com/denied"
	deniedCondition = "Denied"
)

// classes are all that ensure has.
var classes = []error{
	ensure.ErrRefused, ensure.ErrOwnerTerminating, ensure.ErrTerminating, ensure.ErrForeign, ensure.ErrHidden,
	ensure.ErrInvalid, ensure.ErrImmutable, ensure.ErrContested, ensure.ErrAPI,
}

// TestNothingSecretIsTold provokes everything and looks everywhere.
func TestNothingSecretIsTold(t *testing.T) {
	f := newFixture(t)
	f.serveDenials()

	f.writeAndChange()
	provoked := f.causeAllErrors()
	for _, class := range classes {
		require.Contains(t, provoked, class, "nothing provokes it")
	}
	for name, provoke := range others {
		err := provoke(f)
		require.Error(t, err, name)
		f.report(err)
	}
	for name, manifest := range manifests {
		err := f.render(manifest)
		require.NotErrorIs(t, err, errNothingWrong, name)
		f.report(err)
	}

	// Errors without a secret quote the API server.
	err := f.object(deny(f.account("denied")))
	require.ErrorContains(t, err, publicText)
	f.report(err)

	for where, text := range map[string]string{
		"errors and Changes": f.printed.String(),
		"events":             f.events(),
		"conditions":         f.conditions(),
		"log":                logged.String(),
		"metrics":            measured(t),
	} {
		require.NotEmpty(t, text, where)
		for line := range strings.Lines(text) {
			require.False(t, containsSecret(line), "%s: %s", where, line)
		}
	}
	for where, text := range map[string]string{"errors": f.printed.String(), "conditions": f.conditions(), "log": logged.String()} {
		require.Contains(t, text, publicText, where)
	}
	require.NotContains(t, measured(t), publicText)
	require.Contains(t, logged.String(), "Reconciler error")
	require.Contains(t, measured(t), "trueup_ensure_requests_total")
	// If the server's messages about sensitive kinds had been passed on, the marks would have been
	// found.
	require.Greater(t, f.quoted, 5, "the API server quotes less than it did: the test shows less than it did")
}

// writeAndChange creates, changes and repairs marked objects, in each way that writes.
func (f *fixture) writeAndChange() {
	for _, child := range []client.Object{f.secret("written"), f.configMap("written"), f.deployment("written"), f.safe("written", "Old")} {
		require.NoError(f.t, f.object(child))
	}
	require.NoError(f.t, f.object(with(f.safe("written", "Old"), func(o *unstructured.Unstructured) {
		o.Object["spec"].(map[string]any)["pin"] = int64(1)
	})))
	drifted := with(f.secret("written"), func(o *corev1.Secret) { o.Data["password"] = []byte("edited " + secretText) })
	require.NoError(f.t, f.admin.Patch(f.ctx, drifted, client.Merge, client.FieldOwner("editor")))
	require.NoError(f.t, f.object(f.secret("written")))
	require.NoError(f.t, f.object(with(f.configMap("written"), func(o *corev1.ConfigMap) {
		o.Data["password"], o.Annotations["vault.example.com/more"] = "changed "+secretText, secretText
	})))
	require.NoError(f.t, f.object(with(f.secret("written"), func(o *corev1.Secret) { o.Type = "example.com/" + secretText }), ensure.Recreate("Background")))
	gone, err := ensure.Absent(f.ctx, f.ensure, client.Object(f.configMap("written")), ensure.ControlledBy(f.vault))
	require.NoError(f.t, err)
	f.note(gone)
}

// causeAllErrors brings about one error after another, reports each as an operator does, and
// returns which classes there were.
func (f *fixture) causeAllErrors() []error {
	var provoked []error
	for _, p := range errorCases {
		err := p.do(f)
		require.ErrorIs(f.t, err, p.class, p.name)
		if p.reason != "" {
			require.Equal(f.t, p.reason, ensure.Reason(err), p.name)
		}
		f.report(err)
		provoked = append(provoked, p.class)
	}
	return provoked
}

// serveDenials installs a webhook that refuses objects on request, and quotes their whole content.
func (f *fixture) serveDenials() {
	signs := []string{`"` + denied + `":`, `["` + deniedFinalizer + `"]`, `"type":"` + deniedCondition + `"`}
	handler := admission.HandlerFunc(func(_ context.Context, req admission.Request) admission.Response {
		text := string(req.Object.Raw)
		if slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(text, sign) }) {
			return admission.Denied(text)
		}
		return admission.Allowed("")
	})
	all := admissionregistrationv1.AllScopes
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"", vaultGVK.Group}, APIVersions: []string{"v1"},
			Resources: []string{"secrets", "configmaps", "serviceaccounts", "vaults/status", "safes"}, Scope: &all,
		},
	}}
	stop, err := shared.MutatingWebhook(f.ctx, "secrecy", rules, handler)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { require.NoError(f.t, stop()) })
}

// watching is a client whose requests can be intercepted.
func (f *fixture) watching() client.WithWatch {
	c, err := client.NewWithWatch(shared.Config(), client.Options{Scheme: f.scheme})
	require.NoError(f.t, err)
	return c
}

// nobody has no rights.
func (f *fixture) nobody() client.Client {
	config, err := shared.ServiceAccount(f.ctx, f.namespace, "nobody")
	require.NoError(f.t, err)
	c, err := client.New(config, client.Options{Scheme: f.scheme, Mapper: f.admin.RESTMapper()})
	require.NoError(f.t, err)
	return c
}

// unfinalize lets obj go.
func (f *fixture) unfinalize(ctx context.Context, obj client.Object) {
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := client.IgnoreNotFound(f.admin.Patch(ctx, obj, patch)); err != nil {
		f.t.Error(err)
	}
}
