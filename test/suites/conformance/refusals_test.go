package conformance_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/harness/cluster"
)

// Properties of refusals. Each holds of a missing child and of one that exists.
const (
	unknownField  = "a field that the kind does not have is refused"
	wrongType     = "a value of the wrong type is refused"
	duplicateKey  = "two items with the same key, in a list that has keys, are refused"
	badLabel      = "a label that the server does not take is refused"
	badValue      = "content that the server does not take is refused"
	policy        = "what an admission policy objects to is refused"
	withoutPolicy = "what the policy does not object to, or no longer, is done"
)

// secretText is contained in the refused values. That of a Secret must not be in the error.
const secretText = "hunter2"

// A refusal is a mistake in desired, and the expected result.
type refusal struct {
	property string
	// makeInvalid returns desired with the mistake, or nil if the kind has no place for it, and a part of
	// the expected paths of the error, "" where the server names no field.
	makeInvalid func(*fixture) (client.Object, string)
	class       error
	reason      string
	// local: found before anything is sent.
	local bool
	// only is the operation that is refused, if not both are.
	only string
}

var refusals = []refusal{
	{property: unknownField, makeInvalid: (*fixture).withUnknownField, class: ensure.ErrInvalid, reason: "Invalid"},
	{property: wrongType, makeInvalid: (*fixture).withWrongType, class: ensure.ErrInvalid, reason: "Invalid"},
	{property: duplicateKey, makeInvalid: (*fixture).withDuplicateKey, class: ensure.ErrRefused, reason: "Refused", local: true},
	{property: duplicateKey, makeInvalid: (*fixture).withDuplicateKeyUntyped, class: ensure.ErrInvalid, reason: "Invalid"},
	{property: badLabel, makeInvalid: (*fixture).withBadLabel, class: ensure.ErrInvalid, reason: "Invalid"},
	{property: badValue, makeInvalid: (*fixture).withBadValue, class: ensure.ErrInvalid, reason: "Invalid"},
	{property: policy, makeInvalid: refusedOn(toCreate), class: ensure.ErrInvalid, reason: "Invalid", only: toCreate},
	{property: policy, makeInvalid: refusedOn(toUpdate), class: ensure.ErrInvalid, reason: "Invalid", only: toUpdate},
	{property: policy, makeInvalid: refusedOn(both), class: ensure.ErrInvalid, reason: "Invalid"},
	{property: policy, makeInvalid: refusedOn(forbidden), class: ensure.ErrAPI, reason: "Forbidden"},
}

// TestRefusals: a refused write is an error that explains the mistake. Nothing is written, and the
// server is asked at most once, or twice where leftovers could be the cause.
func TestRefusals(t *testing.T) {
	t.Parallel()
	installPolicy(t)
	forEachFixture(t, some(t, kindCases()), firstAndLastMode, func(f *fixture) {
		f.refusesAll(toCreate)
		f.goesThrough(toUpdate, ensure.Created, ensure.Missing)
		f.refusesAll(toUpdate)
		f.requireFiveFreePasses("after refusals")
		f.goesThrough(toCreate, ensure.Updated, ensure.DesiredChanged)
	})
}

func (f *fixture) refusesAll(operation string) {
	f.t.Helper()
	whole := f.desired
	defer func() { f.desired = whole }()
	for _, r := range refusals {
		if r.only != "" && r.only != operation || r.property == policy && f.isExemptFromPolicies() {
			continue
		}
		f.desired = whole
		spoiled, path := r.makeInvalid(f)
		if spoiled == nil {
			continue
		}
		f.desired = func() client.Object { return spoiled.DeepCopyObject().(client.Object) }
		f.isRefused(r, operation, path)
		f.noteShown(r.property)
	}
}

// requireTold: the policy's sentence is in the error, and no value of a Secret is.
func (f *fixture) requireTold(err error, r refusal, about string) {
	f.t.Helper()
	_, isSecret := f.desired().(*corev1.Secret)
	switch {
	case isSecret || f.desired().GetObjectKind().GroupVersionKind().Kind == "Secret":
		require.NotContains(f.t, err.Error(), secretText, about)
	case r.property == policy:
		require.ErrorContains(f.t, err, "denied request: not "+secretText, about)
	}
}

func (f *fixture) isRefused(r refusal, operation, path string) {
	f.t.Helper()
	about := r.property + ", to " + operation + " " + r.only
	before := f.find()
	if before != nil {
		f.awaitCached(before)
	}
	_, requests, err := f.try()
	require.ErrorIs(f.t, err, r.class, about)
	f.requireTold(err, r, about)
	require.Equal(f.t, r.reason, ensure.Reason(err), about)
	var e *ensure.Error
	require.ErrorAs(f.t, err, &e)
	require.Contains(f.t, strings.Join(e.Paths, " "), path, about)
	f.requireAsked(requests, r, operation, e)
	f.requireUnmoved(before, about)
}

// requireAsked requires one request. If the server refused an update because of fields of the
// content, a read and dry runs follow, as leftovers of other programs may be the cause.
func (f *fixture) requireAsked(requests []cluster.Request, r refusal, operation string, err *ensure.Error) {
	f.t.Helper()
	counts := cluster.Counts(requests)
	patches := 1
	if r.local {
		patches = 0
	}
	require.Equal(f.t, patches, counts["patch "+f.resource], "%s: the server saw %v", r.property, requests)
	if operation != toUpdate || !apierrors.IsInvalid(err) || len(err.Paths) == 0 || strings.HasPrefix(err.Paths[0], "metadata") {
		f.requireRequests(requests, patches, 0, r.property, operation)
		return
	}
	require.LessOrEqual(f.t, writes(requests), immutableRequests, "%s: the server saw %v", r.property, requests)
	require.Equal(f.t, f.access.reads+1, len(requests)-writes(requests), "%s: the server saw %v", r.property, requests)
	require.LessOrEqual(f.t, counts["create "+f.resource+" (dry run)"], 1, "%s: the server saw %v", r.property, requests)
}

// requireUnmoved requires that nothing was written. Where no controller writes the status, the
// resourceVersion is unchanged, too.
func (f *fixture) requireUnmoved(before client.Object, about string) {
	f.t.Helper()
	after := f.find()
	if before == nil {
		require.Nil(f.t, after, about)
		return
	}
	require.NotNil(f.t, after, about)
	f.requireSame(before, after, about)
	if f.settled == nil {
		require.Equal(f.t, before.GetResourceVersion(), after.GetResourceVersion(), about)
	}
	require.Equal(f.t, before.GetUID(), after.GetUID(), about)
}

// find returns the live object, or nil.
func (f *fixture) find() client.Object {
	f.t.Helper()
	obj := f.empty()
	err := f.admin.Get(f.ctx, client.ObjectKeyFromObject(obj), obj)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(f.t, err)
	return obj
}

// untyped returns desired as a program without Go types would write it.
func (f *fixture) untyped(desired client.Object) *unstructured.Unstructured {
	f.t.Helper()
	gvk, err := apiutil.GVKForObject(desired, scheme)
	require.NoError(f.t, err)
	data, err := json.Marshal(desired)
	require.NoError(f.t, err)
	out := &unstructured.Unstructured{}
	require.NoError(f.t, json.Unmarshal(data, &out.Object))
	out.SetGroupVersionKind(gvk)
	delete(out.Object, "status")
	return out
}

func (f *fixture) withUnknownField() (client.Object, string) {
	u := f.untyped(f.desired())
	if _, ok := u.Object["spec"].(map[string]any); ok {
		set(u, secretText, "spec", "nonsuch")
		return u, "spec.nonsuch"
	}
	set(u, secretText, "nonsuch")
	return u, "nonsuch"
}

// withWrongType has an object where the first scalar of the content is.
func (f *fixture) withWrongType() (client.Object, string) {
	u := f.untyped(f.desired())
	for _, name := range slices.Sorted(maps.Keys(u.Object)) {
		if name == "apiVersion" || name == "kind" || name == "metadata" {
			continue
		}
		u.Object[name] = mistype(u.Object[name])
		return u, ""
	}
	u.Object["spec"] = secretText
	return u, ""
}

func mistype(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			v[key] = mistype(v[key])
			return v
		}
		return secretText
	case []any:
		if len(v) > 0 {
			v[0] = mistype(v[0])
			return v
		}
		return secretText
	}
	return map[string]any{secretText: secretText}
}

// withDuplicateKey repeats the first item of the first list with keys that Go knows of.
func (f *fixture) withDuplicateKey() (client.Object, string) {
	desired := f.desired()
	list := repeatFirst(reflect.ValueOf(desired).Elem())
	if list == "" {
		return nil, ""
	}
	return desired, list + "["
}

// withDuplicateKeyUntyped leaves duplicates for the server to find.
func (f *fixture) withDuplicateKeyUntyped() (client.Object, string) {
	desired := f.desired()
	if g, ok := desired.(*Gadget); ok {
		g.Spec.Parts = append(g.Spec.Parts, g.Spec.Parts[0])
		return desired, ""
	}
	u, ok := desired.(*unstructured.Unstructured)
	if parts, found, _ := unstructured.NestedSlice(f.untyped(desired).Object, "spec", "parts"); ok && found {
		set(u, append(parts, parts[0]), "spec", "parts")
		return u, ""
	}
	if list := repeatFirst(reflect.ValueOf(desired).Elem()); list == "" {
		return nil, ""
	}
	return f.untyped(desired), ""
}

// repeatFirst returns the name of the list, or nothing.
func repeatFirst(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return repeatFirst(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if list := repeatFirst(v.Index(i)); list != "" {
				return list
			}
		}
	case reflect.Struct:
		return repeatFirstIn(v)
	default:
	}
	return ""
}

func repeatFirstIn(v reflect.Value) string {
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		if !field.IsExported() || field.Type == reflect.TypeFor[metav1.ObjectMeta]() {
			continue
		}
		if field.Tag.Get("patchMergeKey") != "" && value.Len() > 0 {
			value.Set(reflect.Append(value, value.Index(0)))
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			return name
		}
		if list := repeatFirst(value); list != "" {
			return list
		}
	}
	return ""
}

func (f *fixture) withBadLabel() (client.Object, string) {
	desired := f.desired()
	desired.SetLabels(with(desired.GetLabels(), ours, "not a label: "+secretText))
	return desired, "metadata.labels"
}

func (f *fixture) withBadValue() (client.Object, string) {
	bad, ok := badValues[f.name]
	if !ok {
		return nil, ""
	}
	desired := f.desired()
	bad.do(desired)
	return desired, bad.name
}

// isExemptFromPolicies: policies do not apply to policies and their bindings.
func (f *fixture) isExemptFromPolicies() bool {
	switch f.desired().(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		return true
	}
	return false
}

// goesThrough requires that an operation that the policy permits succeeds, and the other one, too,
// once the policy permits it.
func (f *fixture) goesThrough(refused string, want ensure.Operation, cause ensure.Cause) {
	f.t.Helper()
	if f.isExemptFromPolicies() {
		refused = both
		f.excepts(policy, "the server asks no policy about policies and their bindings", "")
	}
	whole := f.desired
	f.desired = func() client.Object {
		desired := whole()
		desired.SetLabels(with(desired.GetLabels(), refuse, refused))
		return desired
	}
	res, requests := f.pass()
	f.requireOperation(res, want, cause, "beside the policy")
	f.requireWrites(requests, 1, "beside the policy")
	f.awaitControllers() // what they write raises a question, which the policy would refuse

	f.desired = whole
	res, requests = f.pass()
	f.requireOperation(res, ensure.Updated, ensure.DesiredChanged, "without the policy")
	f.requireWrites(requests, 1, "without the policy")
	f.requireFiveFreePasses("without the policy")
	f.noteShown(withoutPolicy)
}

// badValues are mistakes that only the server finds, each with the path that the error must
// contain.
var badValues = map[string]edit{
	"Deployment":            on("spec.replicas", func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(-1)) }),
	"StatefulSet":           on("spec.replicas", func(s *appsv1.StatefulSet) { s.Spec.Replicas = new(int32(-1)) }),
	"DaemonSet":             on("spec.minReadySeconds", func(d *appsv1.DaemonSet) { d.Spec.MinReadySeconds = -1 }),
	"ReplicaSet":            on("spec.replicas", func(r *appsv1.ReplicaSet) { r.Spec.Replicas = new(int32(-1)) }),
	"ReplicationController": on("spec.replicas", func(r *corev1.ReplicationController) { r.Spec.Replicas = new(int32(-1)) }),
	"PodTemplate":           on("template.spec.restartPolicy", func(p *corev1.PodTemplate) { p.Template.Spec.RestartPolicy = secretText }),
	"Pod":                   on("spec.activeDeadlineSeconds", func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = new(int64(-1)) }),
	"Job":                   on("spec.parallelism", func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(-1)) }),
	"CronJob":               on("spec.schedule", func(c *batchv1.CronJob) { c.Spec.Schedule = secretText }),
	"HorizontalPodAutoscaler": on("spec.maxReplicas", func(h *autoscalingv2.HorizontalPodAutoscaler) {
		h.Spec.MaxReplicas = -1
	}),
	"PodDisruptionBudget": on("spec.minAvailable", func(p *policyv1.PodDisruptionBudget) {
		p.Spec.MinAvailable = new(intstr.FromString(secretText))
	}),
	"PriorityClass": on("value", func(p *schedulingv1.PriorityClass) { p.Value = 2_000_000_000 }),
	"RuntimeClass": on("overhead", func(r *nodev1.RuntimeClass) {
		r.Overhead.PodFixed[corev1.ResourceCPU] = resource.MustParse("-1")
	}),
	"FlowSchema": on("spec.matchingPrecedence", func(f *flowcontrolv1.FlowSchema) { f.Spec.MatchingPrecedence = -1 }),
	"PriorityLevelConfiguration": on("spec.limited.limitResponse.queuing", func(p *flowcontrolv1.PriorityLevelConfiguration) {
		p.Spec.Limited.LimitResponse.Queuing.HandSize = 99
	}),
	"ConfigMap": on("data[no key]", func(c *corev1.ConfigMap) { c.Data["no key"] = secretText }),
	"Secret":    on("data[no key]", func(s *corev1.Secret) { s.Data["no key"] = []byte(secretText) }),
	"ResourceQuota": on("spec.hard[pods]", func(r *corev1.ResourceQuota) {
		r.Spec.Hard[corev1.ResourcePods] = resource.MustParse("-1")
	}),
	"LimitRange": on("spec.limits[0].min[cpu]", func(l *corev1.LimitRange) {
		l.Spec.Limits[0].Min[corev1.ResourceCPU] = resource.MustParse("99")
	}),
	"Lease":                        on("spec.leaseDurationSeconds", func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = new(int32(-1)) }),
	"Service":                      on("spec.ports[0].targetPort", badTargetPort),
	"Service of type ClusterIP":    on("spec.ports[0].targetPort", badTargetPort),
	"Service of type LoadBalancer": on("spec.ports[0].targetPort", badTargetPort),
	"headless Service":             on("spec.sessionAffinity", func(s *corev1.Service) { s.Spec.SessionAffinity = secretText }),
	"Service of type ExternalName": on("spec.externalName", func(s *corev1.Service) { s.Spec.ExternalName = secretText + "!" }),
	"EndpointSlice":                on("endpoints[0].addresses[0]", func(e *discoveryv1.EndpointSlice) { e.Endpoints[0].Addresses[0] = secretText }),
	"Ingress":                      on("spec.rules[0].host", func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = secretText + "!" }),
	"IngressClass":                 on("spec.parameters.kind", func(i *networkingv1.IngressClass) { i.Spec.Parameters.Kind = "" }),
	"NetworkPolicy": on("spec.ingress[0].ports[0].port", func(p *networkingv1.NetworkPolicy) {
		p.Spec.Ingress[0].Ports[0].Port = new(intstr.FromInt32(70000))
	}),
	"NetworkPolicy that closes": on("spec.policyTypes[0]", func(p *networkingv1.NetworkPolicy) { p.Spec.PolicyTypes[0] = secretText }),
	"NetworkPolicy that opens":  on("spec.policyTypes[0]", func(p *networkingv1.NetworkPolicy) { p.Spec.PolicyTypes = []networkingv1.PolicyType{secretText} }),
	"PersistentVolume": on("spec.capacity[storage]", func(v *corev1.PersistentVolume) {
		v.Spec.Capacity[corev1.ResourceStorage] = resource.MustParse("-1")
	}),
	"PersistentVolumeClaim": on("spec.resources[storage]", func(p *corev1.PersistentVolumeClaim) {
		p.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("-1")
	}),
	"StorageClass": on("reclaimPolicy", func(s *storagev1.StorageClass) {
		s.ReclaimPolicy = new(corev1.PersistentVolumeReclaimPolicy(secretText))
	}),
	"CSIDriver": on("spec.tokenRequests[1].expirationSeconds", func(d *storagev1.CSIDriver) {
		d.Spec.TokenRequests[1].ExpirationSeconds = new(int64(1))
	}),
	"Role":        on("rules[0].verbs", func(r *rbacv1.Role) { r.Rules[0].Verbs = []string{} }),
	"ClusterRole": on("rules[0].verbs", func(r *rbacv1.ClusterRole) { r.Rules[0].Verbs = []string{} }),
	"aggregated ClusterRole": on("aggregationRule.clusterRoleSelectors", func(r *rbacv1.ClusterRole) {
		r.AggregationRule.ClusterRoleSelectors = []metav1.LabelSelector{}
	}),
	"RoleBinding": on("subjects[0].kind", func(r *rbacv1.RoleBinding) { r.Subjects[0].Kind = secretText }),
	"ClusterRoleBinding": on("subjects[0].kind", func(r *rbacv1.ClusterRoleBinding) {
		r.Subjects = []rbacv1.Subject{{Kind: secretText, Name: "nobody"}}
	}),
	"CustomResourceDefinition": on("spec.scope", func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Scope = secretText }),
	"unstructured APIService": on("spec.versionPriority", func(u *unstructured.Unstructured) {
		set(u, int64(-1), "spec", "versionPriority")
	}),
	"ValidatingWebhookConfiguration": on("webhooks[0].timeoutSeconds", func(v *admissionregistrationv1.ValidatingWebhookConfiguration) {
		v.Webhooks[0].TimeoutSeconds = new(int32(99))
	}),
	"MutatingWebhookConfiguration": on("webhooks[0].timeoutSeconds", func(m *admissionregistrationv1.MutatingWebhookConfiguration) {
		m.Webhooks[0].TimeoutSeconds = new(int32(99))
	}),
	"ValidatingAdmissionPolicy": on("spec.validations[0].expression", func(p *admissionregistrationv1.ValidatingAdmissionPolicy) {
		p.Spec.Validations[0].Expression = secretText + " +"
	}),
	"ValidatingAdmissionPolicyBinding": on("spec.validationActions[0]", func(p *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
		p.Spec.ValidationActions[0] = secretText
	}),
}

func badTargetPort(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(70000) }
