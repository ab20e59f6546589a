package pacing_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trueup-go/trueup/ensure"
)

var obstacles = []obstacle{
	{name: "Refused", reason: "Refused", before: func(f *fixture) {
		f.changeDesired(func(d *appsv1.Deployment) { d.ResourceVersion = "1" })
	}},
	{name: "OwnerTerminating", reason: "OwnerTerminating", before: func(f *fixture) {
		f.ignoresOwnerDeletion, f.site.Finalizers = true, []string{"example.com/user"}
	}, after: func(f *fixture) {
		require.NoError(f.t, f.admin.Delete(f.t.Context(), f.site))
	}},
	{name: "Terminating", reason: "Terminating", after: func(f *fixture) {
		f.patch(&appsv1.Deployment{}, `{"metadata":{"finalizers":["example.com/user"]}}`)
		require.NoError(f.t, f.admin.Delete(f.t.Context(), f.deployment()))
	}},
	{name: "Foreign", reason: "Foreign", before: func(f *fixture) {
		foreign := deploymentFor(f.site)
		foreign.Namespace = f.namespace
		require.NoError(f.t, f.admin.Create(f.t.Context(), foreign))
	}},
	{name: "Hidden", reason: "Hidden", caching: hideDeployments, after: func(f *fixture) {
		f.awaitPass()                    // it finds that the cache does not show the Deployment
		f.clock.Advance(2 * time.Minute) // a cache that lags for less is no error
	}},
	{name: "a filtered cache as the server", reason: "Conflict", caching: hideDeployments, isReader: true},
	{name: "Invalid", reason: "Invalid", before: func(f *fixture) { f.site.Spec.Replicas = -1 }},
	{name: "Invalid later", reason: "Invalid", after: func(f *fixture) { f.patch(&Website{}, `{"spec":{"replicas":-1}}`) }},
	{name: "Immutable", reason: "Immutable", after: func(f *fixture) {
		f.changeDesired(func(d *appsv1.Deployment) {
			d.Spec.Selector.MatchLabels["tier"], d.Spec.Template.Labels["tier"] = "web", "web"
		})
	}},
	{name: "Contested", reason: "Contested", after: (*fixture).contestReplicas},
	{name: "a quota", reason: "Forbidden", before: (*fixture).useUpQuota},
	{name: "a policy", reason: "Invalid", before: (*fixture).forbidByPolicy},
	{name: "a webhook that answers 409", reason: "Conflict", before: func(f *fixture) {
		f.deny("deployments", []string{"apps"}, http.StatusConflict)
	}},
	{name: "a webhook that is down", reason: "InternalError", before: (*fixture).breakWebhook},
	{name: "a missing right", reason: "Forbidden", account: true},
	{name: "no namespace", reason: "NotFound", before: func(f *fixture) {
		f.options = func(*Website) []ensure.Option { return nil }
		f.changeDesired(func(d *appsv1.Deployment) { d.Namespace = f.namespace + "-none" })
	}, caching: func(options *cache.Options) {
		for namespace := range maps.Clone(options.DefaultNamespaces) {
			options.DefaultNamespaces[namespace+"-none"] = cache.Config{}
		}
	}},
}

// changeDesired changes the operator's desired state from now on.
func (f *fixture) changeDesired(change func(*appsv1.Deployment)) { f.desired.Store(&change) }

func (f *fixture) deployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: f.site.Name}}
}

// patch sends a merge patch as the admin.
func (f *fixture) patch(obj client.Object, patch string) {
	f.t.Helper()
	obj.SetNamespace(f.namespace)
	obj.SetName(f.site.Name)
	require.NoError(f.t, f.admin.Patch(f.t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(patch))))
}

func hideDeployments(options *cache.Options) {
	options.ByObject = map[client.Object]cache.ByObject{
		&appsv1.Deployment{}: {Label: labels.SelectorFromSet(labels.Set{"shown": "yes"})},
	}
}

// contestReplicas starts a rival that reverts the operator's writes.
func (f *fixture) contestReplicas() {
	rival := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"theirs"}}}`))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				_ = f.admin.Patch(ctx, f.deployment(), rival, client.FieldOwner("rival"))
			}
		}
	}()
	f.t.Cleanup(func() {
		stop()
		<-ended
	})
}

func (f *fixture) useUpQuota() {
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/deployments.apps": resource.MustParse("0")}},
	}
	require.NoError(f.t, f.admin.Create(f.t.Context(), quota))
	f.awaitRefusal(apierrors.IsForbidden)
}

// awaitRefusal waits until a Deployment would be refused so.
func (f *fixture) awaitRefusal(isRefusal func(error) bool) {
	f.t.Helper()
	require.NoError(f.t, shared.Await(f.t.Context(), limit, f.namespace, func(ctx context.Context) error {
		probe := deploymentFor(f.site)
		probe.Namespace = f.namespace
		err := f.admin.Create(ctx, probe, client.DryRunAll)
		if !isRefusal(err) {
			return fmt.Errorf("not refused so: %w", errors.Join(err, errNotRefused))
		}
		return nil
	}))
}

var errNotRefused = errors.New("not as expected")

func (f *fixture) forbidByPolicy() {
	rule := admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: rulesFor("deployments", "apps")}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: f.namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: new(admissionregistrationv1.Fail),
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: f.selector(), ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{rule},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "'team' in object.metadata.labels", Message: "every Deployment needs a label team, ask platform@example.com",
			}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: f.namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	for _, obj := range []client.Object{policy, binding} {
		f.install(obj)
	}
	f.awaitRefusal(apierrors.IsInvalid)
}

// install creates an object of the whole cluster for as long as the test runs.
func (f *fixture) install(obj client.Object) {
	f.t.Helper()
	require.NoError(f.t, f.admin.Create(f.t.Context(), obj))
	f.t.Cleanup(func() { require.NoError(f.t, f.admin.Delete(context.Background(), obj)) })
}

func (f *fixture) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: f.namespace}}
}

func rulesFor(resource string, groups ...string) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: groups, APIVersions: []string{"v1"}, Resources: []string{resource}},
	}
}

// deny installs a webhook that refuses the operator's writes.
func (f *fixture) deny(resource string, groups []string, code int32) {
	f.t.Helper()
	stop, err := shared.MutatingWebhook(f.t.Context(), f.namespace, []admissionregistrationv1.RuleWithOperations{rulesFor(resource, groups...)},
		admission.HandlerFunc(func(_ context.Context, request admission.Request) admission.Response {
			if request.Namespace != f.namespace {
				return admission.Allowed("")
			}
			reason := metav1.StatusReasonForbidden
			if code == http.StatusConflict {
				reason = metav1.StatusReasonConflict
			}
			return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{
				Result: &metav1.Status{Code: code, Reason: reason, Message: "try again"},
			}}
		}))
	require.NoError(f.t, err)
	f.t.Cleanup(func() { require.NoError(f.t, stop()) })
}

func (f *fixture) breakWebhook() {
	f.install(&admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: f.namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "down.example.com",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/")},
			Rules:                   []admissionregistrationv1.RuleWithOperations{rulesFor("deployments", "apps")},
			NamespaceSelector:       f.selector(),
			FailurePolicy:           new(admissionregistrationv1.Fail),
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	})
	f.awaitRefusal(apierrors.IsInternalError)
}

// account is one that may do all but write Deployments.
func (f *fixture) account() *rest.Config {
	f.t.Helper()
	config, err := shared.ServiceAccount(f.t.Context(), f.namespace, "operator")
	require.NoError(f.t, err)
	config.UserAgent = f.name
	all := []string{"get", "list", "watch", "create", "patch"}
	f.create(&rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "operator"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{websiteKind.Group}, Resources: []string{"websites", "websites/status"}, Verbs: all},
			{APIGroups: []string{websiteKind.Group}, Resources: []string{"websites/finalizers"}, Verbs: []string{"update"}},
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: all},
			{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "list", "watch"}},
		},
	})
	f.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "operator"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "operator"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: f.namespace, Name: "operator"}},
	})
	return config
}

func (f *fixture) create(obj client.Object) {
	f.t.Helper()
	require.NoError(f.t, f.admin.Create(f.t.Context(), obj))
}
