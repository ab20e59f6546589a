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

var troubles = []trouble{
	{name: "Refused", reason: "Refused", before: func(x *trial) {
		x.want(func(d *appsv1.Deployment) { d.ResourceVersion = "1" })
	}},
	{name: "OwnerTerminating", reason: "OwnerTerminating", before: func(x *trial) {
		x.staysForOwner, x.site.Finalizers = true, []string{"example.com/person"}
	}, after: func(x *trial) {
		require.NoError(x.t, x.person.Delete(x.t.Context(), x.site))
	}},
	{name: "Terminating", reason: "Terminating", after: func(x *trial) {
		x.patch(&appsv1.Deployment{}, `{"metadata":{"finalizers":["example.com/person"]}}`)
		require.NoError(x.t, x.person.Delete(x.t.Context(), x.deployment()))
	}},
	{name: "Foreign", reason: "Foreign", before: func(x *trial) {
		foreign := deploymentFor(x.site)
		foreign.Namespace = x.namespace
		require.NoError(x.t, x.person.Create(x.t.Context(), foreign))
	}},
	{name: "Hidden", reason: "Hidden", caching: hideDeployments, after: func(x *trial) {
		x.awaitPass()                               // it finds that the cache does not show the Deployment
		x.clock.ahead.Store(int64(2 * time.Minute)) // a cache that lags for less is no error
	}},
	{name: "a filtered cache as the server", reason: "Conflict", caching: hideDeployments, isReader: true},
	{name: "Invalid", reason: "Invalid", before: func(x *trial) { x.site.Spec.Replicas = -1 }},
	{name: "Invalid later", reason: "Invalid", after: func(x *trial) { x.patch(&Website{}, `{"spec":{"replicas":-1}}`) }},
	{name: "Immutable", reason: "Immutable", after: func(x *trial) {
		x.want(func(d *appsv1.Deployment) {
			d.Spec.Selector.MatchLabels["tier"], d.Spec.Template.Labels["tier"] = "web", "web"
		})
	}},
	{name: "Contested", reason: "Contested", after: (*trial).fightOver},
	{name: "a quota", reason: "Forbidden", before: (*trial).useUpQuota},
	{name: "a policy", reason: "Invalid", before: (*trial).forbidByPolicy},
	{name: "a webhook that answers 409", reason: "Conflict", before: func(x *trial) {
		x.deny("deployments", []string{"apps"}, http.StatusConflict)
	}},
	{name: "a webhook that is down", reason: "InternalError", before: (*trial).breakWebhook},
	{name: "a missing right", reason: "Forbidden", account: true},
	{name: "no namespace", reason: "NotFound", before: func(x *trial) {
		x.options = func(*Website) []ensure.Option { return nil }
		x.want(func(d *appsv1.Deployment) { d.Namespace = x.namespace + "-none" })
	}, caching: func(options *cache.Options) {
		for namespace := range maps.Clone(options.DefaultNamespaces) {
			options.DefaultNamespaces[namespace+"-none"] = cache.Config{}
		}
	}},
}

// want changes the operator's desired state from now on.
func (x *trial) want(change func(*appsv1.Deployment)) { x.desired.Store(&change) }

func (x *trial) deployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: x.site.Name}}
}

// patch is a person's.
func (x *trial) patch(obj client.Object, patch string) {
	x.t.Helper()
	obj.SetNamespace(x.namespace)
	obj.SetName(x.site.Name)
	require.NoError(x.t, x.person.Patch(x.t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(patch))))
}

func hideDeployments(options *cache.Options) {
	options.ByObject = map[client.Object]cache.ByObject{
		&appsv1.Deployment{}: {Label: labels.SelectorFromSet(labels.Set{"shown": "yes"})},
	}
}

// fightOver starts a rival that reverts the operator's writes.
func (x *trial) fightOver() {
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
				_ = x.person.Patch(ctx, x.deployment(), rival, client.FieldOwner("rival"))
			}
		}
	}()
	x.t.Cleanup(func() {
		stop()
		<-ended
	})
}

func (x *trial) useUpQuota() {
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/deployments.apps": resource.MustParse("0")}},
	}
	require.NoError(x.t, x.person.Create(x.t.Context(), quota))
	x.awaitRefusal(apierrors.IsForbidden)
}

// awaitRefusal waits until a Deployment would be refused so.
func (x *trial) awaitRefusal(isRefusal func(error) bool) {
	x.t.Helper()
	require.NoError(x.t, shared.Await(x.t.Context(), limit, x.namespace, func(ctx context.Context) error {
		probe := deploymentFor(x.site)
		probe.Namespace = x.namespace
		err := x.person.Create(ctx, probe, client.DryRunAll)
		if !isRefusal(err) {
			return fmt.Errorf("not refused so: %w", errors.Join(err, errNotRefused))
		}
		return nil
	}))
}

var errNotRefused = errors.New("not as expected")

func (x *trial) forbidByPolicy() {
	rule := admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: rulesFor("deployments", "apps")}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: x.namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: new(admissionregistrationv1.Fail),
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: x.selector(), ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{rule},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "'team' in object.metadata.labels", Message: "every Deployment needs a label team, ask platform@example.com",
			}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: x.namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	for _, obj := range []client.Object{policy, binding} {
		x.install(obj)
	}
	x.awaitRefusal(apierrors.IsInvalid)
}

// install creates an object of the whole cluster for as long as the test runs.
func (x *trial) install(obj client.Object) {
	x.t.Helper()
	require.NoError(x.t, x.person.Create(x.t.Context(), obj))
	x.t.Cleanup(func() { require.NoError(x.t, x.person.Delete(context.Background(), obj)) })
}

func (x *trial) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: x.namespace}}
}

func rulesFor(resource string, groups ...string) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: groups, APIVersions: []string{"v1"}, Resources: []string{resource}},
	}
}

// deny installs a webhook that refuses the operator's writes.
func (x *trial) deny(resource string, groups []string, code int32) {
	x.t.Helper()
	stop, err := shared.MutatingWebhook(x.t.Context(), x.namespace, []admissionregistrationv1.RuleWithOperations{rulesFor(resource, groups...)},
		admission.HandlerFunc(func(_ context.Context, request admission.Request) admission.Response {
			if request.Namespace != x.namespace {
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
	require.NoError(x.t, err)
	x.t.Cleanup(func() { require.NoError(x.t, stop()) })
}

func (x *trial) breakWebhook() {
	x.install(&admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: x.namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "down.example.com",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/")},
			Rules:                   []admissionregistrationv1.RuleWithOperations{rulesFor("deployments", "apps")},
			NamespaceSelector:       x.selector(),
			FailurePolicy:           new(admissionregistrationv1.Fail),
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	})
	x.awaitRefusal(apierrors.IsInternalError)
}

// account is one that may do all but write Deployments.
func (x *trial) account() *rest.Config {
	x.t.Helper()
	config, err := shared.ServiceAccount(x.t.Context(), x.namespace, "operator")
	require.NoError(x.t, err)
	config.UserAgent = x.name
	all := []string{"get", "list", "watch", "create", "patch"}
	x.create(&rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "operator"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{websiteKind.Group}, Resources: []string{"websites", "websites/status"}, Verbs: all},
			{APIGroups: []string{websiteKind.Group}, Resources: []string{"websites/finalizers"}, Verbs: []string{"update"}},
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: all},
			{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "list", "watch"}},
		},
	})
	x.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "operator"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "operator"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: x.namespace, Name: "operator"}},
	})
	return config
}

func (x *trial) create(obj client.Object) {
	x.t.Helper()
	require.NoError(x.t, x.person.Create(x.t.Context(), obj))
}
