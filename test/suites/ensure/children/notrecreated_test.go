package children_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// A notRecreatedCase is an object that differs from desired and is not recreated although Recreate is given.
type notRecreatedCase struct {
	why string
	// live is the object before the call, made by the operator unless made is set.
	live client.Object
	made func()
	// meanwhile runs between the creation of the live object and the call.
	meanwhile func()
	desired   client.Object
	opts      []ensure.Option
	class     error
	reason    string
	asked     map[string]int
}

// TestRecreateSpares: only an object that the server would create again is deleted. An object
// refused for another reason keeps its UID and its resourceVersion.
func TestRecreateSpares(t *testing.T) {
	t.Parallel()
	require.NoError(t, policiesInstalled())
	require.NoError(t, webhookInstalled())
	for name, build := range map[string]func(*fixture) notRecreatedCase{
		"invalid value":                            invalidValue,
		"policy on updates":                        refusedBy(refusal{policyOn: "UPDATE"}, configs),
		"policy on creations":                      refusedBy(refusal{policyOn: "CREATE"}, frozen),
		"policy on both":                           refusedBy(refusal{policyOn: "BOTH"}, frozen),
		"policy on creations by name":              refusedBy(refusal{policyOn: "NAME"}, frozen),
		"policy that forbids creations":            refusedBy(refusal{policyOn: "FORBID"}, frozen),
		"policy on creations, of a fixed nodePort": refusedNodePort,
		"webhook's 403 to updates":                 refusedBy(refusal{webhook: "UPDATE-403"}, configs),
		"webhook's 422 to updates":                 refusedBy(refusal{webhook: "UPDATE-422"}, configs),
		"webhook's 403 to creations":               refusedBy(refusal{webhook: "CREATE-403"}, frozen),
		"webhook's 422 to creations":               refusedBy(refusal{webhook: "CREATE-422"}, frozen),
		"webhook's 409 to creations":               refusedBy(refusal{webhook: "CREATE-409"}, frozen),
		"webhook's 422 with fields to creations":   refusedBy(refusal{webhook: "CREATE-fields"}, frozen),
		"webhook's 422 with fields to both":        refusedBy(refusal{webhook: "BOTH-fields"}, configs),
		"no right to create":                       withoutCreate,
		"no right to delete":                       withoutDelete,
		"quota":                                    quotaUsedUp,
		"clusterIP of another":                     takenClusterIP,
		"nodePort of another":                      takenNodePort,
		"nodePort of another behind our clusterIP": takenNodePortBehindClusterIP,
		"adopted now":                              adoptedNow,
		"adopted before":                           adoptedBefore,
		"only if it exists":                        onlyIfExists,
		"another's":                                anothers,
		"server's error":                           serverError,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			s := build(f)
			if s.made == nil {
				s.made = func() { f.mustEnsure(ensure.Created, s.live) }
			}
			s.made()
			before := f.settled(s.live, isReady)
			if s.meanwhile != nil {
				s.meanwhile()
			}
			for turn := range 2 {
				mark := shared.Mark()
				res, err := f.ensure(s.desired, append(s.opts, recreate)...)
				require.ErrorIs(t, err, s.class, "%s; %s", s.why, res.Operation)
				require.Equal(t, s.reason, ensure.Reason(err), s.why)
				if s.asked != nil && turn == 0 { // then it may be remembered
					require.Empty(t, cmp.Diff(s.asked, f.requestCounts(mark)), s.why)
				}
				after := f.find(s.live)
				require.NotNil(t, after, s.why)
				require.Equal(t, before.GetUID(), after.GetUID(), s.why)
				require.Nil(t, after.GetDeletionTimestamp(), s.why)
				require.Equal(t, before.GetResourceVersion(), after.GetResourceVersion(), s.why)
			}
		})
	}
}

func invalidValue(f *fixture) notRecreatedCase {
	desired := f.deployment(-1)
	return notRecreatedCase{
		why: "the server would not create it either", live: f.deployment(0), desired: desired,
		class: ensure.ErrInvalid, reason: "Invalid",
		asked: map[string]int{"get deployments": 2, "patch deployments": 1, "patch deployments (dry run)": 1, "create deployments (dry run)": 1},
	}
}

func configs(f *fixture, value string) client.Object { return f.config("config", value) }
func frozen(f *fixture, value string) client.Object  { return f.frozen("config", value) }

// A refusal is a pair of label values that ask a policy or a webhook to refuse the object.
type refusal struct{ policyOn, webhook string }

const (
	policyLabel  = "ensure.trueup-go.github.io/policy"
	webhookLabel = "ensure.trueup-go.github.io/webhook"
)

func (r refusal) of(obj client.Object) client.Object {
	obj.SetLabels(map[string]string{policyLabel: r.policyOn, webhookLabel: r.webhook})
	return obj
}

// refusedBy returns an object that a policy or a webhook refuses. The first final answer counts: an
// invalid update is refused by the server's own validation, which precedes policies, and a valid
// update by the policy.
func refusedBy(r refusal, object func(*fixture, string) client.Object) func(*fixture) notRecreatedCase {
	return func(f *fixture) notRecreatedCase {
		s := notRecreatedCase{
			why: "it is no matter of the object that is there", live: object(f, "made"), desired: r.of(object(f, "changed")),
			class: ensure.ErrInvalid, reason: "Invalid",
		}
		switch r.webhook {
		case "UPDATE-403":
			s.class, s.reason = ensure.ErrAPI, "Forbidden"
		case "CREATE-fields": // others than those of the update
			s.class, s.reason = ensure.ErrImmutable, "Immutable"
		}
		return s
	}
}

// refusedNodePort: the node port is taken, by the object itself; the policy would refuse afterwards.
func refusedNodePort(f *fixture) notRecreatedCase {
	return notRecreatedCase{
		why: "once it is deleted, the policy refuses the new one", class: ensure.ErrInvalid, reason: "Invalid",
		live:    f.balancer("example.com/one", "", portOfPolicy),
		desired: refusal{policyOn: "CREATE"}.of(f.balancer("example.com/other", "", portOfPolicy)),
		asked:   map[string]int{"get services": 2, "patch services": 1, "patch services (dry run)": 1, "create services (dry run)": 1},
	}
}

func (f *fixture) service(nodePort int32) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: f.objectMeta("service"),
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeNodePort,
			Selector: map[string]string{"app": "web"},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80, NodePort: nodePort}},
		},
	}
}

// Addresses and ports of the bands that the server hands out last, each for one test.
const (
	ipOfBalancer, ipOfClass                               = "10.96.0.201", "10.96.0.202"
	portOfBalancer, portOfMove, portOfClass, portOfPolicy = 30001, 30002, 30003, 30004
)

func (f *fixture) other() *corev1.Service {
	other := f.service(0)
	other.Name = "other"
	return other
}

func (f *fixture) createOther() *corev1.Service {
	f.t.Helper()
	other := f.other()
	require.NoError(f.t, f.admin.Create(f.ctx, other))
	return other
}

func takenClusterIP(f *fixture) notRecreatedCase {
	desired := f.service(0)
	desired.Spec.ClusterIP = f.createOther().Spec.ClusterIP
	return notRecreatedCase{
		why: "nobody knows when the other Service goes", live: f.service(0), desired: desired,
		class: ensure.ErrImmutable, reason: "Immutable",
	}
}

func takenNodePort(f *fixture) notRecreatedCase {
	return notRecreatedCase{
		why: "nobody knows when the other Service goes", live: f.service(0),
		desired: f.service(f.createOther().Spec.Ports[0].NodePort), class: ensure.ErrInvalid, reason: "Invalid",
	}
}

// takenNodePortBehindClusterIP: the server names the cluster IP, which is the object's own,
// and not the node port, which another Service has.
func takenNodePortBehindClusterIP(f *fixture) notRecreatedCase {
	taken := f.createOther().Spec.Ports[0].NodePort
	return notRecreatedCase{
		why: "it could not be made again", class: ensure.ErrInvalid, reason: "Invalid",
		live:    f.balancer("example.com/one", ipOfBalancer, portOfBalancer),
		desired: f.balancer("example.com/other", ipOfBalancer, taken),
	}
}

func (f *fixture) balancer(class, ip string, port int32) *corev1.Service {
	s := f.service(port)
	s.Spec.Type, s.Spec.LoadBalancerClass, s.Spec.ClusterIP = corev1.ServiceTypeLoadBalancer, new(class), ip
	return s
}

// serviceAccount has the operator act with these verbs on ConfigMaps only.
func (f *fixture) serviceAccount(verbs ...string) {
	f.t.Helper()
	config, err := shared.ServiceAccount(f.ctx, f.namespace, "operator")
	require.NoError(f.t, err)
	config.UserAgent = f.userAgent
	role := &rbacv1.Role{ObjectMeta: f.objectMeta("operator"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs},
		{APIGroups: []string{""}, Resources: []string{"configmaps/finalizers"}, Verbs: []string{"update"}},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: f.objectMeta("operator"),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "operator"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: f.namespace, Name: "operator"}},
	}
	require.NoError(f.t, f.admin.Create(f.ctx, role))
	require.NoError(f.t, f.admin.Create(f.ctx, binding))
	c, err := client.New(config, client.Options{Scheme: f.client.Scheme(), Mapper: f.client.RESTMapper()})
	require.NoError(f.t, err)
	f.await("the rights", func() bool {
		return !apierrors.IsForbidden(c.Get(f.ctx, client.ObjectKeyFromObject(f.owner), &corev1.ConfigMap{}))
	})
	f.client, f.reader = c, c
	f.restart()
}

func withoutCreate(f *fixture) notRecreatedCase {
	return notRecreatedCase{
		why: "it could not be made again", live: f.frozen("config", "made"), desired: f.frozen("config", "changed"),
		meanwhile: func() { f.serviceAccount("get", "list", "watch", "patch", "delete") },
		class:     ensure.ErrInvalid, reason: "Invalid",
	}
}

func withoutDelete(f *fixture) notRecreatedCase {
	return notRecreatedCase{
		why: "that is for somebody to grant", live: f.frozen("config", "made"), desired: f.frozen("config", "changed"),
		meanwhile: func() { f.serviceAccount("get", "list", "watch", "patch", "create") },
		class:     ensure.ErrAPI, reason: "Forbidden",
	}
}

func quotaUsedUp(f *fixture) notRecreatedCase {
	return notRecreatedCase{
		why: "another may be first to take what a deletion frees", live: f.frozen("config", "made"), desired: f.frozen("config", "changed"),
		meanwhile: func() {
			// There are more already: the controller counts by a cache that may not show the newest.
			quota := &corev1.ResourceQuota{
				ObjectMeta: f.objectMeta("quota"),
				Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("1")}},
			}
			require.NoError(f.t, f.admin.Create(f.ctx, quota))
			f.settled(quota, func(obj client.Object) bool {
				used, ok := obj.(*corev1.ResourceQuota).Status.Used["count/configmaps"]
				return ok && used.CmpInt64(1) >= 0
			})
		},
		class: ensure.ErrInvalid, reason: "Invalid",
	}
}

func adoptedNow(f *fixture) notRecreatedCase {
	return notRecreatedCase{
		why: "somebody else made it", live: f.frozen("config", "made"), desired: f.frozen("config", "changed"),
		made: func() { require.NoError(f.t, f.admin.Create(f.ctx, f.frozen("config", "made"))) },
		opts: []ensure.Option{ensure.Adopt()}, class: ensure.ErrImmutable, reason: "Immutable",
	}
}

func adoptedBefore(f *fixture) notRecreatedCase {
	s := adoptedNow(f)
	made := s.made
	s.made = func() {
		made()
		f.mustEnsure(ensure.Updated, f.frozen("config", "made"), ensure.Adopt())
	}
	return s
}

func onlyIfExists(f *fixture) notRecreatedCase {
	return notRecreatedCase{
		why: "it would not be made again", live: f.frozen("config", "made"), desired: f.frozen("config", "changed"),
		opts: []ensure.Option{ensure.IfExists()}, class: ensure.ErrImmutable, reason: "Immutable",
	}
}

func anothers(f *fixture) notRecreatedCase {
	return notRecreatedCase{
		why: "it is not ours", live: f.frozen("config", "made"), desired: f.frozen("config", "changed"),
		made: func() {
			_, err := ensure.Object(f.ctx, f.ensurer, f.frozen("config", "made"), ensure.ControlledBy(f.newOwner("another")))
			require.NoError(f.t, err)
		},
		class: ensure.ErrForeign, reason: "Foreign",
	}
}

func serverError(f *fixture) notRecreatedCase {
	return notRecreatedCase{
		why: "nothing is known", live: f.frozen("config", "made"), desired: f.frozen("config", "changed"),
		meanwhile: func() {
			f.intercept().beforeCreate = func() error { return apierrors.NewInternalError(errors.New("out of order")) }
		},
		class: ensure.ErrInvalid, reason: "Invalid",
	}
}

// TestRecreateSparesDefinition: the name of a definition consists of its plural and group.
func TestRecreateSparesDefinition(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	live := definition("widgets." + f.namespace + ".example.com")
	t.Cleanup(func() { require.NoError(t, f.admin.Delete(context.Background(), live)) })
	created, err := ensure.Object(f.ctx, f.ensurer, live)
	require.NoError(t, err)
	for _, change := range []func(*unstructured.Unstructured){
		func(u *unstructured.Unstructured) { put(t, u, "others", "spec", "names", "plural") },
		func(u *unstructured.Unstructured) { put(t, u, "others.example.com", "spec", "group") },
		func(u *unstructured.Unstructured) {
			put(t, u, "others", "spec", "names", "plural")
			put(t, u, "Cluster", "spec", "scope")
		},
	} {
		desired := definition(live.GetName())
		change(desired)
		_, err := ensure.Object(f.ctx, f.ensurer, desired, recreate)
		require.ErrorIs(t, err, ensure.ErrInvalid)
		after := live.DeepCopy()
		require.NoError(t, f.admin.Get(f.ctx, client.ObjectKeyFromObject(live), after))
		require.Equal(t, created.Live.GetUID(), after.GetUID())
		require.Nil(t, after.GetDeletionTimestamp())
	}
}

func put(t *testing.T, u *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	require.NoError(t, unstructured.SetNestedField(u.Object, value, path...))
}

// definition is of a custom kind without a schema.
func definition(name string) *unstructured.Unstructured {
	plural, group, _ := strings.Cut(name, ".")
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": group, "scope": "Namespaced",
		"names": map[string]any{"plural": plural, "kind": "Widget"},
		"versions": []any{map[string]any{
			"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "x-kubernetes-preserve-unknown-fields": true,
			}},
		}},
	}}}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	u.SetName(name)
	return u
}

// TestRecreateConflict: only the version that was read is deleted. After another read, a later pass
// deletes the object.
func TestRecreateConflict(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	m := f.intercept()
	f.mustEnsure(ensure.Created, f.frozen("config", "made"))
	before := f.find(f.frozen("config", ""))
	edits := 0
	m.beforeDelete = func() {
		edits++
		live := f.find(f.frozen("config", ""))
		live.SetAnnotations(map[string]string{"edited": strconv.Itoa(edits)})
		require.NoError(t, f.admin.Update(f.ctx, live))
	}
	_, err := f.ensure(f.frozen("config", "changed"), recreate)
	require.ErrorIs(t, err, ensure.ErrAPI)
	require.True(t, apierrors.IsConflict(err))
	require.Equal(t, "Conflict", ensure.Reason(err))
	require.Equal(t, 2, edits)
	require.Equal(t, before.GetUID(), f.find(f.frozen("config", "")).GetUID())

	m.beforeDelete = func() { // somebody takes it over
		m.beforeDelete = nil
		live := f.find(f.frozen("config", ""))
		live.SetOwnerReferences(nil)
		require.NoError(t, f.admin.Update(f.ctx, live))
		live.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(f.newOwner("another"), corev1.SchemeGroupVersion.WithKind("ConfigMap"))})
		require.NoError(t, f.admin.Update(f.ctx, live))
	}
	_, err = f.ensure(f.frozen("config", "changed"), recreate)
	require.ErrorIs(t, err, ensure.ErrForeign)
	require.Equal(t, before.GetUID(), f.find(f.frozen("config", "")).GetUID())
}

// TestRecreateWhatOnlyAWebhookRefuses: many operators of custom kinds keep fields from being
// changed by a webhook, which names them.
func TestRecreateWhatOnlyAWebhookRefuses(t *testing.T) {
	t.Parallel()
	require.NoError(t, webhookInstalled())
	f := newFixture(t)
	desired := refusal{webhook: "UPDATE-fields"}.of(f.config("config", "changed"))
	f.mustEnsure(ensure.Created, f.config("config", "made"))
	_, err := f.ensure(desired)
	require.ErrorIs(t, err, ensure.ErrImmutable)
	f.mustEnsure(ensure.Recreated, desired, recreate)
}

// TestRecreateServiceKeepingItsValues: the values that the server reports as taken belong to the
// object that is being recreated.
func TestRecreateServiceKeepingItsValues(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func(f *fixture, class string) *corev1.Service{
		"nodePort":               func(f *fixture, class string) *corev1.Service { return f.balancer(class, "", portOfMove) },
		"clusterIP and nodePort": func(f *fixture, class string) *corev1.Service { return f.balancer(class, ipOfClass, portOfClass) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			live, desired := build(f, "example.com/one"), build(f, "example.com/other")
			created := f.mustEnsure(ensure.Created, live)
			_, err := f.ensure(desired)
			require.ErrorIs(t, err, ensure.ErrImmutable)
			require.Equal(t, created.Live.GetResourceVersion(), f.find(live).GetResourceVersion())

			mark := shared.Mark()
			res := f.mustEnsure(ensure.Recreated, desired, recreate)
			require.Empty(t, cmp.Diff([]string{"spec.loadBalancerClass"}, pathsOf(res.Changes)))
			require.Empty(t, cmp.Diff(map[string]int{
				"get services": 2, "patch services": 2, "patch services (dry run)": 2, "create services (dry run)": 1, "delete services": 1,
			}, f.requestCounts(mark)))
			f.mustEnsure(ensure.Unchanged, desired, recreate)
		})
	}
}

// policiesInstalled installs, once, a policy that refuses objects with its label.
var policiesInstalled = sync.OnceValue(func() error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	scheme, err := program.Scheme()
	if err != nil {
		return err
	}
	c, err := client.New(program.Config(shared, "kubectl-edit"), client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	asked := fmt.Sprintf("object.metadata.labels[%q]", policyLabel)
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "ensure.trueup-go.github.io"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules:  []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: everyWriteOf("configmaps", "services")}},
				ObjectSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: policyLabel, Operator: metav1.LabelSelectorOpExists}}},
			},
			MatchConditions: []admissionregistrationv1.MatchCondition{
				{Name: "labelled", Expression: fmt.Sprintf("has(object.metadata.labels) && %q in object.metadata.labels", policyLabel)},
			},
			Validations: []admissionregistrationv1.Validation{
				{Expression: asked + " != 'BOTH' && " + asked + " != request.operation"},
				{Expression: asked + " != 'NAME' || request.operation != 'CREATE' || object.metadata.name != 'config'"},
				{Expression: asked + " != 'FORBID' || request.operation != 'CREATE'", Reason: new(metav1.StatusReasonForbidden)},
			},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	if err := errors.Join(c.Create(ctx, policy), c.Create(ctx, binding)); err != nil {
		return err
	}
	probe := refusal{policyOn: "BOTH"}.of(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "policy-probe"}})
	return wait.PollUntilContextCancel(ctx, tick, true, func(ctx context.Context) (bool, error) {
		err := c.Create(ctx, probe.DeepCopyObject().(client.Object), client.DryRunAll)
		return apierrors.IsInvalid(err), client.IgnoreNotFound(ignoreInvalid(err))
	})
})

func ignoreInvalid(err error) error {
	if apierrors.IsInvalid(err) {
		return nil
	}
	return err
}

func everyWriteOf(resources ...string) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: resources},
	}
}

// webhookInstalled installs, once, a webhook that refuses objects with its label.
var webhookInstalled = sync.OnceValue(func() error {
	_, err := shared.MutatingWebhook(context.Background(), "ensure-refuses", // until the cluster goes
		[]admissionregistrationv1.RuleWithOperations{everyWriteOf("configmaps")}, admission.HandlerFunc(refuseAsAsked))
	return err
})

func refuseAsAsked(_ context.Context, request admission.Request) admission.Response {
	var obj metav1.PartialObjectMetadata
	if err := json.Unmarshal(request.Object.Raw, &obj); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	operation, answer, _ := strings.Cut(obj.Labels[webhookLabel], "-")
	if operation != "BOTH" && operation != string(request.Operation) {
		return admission.Allowed("")
	}
	status := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, obj.Name, field.ErrorList{
		field.Forbidden(field.NewPath("binaryData"), "is not wanted"),
	}).ErrStatus
	switch answer {
	case "403":
		return admission.Denied("not wanted")
	case "409":
		status = apierrors.NewAlreadyExists(schema.GroupResource{Resource: "configmaps"}, "another").ErrStatus
	case "422":
		status.Details = nil
	}
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: false, Result: &status}}
}

// TestRecreateSparesWhatAWebhookMade: the webhook would make the same of a new one, after
// each start of the operator.
func TestRecreateSparesWhatAWebhookMade(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := shared.MutatingWebhook(t.Context(), "ensure-freezes",
		[]admissionregistrationv1.RuleWithOperations{everyWriteOf("configmaps")}, admission.HandlerFunc(freezeOnCreation))
	require.NoError(t, err)
	desired := f.config("frozen-by-webhook", "made")
	created := f.mustEnsure(ensure.Created, desired, recreate)
	require.Equal(t, "webhook", f.find(desired).(*corev1.ConfigMap).Data["key"])
	f.restart()
	_, err = f.ensure(desired, recreate)
	require.ErrorIs(t, err, ensure.ErrImmutable)
	require.Equal(t, created.Live.GetUID(), f.find(desired).GetUID())
}

func freezeOnCreation(_ context.Context, request admission.Request) admission.Response {
	var config corev1.ConfigMap
	if err := json.Unmarshal(request.Object.Raw, &config); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if request.Operation != admissionv1.Create || config.Name != "frozen-by-webhook" {
		return admission.Allowed("")
	}
	config.Data["key"], config.Immutable = "webhook", new(true)
	made, err := json.Marshal(config)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, made)
}
