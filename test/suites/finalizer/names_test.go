package finalizer_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trueup-go/trueup/finalizer"
)

// TestNames: Handle itself refuses the names that the API server refuses for every kind.
func TestNames(t *testing.T) {
	t.Parallel()
	namespace := namespaceOf(t)
	for name, valid := range map[string]bool{
		"example.com/row":                    true,
		"example.com/Row_1.x":                true,
		"row":                                true,
		"":                                   false,
		"/row":                               false,
		"example.com/":                       false,
		"example.com/a b":                    false,
		"example.com/a/b":                    false,
		"Example.com/row":                    false,
		"example.com/-row":                   false,
		"example.com/" + long("r", 63):       true,
		"example.com/" + long("r", 64):       false,
		long("e.", 252) + "e/row":            true,
		long("e.", 254) + "e/row":            false,
		"orphan":                             true,
		"example.com/r\u00f6w":               false,
		"example.com/row\n":                  false,
		"kubernetes.io/anything-goes.really": true,
	} {
		t.Run(name, func(t *testing.T) {
			asked := &countingClient{Client: admin}
			obj := widget(namespace)
			obj.GenerateName, obj.Name = "site-", ""
			create(t, obj)
			_, err := finalizer.Handle(t.Context(), asked, obj, finalizer.Step{Name: name, Cleanup: noCleanup})
			direct := live(t, obj)
			direct.Finalizers = []string{name}
			serverTakes := admin.Update(t.Context(), direct, client.DryRunAll) == nil
			require.Equal(t, valid, serverTakes)
			require.Equal(t, valid, err == nil, "%v", err)
			require.Equal(t, valid, asked.patches == 1)
			if !valid {
				require.ErrorContains(t, err, "the API server does not accept this name")
			}
		})
	}
}

// long repeats text up to n bytes.
func long(text string, n int) string { return strings.Repeat(text, n)[:n] }

type countingClient struct {
	client.Client

	patches int
}

func (c *countingClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	c.patches++
	return c.Client.Patch(ctx, obj, patch, opts...)
}

// warnings collects the API server's warnings.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// TestNameWithoutSlash is refused for built-in kinds, and for custom ones warned of.
func TestNameWithoutSlash(t *testing.T) {
	t.Parallel()
	namespace := namespaceOf(t)
	warned := &warnings{}
	config := rest.CopyConfig(shared.Config())
	config.WarningHandler = warned
	c, err := client.New(config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	step := finalizer.Step{Name: "cleanup-row", Cleanup: noCleanup}

	custom := create(t, widget(namespace))
	_, err = finalizer.Handle(t.Context(), c, custom, step)
	require.NoError(t, err)
	require.Equal(t, []string{"cleanup-row"}, live(t, custom).Finalizers)
	require.Len(t, warned.texts, 1)
	require.Contains(t, warned.texts[0], "prefer a domain-qualified finalizer name")

	builtIn := create(t, configMap(namespace), foreignFinalizer)
	_, err = finalizer.Handle(t.Context(), c, builtIn, step)
	require.EqualError(t, err, `cannot add finalizer "cleanup-row" to ConfigMap "`+namespace+`/site": `+
		`Invalid: metadata.finalizers[1]: Invalid value: "cleanup-row": name is neither a standard finalizer name nor is it fully qualified`)
	require.True(t, apierrors.IsInvalid(err))
	require.False(t, apierrors.IsConflict(err), "trying again does not help")
	require.Equal(t, []string{foreignFinalizer}, live(t, builtIn).Finalizers)
}

// TestWebhooks: a write that a webhook refuses like a failed test, or undoes, is neither a conflict
// nor done.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	refused, undone, missing := namespaceOf(t), namespaceOf(t), namespaceOf(t)
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{widgetGVK.Group}, APIVersions: []string{"v1"}, Resources: []string{"widgets"},
		},
	}}
	stop, err := shared.MutatingWebhook(t.Context(), "meddler", rules, admission.HandlerFunc(
		func(_ context.Context, request admission.Request) admission.Response {
			switch request.Namespace {
			case refused:
				response := admission.Denied("hunter2")
				response.Result.Code, response.Result.Reason = http.StatusUnprocessableEntity, "Invalid"
				return response
			case undone:
				return admission.PatchResponseFromRaw(request.Object.Raw, request.OldObject.Raw)
			case missing:
				// A validator may return the error of its own read like this.
				return refusal(apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "hunter2"))
			}
			return admission.Allowed("")
		}))
	require.NoError(t, err)
	defer func() { require.NoError(t, stop()) }()
	step := finalizer.Step{Name: rowFinalizer, Cleanup: noCleanup}

	_, err = finalizer.Handle(t.Context(), admin, create(t, widget(refused)), step)
	require.EqualError(t, err, `cannot add finalizer "example.com/row" to Widget "`+refused+`/site": `+
		`Invalid: admission webhook "handler.trueup-go.github.io" denied the request: hunter2`)
	require.True(t, apierrors.IsInvalid(err))

	_, err = finalizer.Handle(t.Context(), admin, create(t, widget(undone)), step)
	require.EqualError(t, err, `cannot add finalizer "example.com/row" to Widget "`+undone+`/site": `+
		`the API server did not store it: look for a webhook that removes it`)

	obj := create(t, widget(missing))
	result, err := finalizer.Handle(t.Context(), admin, obj, step)
	require.EqualError(t, err, `cannot add finalizer "example.com/row" to Widget "`+missing+`/site": `+
		`NotFound: admission webhook "handler.trueup-go.github.io" denied the request: secrets "hunter2" not found`)
	require.False(t, result.Done, "it is there")
}

func refusal(err *apierrors.StatusError) admission.Response {
	response := admission.Denied("")
	response.Result = &err.ErrStatus
	return response
}
