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
	s := newScene(t)
	s.serveDenials()

	s.writeAndChange()
	provoked := s.provokeAll()
	for _, class := range classes {
		require.Contains(t, provoked, class, "nothing provokes it")
	}
	for name, provoke := range others {
		err := provoke(s)
		require.Error(t, err, name)
		s.report(err)
	}
	for name, manifest := range manifests {
		err := s.render(manifest)
		require.NotErrorIs(t, err, errNothingWrong, name)
		s.report(err)
	}

	// Errors without a secret quote the API server.
	err := s.object(deny(s.account("denied")))
	require.ErrorContains(t, err, open)
	s.report(err)

	for where, text := range map[string]string{
		"errors and Changes": s.said.String(),
		"events":             s.events(),
		"conditions":         s.conditions(),
		"log":                logged.String(),
		"metrics":            measured(t),
	} {
		require.NotEmpty(t, text, where)
		for line := range strings.Lines(text) {
			require.False(t, isMarked(line), "%s: %s", where, line)
		}
	}
	for where, text := range map[string]string{"errors": s.said.String(), "conditions": s.conditions(), "log": logged.String()} {
		require.Contains(t, text, open, where)
	}
	require.NotContains(t, measured(t), open)
	require.Contains(t, logged.String(), "Reconciler error")
	require.Contains(t, measured(t), "trueup_ensure_requests_total")
	// If the server's messages about sensitive kinds had been passed on, the marks would have been
	// found.
	require.Greater(t, s.quoted, 5, "the API server quotes less than it did: the test shows less than it did")
}

// writeAndChange creates, changes and repairs marked objects, in each way that writes.
func (s *scene) writeAndChange() {
	for _, child := range []client.Object{s.secret("written"), s.configMap("written"), s.deployment("written"), s.safe("written", "Old")} {
		require.NoError(s.t, s.object(child))
	}
	require.NoError(s.t, s.object(with(s.safe("written", "Old"), func(o *unstructured.Unstructured) {
		o.Object["spec"].(map[string]any)["pin"] = int64(1)
	})))
	drifted := with(s.secret("written"), func(o *corev1.Secret) { o.Data["password"] = []byte("edited " + mark) })
	require.NoError(s.t, s.human.Patch(s.ctx, drifted, client.Merge, client.FieldOwner("editor")))
	require.NoError(s.t, s.object(s.secret("written")))
	require.NoError(s.t, s.object(with(s.configMap("written"), func(o *corev1.ConfigMap) {
		o.Data["password"], o.Annotations["vault.example.com/more"] = "changed "+mark, mark
	})))
	require.NoError(s.t, s.object(with(s.secret("written"), func(o *corev1.Secret) { o.Type = "example.com/" + mark }), ensure.Recreate("Background")))
	gone, err := ensure.Absent(s.ctx, s.ensure, client.Object(s.configMap("written")), ensure.ControlledBy(s.vault))
	require.NoError(s.t, err)
	s.note(gone)
}

// provokeAll brings about one error after another, reports each as an operator does, and
// returns which classes there were.
func (s *scene) provokeAll() []error {
	var provoked []error
	for _, p := range provocations {
		err := p.do(s)
		require.ErrorIs(s.t, err, p.class, p.name)
		if p.reason != "" {
			require.Equal(s.t, p.reason, ensure.Reason(err), p.name)
		}
		s.report(err)
		provoked = append(provoked, p.class)
	}
	return provoked
}

// serveDenials installs a webhook that refuses objects on request, and quotes their whole content.
func (s *scene) serveDenials() {
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
	stop, err := shared.MutatingWebhook(s.ctx, "secrecy", rules, handler)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, stop()) })
}

// watching is a client whose requests can be intercepted.
func (s *scene) watching() client.WithWatch {
	c, err := client.NewWithWatch(shared.Config(), client.Options{Scheme: s.scheme})
	require.NoError(s.t, err)
	return c
}

// nobody has no rights.
func (s *scene) nobody() client.Client {
	config, err := shared.ServiceAccount(s.ctx, s.namespace, "nobody")
	require.NoError(s.t, err)
	c, err := client.New(config, client.Options{Scheme: s.scheme, Mapper: s.human.RESTMapper()})
	require.NoError(s.t, err)
	return c
}

// unfinalize lets obj go.
func (s *scene) unfinalize(ctx context.Context, obj client.Object) {
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := client.IgnoreNotFound(s.human.Patch(ctx, obj, patch)); err != nil {
		s.t.Error(err)
	}
}
