package application_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
)

// badNames are names that the children cannot take up, and the server's words about them.
var badNames = map[string]string{
	strings.Repeat("a", 40): "at most 39 characters",
	"with.dots":             "DNS-1035",
	"1st":                   "DNS-1035",
}

// TestOldNames has Applications from a time when the CRD had no rule for names. The operator tells what
// is wrong, and the server lets people change and delete them.
func TestOldNames(t *testing.T) {
	process, namespace := start(t), shared.Namespace(t)
	isRefused := func() bool {
		err := admin(t).Create(t.Context(), &v1alpha1.Application{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "with.other.dots"},
		}, client.DryRunAll)
		if !apierrors.IsInvalid(err) {
			require.NoError(t, err)
		}
		return err != nil
	}
	setRules := func(op, value string) {
		const path = "/spec/versions/0/schema/openAPIV3Schema/x-kubernetes-validations"
		kubectl(t, "patch", "crd", "applications.application.sample.ibm.com", "--type=json",
			"-p", fmt.Sprintf(`[{"op":%q,"path":%q,"value":%s}]`, op, path, value))
		eventually(t, func(context.Context) error {
			return expect(isRefused() == (op == "add"), "the server does not know the rules yet")
		})
	}
	require.True(t, isRefused())
	rules := kubectl(t, "get", "crd", "applications.application.sample.ibm.com",
		"-o", `jsonpath={.spec.versions[0].schema.openAPIV3Schema.x-kubernetes-validations}`)
	setRules("remove", "null")
	for name := range badNames {
		fixture{operator: process, namespace: namespace, name: name}.create(t)
	}
	setRules("add", rules)

	messages := map[string]string{
		strings.Repeat("a", 40): "leave room for 39",
		"with.dots":             "DNS-1035",
		"1st":                   "DNS-1035",
	}
	for name, message := range messages {
		f := fixture{operator: process, namespace: namespace, name: name}
		require.Contains(t, f.waitForReason(t, "InvalidName").Message, message)
	}
	mark := shared.Mark()
	for name, message := range messages {
		f := fixture{operator: process, namespace: namespace, name: name}
		f.requireWarnings(t, "InvalidName", message)
	}
	require.Empty(t, tests.Requests(t, mark, namespace), "what cannot be helped is not tried again and again")
	for name := range messages {
		f := fixture{operator: process, namespace: namespace, name: name}
		f.change(t, `{"title":"Universe"}`)
		require.NoError(t, admin(t).Delete(t.Context(), f.named()))
		tests.WaitUntilGone(t, client.ObjectKeyFromObject(f.named()), f.named())
	}
	var children corev1.SecretList
	require.NoError(t, admin(t).List(t.Context(), &children, client.InNamespace(namespace)))
	require.Empty(t, children.Items)
}
