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

// A spared object differs from desired and is not recreated although Recreate is given.
type spared struct {
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
	for name, build := range map[string]func(*workshop) spared{
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
			w := newWorkshop(t)
			s := build(w)
			if s.made == nil {
				s.made = func() { w.mustBe(ensure.Created, s.live) }
			}
			s.made()
			before := w.settled(s.live, isReady)
			if s.meanwhile != nil {
				s.meanwhile()
			}
			for turn := range 2 {
				mark := shared.Mark()
				res, err := w.object(s.desired, append(s.opts, anew)...)
				require.ErrorIs(t, err, s.class, "%s; %s", s.why, res.Operation)
				require.Equal(t, s.reason, ensure.Reason(err), s.why)
				if s.asked != nil && turn == 0 { // then it may be remembered
					require.Empty(t, cmp.Diff(s.asked, w.counts(mark)), s.why)
				}
				after := w.find(s.live)
				require.NotNil(t, after, s.why)
				require.Equal(t, before.GetUID(), after.GetUID(), s.why)
				require.Nil(t, after.GetDeletionTimestamp(), s.why)
				require.Equal(t, before.GetResourceVersion(), after.GetResourceVersion(), s.why)
			}
		})
	}
}

func invalidValue(w *workshop) spared {
	desired := w.deployment(-1)
	return spared{
		why: "the server would not create it either", live: w.deployment(0), desired: desired,
		class: ensure.ErrInvalid, reason: "Invalid",
		asked: map[string]int{"get deployments": 2, "patch deployments": 1, "create deployments (dry run)": 1},
	}
}

func configs(w *workshop, value string) client.Object { return w.config("config", value) }
func frozen(w *workshop, value string) client.Object  { return w.frozen("config", value) }

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
func refusedBy(r refusal, object func(*workshop, string) client.Object) func(*workshop) spared {
	return func(w *workshop) spared {
		s := spared{
			why: "it is no matter of the object that is there", live: object(w, "made"), desired: r.of(object(w, "changed")),
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

// refusedNodePort: the server first reports that the node port is taken, by the object itself; the
// policy would refuse afterwards.
func refusedNodePort(w *workshop) spared {
	return spared{
		why: "once it is deleted, the policy refuses the new one", class: ensure.ErrInvalid, reason: "Invalid",
		live:    w.balancer("example.com/one", "", portOfPolicy),
		desired: refusal{policyOn: "CREATE"}.of(w.balancer("example.com/other", "", portOfPolicy)),
		asked:   map[string]int{"get services": 2, "patch services": 1, "create services (dry run)": 2},
	}
}

func (w *workshop) service(nodePort int32) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: w.named("service"),
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

func (w *workshop) other() *corev1.Service {
	other := w.service(0)
	other.Name = "other"
	return other
}

func (w *workshop) createOther() *corev1.Service {
	w.t.Helper()
	other := w.other()
	require.NoError(w.t, w.human.Create(w.ctx, other))
	return other
}

func takenClusterIP(w *workshop) spared {
	desired := w.service(0)
	desired.Spec.ClusterIP = w.createOther().Spec.ClusterIP
	return spared{
		why: "nobody knows when the other Service goes", live: w.service(0), desired: desired,
		class: ensure.ErrImmutable, reason: "Immutable",
	}
}

func takenNodePort(w *workshop) spared {
	return spared{
		why: "nobody knows when the other Service goes", live: w.service(0),
		desired: w.service(w.createOther().Spec.Ports[0].NodePort), class: ensure.ErrInvalid, reason: "Invalid",
	}
}

// takenNodePortBehindClusterIP: the server names the cluster IP, which is the object's own,
// and not the node port, which another Service has.
func takenNodePortBehindClusterIP(w *workshop) spared {
	taken := w.createOther().Spec.Ports[0].NodePort
	return spared{
		why: "it could not be made again", class: ensure.ErrInvalid, reason: "Invalid",
		live:    w.balancer("example.com/one", ipOfBalancer, portOfBalancer),
		desired: w.balancer("example.com/other", ipOfBalancer, taken),
	}
}

func (w *workshop) balancer(class, ip string, port int32) *corev1.Service {
	s := w.service(port)
	s.Spec.Type, s.Spec.LoadBalancerClass, s.Spec.ClusterIP = corev1.ServiceTypeLoadBalancer, new(class), ip
	return s
}

// serviceAccount has the operator act with these verbs on ConfigMaps only.
func (w *workshop) serviceAccount(verbs ...string) {
	w.t.Helper()
	config, err := shared.ServiceAccount(w.ctx, w.namespace, "operator")
	require.NoError(w.t, err)
	config.UserAgent = w.agent
	role := &rbacv1.Role{ObjectMeta: w.named("operator"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs},
		{APIGroups: []string{""}, Resources: []string{"configmaps/finalizers"}, Verbs: []string{"update"}},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: w.named("operator"),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "operator"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "operator"}},
	}
	require.NoError(w.t, w.human.Create(w.ctx, role))
	require.NoError(w.t, w.human.Create(w.ctx, binding))
	c, err := client.New(config, client.Options{Scheme: w.client.Scheme(), Mapper: w.client.RESTMapper()})
	require.NoError(w.t, err)
	w.await("the rights", func() bool {
		return !apierrors.IsForbidden(c.Get(w.ctx, client.ObjectKeyFromObject(w.owner), &corev1.ConfigMap{}))
	})
	w.client, w.reader = c, c
	w.restart()
}

func withoutCreate(w *workshop) spared {
	return spared{
		why: "it could not be made again", live: w.frozen("config", "made"), desired: w.frozen("config", "changed"),
		meanwhile: func() { w.serviceAccount("get", "list", "watch", "patch", "delete") },
		class:     ensure.ErrInvalid, reason: "Invalid",
	}
}

func withoutDelete(w *workshop) spared {
	return spared{
		why: "that is for somebody to grant", live: w.frozen("config", "made"), desired: w.frozen("config", "changed"),
		meanwhile: func() { w.serviceAccount("get", "list", "watch", "patch", "create") },
		class:     ensure.ErrAPI, reason: "Forbidden",
	}
}

func quotaUsedUp(w *workshop) spared {
	return spared{
		why: "another may be first to take what a deletion frees", live: w.frozen("config", "made"), desired: w.frozen("config", "changed"),
		meanwhile: func() {
			// There are more already: the controller counts by a cache that may not show the newest.
			quota := &corev1.ResourceQuota{
				ObjectMeta: w.named("quota"),
				Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("1")}},
			}
			require.NoError(w.t, w.human.Create(w.ctx, quota))
			w.settled(quota, func(obj client.Object) bool {
				used, ok := obj.(*corev1.ResourceQuota).Status.Used["count/configmaps"]
				return ok && used.CmpInt64(1) >= 0
			})
		},
		class: ensure.ErrInvalid, reason: "Invalid",
	}
}

func adoptedNow(w *workshop) spared {
	return spared{
		why: "somebody else made it", live: w.frozen("config", "made"), desired: w.frozen("config", "changed"),
		made: func() { require.NoError(w.t, w.human.Create(w.ctx, w.frozen("config", "made"))) },
		opts: []ensure.Option{ensure.Adopt()}, class: ensure.ErrImmutable, reason: "Immutable",
	}
}

func adoptedBefore(w *workshop) spared {
	s := adoptedNow(w)
	made := s.made
	s.made = func() {
		made()
		w.mustBe(ensure.Updated, w.frozen("config", "made"), ensure.Adopt())
	}
	return s
}

func onlyIfExists(w *workshop) spared {
	return spared{
		why: "it would not be made again", live: w.frozen("config", "made"), desired: w.frozen("config", "changed"),
		opts: []ensure.Option{ensure.IfExists()}, class: ensure.ErrImmutable, reason: "Immutable",
	}
}

func anothers(w *workshop) spared {
	return spared{
		why: "it is not ours", live: w.frozen("config", "made"), desired: w.frozen("config", "changed"),
		made: func() {
			_, err := ensure.Object(w.ctx, w.ensurer, w.frozen("config", "made"), ensure.ControlledBy(w.newOwner("another")))
			require.NoError(w.t, err)
		},
		class: ensure.ErrForeign, reason: "Foreign",
	}
}

func serverError(w *workshop) spared {
	return spared{
		why: "nothing is known", live: w.frozen("config", "made"), desired: w.frozen("config", "changed"),
		meanwhile: func() {
			w.meddle().beforeCreate = func() error { return apierrors.NewInternalError(errors.New("out of order")) }
		},
		class: ensure.ErrInvalid, reason: "Invalid",
	}
}

// TestRecreateSparesDefinition: the name of a definition consists of its plural and group.
func TestRecreateSparesDefinition(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	live := definition("widgets." + w.namespace + ".example.com")
	t.Cleanup(func() { require.NoError(t, w.human.Delete(context.Background(), live)) })
	created, err := ensure.Object(w.ctx, w.ensurer, live)
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
		_, err := ensure.Object(w.ctx, w.ensurer, desired, anew)
		require.ErrorIs(t, err, ensure.ErrInvalid)
		after := live.DeepCopy()
		require.NoError(t, w.human.Get(w.ctx, client.ObjectKeyFromObject(live), after))
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
	w := newWorkshop(t)
	m := w.meddle()
	w.mustBe(ensure.Created, w.frozen("config", "made"))
	before := w.find(w.frozen("config", ""))
	edits := 0
	m.beforeDelete = func() {
		edits++
		live := w.find(w.frozen("config", ""))
		live.SetAnnotations(map[string]string{"edited": strconv.Itoa(edits)})
		require.NoError(t, w.human.Update(w.ctx, live))
	}
	_, err := w.object(w.frozen("config", "changed"), anew)
	require.ErrorIs(t, err, ensure.ErrAPI)
	require.True(t, apierrors.IsConflict(err))
	require.Equal(t, "Conflict", ensure.Reason(err))
	require.Equal(t, 2, edits)
	require.Equal(t, before.GetUID(), w.find(w.frozen("config", "")).GetUID())

	m.beforeDelete = func() { // somebody takes it over
		m.beforeDelete = nil
		live := w.find(w.frozen("config", ""))
		live.SetOwnerReferences(nil)
		require.NoError(t, w.human.Update(w.ctx, live))
		live.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(w.newOwner("another"), corev1.SchemeGroupVersion.WithKind("ConfigMap"))})
		require.NoError(t, w.human.Update(w.ctx, live))
	}
	_, err = w.object(w.frozen("config", "changed"), anew)
	require.ErrorIs(t, err, ensure.ErrForeign)
	require.Equal(t, before.GetUID(), w.find(w.frozen("config", "")).GetUID())
}

// TestRecreateWhatOnlyAWebhookRefuses: many operators of custom kinds keep fields from being
// changed by a webhook, which names them.
func TestRecreateWhatOnlyAWebhookRefuses(t *testing.T) {
	t.Parallel()
	require.NoError(t, webhookInstalled())
	w := newWorkshop(t)
	desired := refusal{webhook: "UPDATE-fields"}.of(w.config("config", "changed"))
	w.mustBe(ensure.Created, w.config("config", "made"))
	_, err := w.object(desired)
	require.ErrorIs(t, err, ensure.ErrImmutable)
	w.mustBe(ensure.Recreated, desired, anew)
}

// TestRecreateServiceKeepingItsValues: the values that the server reports as taken belong to the
// object that is being recreated.
func TestRecreateServiceKeepingItsValues(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func(w *workshop, class string) *corev1.Service{
		"nodePort":               func(w *workshop, class string) *corev1.Service { return w.balancer(class, "", portOfMove) },
		"clusterIP and nodePort": func(w *workshop, class string) *corev1.Service { return w.balancer(class, ipOfClass, portOfClass) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkshop(t)
			live, desired := build(w, "example.com/one"), build(w, "example.com/other")
			created := w.mustBe(ensure.Created, live)
			_, err := w.object(desired)
			require.ErrorIs(t, err, ensure.ErrImmutable)
			require.Equal(t, created.Live.GetResourceVersion(), w.find(live).GetResourceVersion())

			mark := shared.Mark()
			res := w.mustBe(ensure.Recreated, desired, anew)
			require.Empty(t, cmp.Diff([]string{"spec.loadBalancerClass"}, pathsOf(res.Changes)))
			require.Empty(t, cmp.Diff(map[string]int{
				"get services": 2, "patch services": 2, "patch services (dry run)": 2, "create services (dry run)": 2, "delete services": 1,
			}, w.counts(mark)))
			w.mustBe(ensure.Unchanged, desired, anew)
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
	c, err := client.New(program.Config(shared, "person"), client.Options{Scheme: scheme})
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
	w := newWorkshop(t)
	_, err := shared.MutatingWebhook(t.Context(), "ensure-freezes",
		[]admissionregistrationv1.RuleWithOperations{everyWriteOf("configmaps")}, admission.HandlerFunc(freezeOnCreation))
	require.NoError(t, err)
	desired := w.config("frozen-by-webhook", "made")
	created := w.mustBe(ensure.Created, desired, anew)
	require.Equal(t, "webhook", w.find(desired).(*corev1.ConfigMap).Data["key"])
	w.restart()
	_, err = w.object(desired, anew)
	require.ErrorIs(t, err, ensure.ErrImmutable)
	require.Equal(t, created.Live.GetUID(), w.find(desired).GetUID())
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
