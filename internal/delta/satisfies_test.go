package delta_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/delta"
)

// podWith returns a pod whose only container is c.
func podWith(c corev1.Container) *corev1.Pod {
	c.Name = "app"
	return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{c}}}
}

// database is a custom kind.
type database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              databaseSpec `json:"spec"`
}

type databaseSpec struct {
	Timeout metav1.Duration `json:"timeout"`
	Users   []string        `json:"users,omitempty"`
}

func (d *database) DeepCopyObject() runtime.Object { copied := *d; return &copied }

func unstructuredOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(t, json.Unmarshal([]byte(text), &u.Object))
	return u
}

func env(names ...string) (vars []corev1.EnvVar) {
	for _, name := range names {
		vars = append(vars, corev1.EnvVar{Name: name, Value: "of " + name})
	}
	return vars
}

func meta(labels map[string]string, finalizers ...string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Labels: labels, Finalizers: finalizers}
}

// Satisfies decides and Unsatisfied tells where; each case is tried on both.
func TestSatisfies(t *testing.T) {
	t.Parallel()
	policy := func(ingress []networkingv1.NetworkPolicyIngressRule) *networkingv1.NetworkPolicy {
		return &networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{Ingress: ingress}}
	}
	ports := func(ports ...corev1.ServicePort) *corev1.Service {
		return &corev1.Service{Spec: corev1.ServiceSpec{Ports: ports}}
	}
	limits := func(text string) *corev1.Pod {
		return podWith(corev1.Container{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse(text)}}})
	}
	lease := func(at time.Time) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: new(metav1.NewMicroTime(at))}}
	}
	spread := func(when ...corev1.UnsatisfiableConstraintAction) *corev1.Pod {
		pod := &corev1.Pod{}
		for _, w := range when {
			pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{TopologyKey: "zone", WhenUnsatisfiable: w})
		}
		return pod
	}
	cases := map[string]struct {
		reason        string
		live, desired canon.Object
		unsatisfied   []string
	}{
		"defaults": {
			"what desired leaves out is the server's",
			podWith(corev1.Container{ImagePullPolicy: "Always", Image: "a"}),
			podWith(corev1.Container{Image: "a"}),
			nil,
		},
		"a changed value": {
			"is drift",
			podWith(corev1.Container{Image: "b"}),
			podWith(corev1.Container{Image: "a"}),
			[]string{"spec.containers[name=app].image"},
		},
		"a removed value": {
			"is drift",
			&appsv1.Deployment{},
			&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](0)}},
			[]string{"spec.replicas"},
		},
		"foreign labels": {
			"may be there",
			&corev1.Pod{ObjectMeta: meta(map[string]string{"a": "1", "x": "2"}, "f", "g")},
			&corev1.Pod{ObjectMeta: meta(map[string]string{"a": "1"}, "g")},
			nil,
		},
		"our labels": {
			"must be there",
			&corev1.Pod{ObjectMeta: meta(map[string]string{"a": "2"}, "f")},
			&corev1.Pod{ObjectMeta: meta(map[string]string{"a": "1", "b": ""}, "g")},
			[]string{"metadata.finalizers[g]", "metadata.labels[a]", "metadata.labels[b]"},
		},
		"finalizer order": {"finalizers are a set", &corev1.Pod{ObjectMeta: meta(nil, "f", "g")}, &corev1.Pod{ObjectMeta: meta(nil, "g", "f")}, nil},
		"empty maps": {
			"are satisfied by absence",
			&corev1.ConfigMap{},
			&corev1.ConfigMap{Data: map[string]string{}, ObjectMeta: meta(map[string]string{})},
			nil,
		},
		"status": {"is nobody's wish", &corev1.Pod{}, &corev1.Pod{Status: corev1.PodStatus{Phase: "Running"}}, nil},
		"name": {
			"is how live was found",
			&corev1.Pod{},
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "y", UID: "u"}},
			nil,
		},
		"digests": {
			"are annotations like others",
			&corev1.Pod{},
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{canon.DigestPrefix + "o": "1"}}},
			[]string{"metadata.annotations[spec-hash.trueup-go.github.io/o]"},
		},
		"foreign env": {
			"a keyed list may hold more",
			podWith(corev1.Container{Env: env("X", "A", "Y", "B")}),
			podWith(corev1.Container{Env: env("A", "B")}),
			nil,
		},
		"missing env": {
			"but not less",
			podWith(corev1.Container{Env: env("A")}),
			podWith(corev1.Container{Env: env("A", "B")}),
			[]string{"spec.containers[name=app].env[name=B]"},
		},
		"env order": {
			"later variables may use earlier ones",
			podWith(corev1.Container{Env: env("B", "A")}),
			podWith(corev1.Container{Env: env("A", "B")}),
			[]string{"spec.containers[name=app].env"},
		},
		"an empty keyed list": {"asks for nothing", podWith(corev1.Container{Env: env("A")}), podWith(corev1.Container{Env: []corev1.EnvVar{}}), nil},
		"args": {
			"match item by item",
			podWith(corev1.Container{Args: []string{"a", "x"}}),
			podWith(corev1.Container{Args: []string{"a", "b"}}),
			[]string{"spec.containers[name=app].args[1]"},
		},
		"more args": {
			"and in length",
			podWith(corev1.Container{Args: []string{"a", "b"}}),
			podWith(corev1.Container{Args: []string{"a"}}),
			[]string{"spec.containers[name=app].args[1]"},
		},
		"no args": {"[] is satisfied by absence", podWith(corev1.Container{}), podWith(corev1.Container{Args: []string{}}), nil},
		"opened policy": {
			"[] is not satisfied by a rule",
			policy([]networkingv1.NetworkPolicyIngressRule{{}}),
			policy([]networkingv1.NetworkPolicyIngressRule{}),
			[]string{"spec.ingress[0]"},
		},
		"closed policy": {"[] is", policy(nil), policy([]networkingv1.NetworkPolicyIngressRule{}), nil},
		"an empty pointer": {
			"is a value",
			&corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "v"}}}},
			&corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}}},
			[]string{"spec.volumes[name=v].emptyDir"},
		},
		"two protocols": {
			"are two ports",
			ports(corev1.ServicePort{Port: 53, Protocol: "TCP"}, corev1.ServicePort{Port: 53, Protocol: "UDP", NodePort: 1}),
			ports(corev1.ServicePort{Port: 53, Protocol: "UDP", NodePort: 2}),
			[]string{"spec.ports[port=53,protocol=UDP].nodePort"},
		},
		"the default protocol": {"is TCP", ports(corev1.ServicePort{Port: 53, Protocol: "TCP"}), ports(corev1.ServicePort{Port: 53}), nil},
		"a missing port": {
			"",
			ports(corev1.ServicePort{Port: 80}),
			ports(corev1.ServicePort{Port: 80, Protocol: "UDP"}),
			[]string{"spec.ports[port=80,protocol=UDP]"},
		},
		"spread constraints": {"two of one key", spread("DoNotSchedule", "ScheduleAnyway"), spread("ScheduleAnyway"), nil},
		"another constraint": {
			"of one key",
			spread("DoNotSchedule"),
			spread("ScheduleAnyway"),
			[]string{"spec.topologySpreadConstraints[topologyKey=zone,whenUnsatisfiable=ScheduleAnyway]"},
		},
		"quantities":       {"compare as the API writes them", limits("1"), limits("1000m"), nil},
		"other quantities": {"differ", limits("2"), limits("1000m"), []string{"spec.containers[name=app].resources.limits[cpu]"}},
		"times":            {"compare at the API's precision", lease(time.Unix(1, 1500)), lease(time.Unix(1, 1999).UTC()), nil},
		"other times":      {"differ", lease(time.Unix(1, 1500)), lease(time.Unix(1, 2000)), []string{"spec.renewTime"}},
		"a Secret": {
			"stringData is data",
			&corev1.Secret{Data: map[string][]byte{"k": []byte("v")}},
			&corev1.Secret{StringData: map[string]string{"k": "v"}},
			nil,
		},
		"another Secret": {
			"",
			&corev1.Secret{Data: map[string][]byte{"k": []byte("w")}},
			&corev1.Secret{StringData: map[string]string{"k": "v"}},
			[]string{"data[k]"},
		},
		"empty bytes": {"the key must be there", &corev1.Secret{}, &corev1.Secret{Data: map[string][]byte{"k": nil}}, []string{"data[k]"}},
		"nil bytes": {
			"are empty bytes",
			&corev1.Secret{Data: map[string][]byte{"k": {}}},
			&corev1.Secret{Data: map[string][]byte{"k": nil}},
			nil,
		},
		"invalid text": {
			"the server keeps U+FFFD",
			&corev1.ConfigMap{Data: map[string]string{"k": "a\ufffd"}},
			&corev1.ConfigMap{Data: map[string]string{"k": "a\xff"}},
			nil,
		},
		"owners": {
			"are found by UID",
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: "b"}, {UID: "a", Name: "x"}}}},
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: "a", Name: "y"}}}},
			[]string{"metadata.ownerReferences[uid=a].name"},
		},
		"a custom struct": {"", &database{Spec: databaseSpec{Timeout: metav1.Duration{Duration: 1}}}, &database{}, []string{"spec.timeout"}},
		"a custom list": {
			"is atomic as far as can be seen",
			&database{Spec: databaseSpec{Users: []string{"a", "b"}}},
			&database{Spec: databaseSpec{Users: []string{"a"}}},
			[]string{"spec.users[1]"},
		},
		"unstructured": {
			"maps may have more keys",
			unstructuredOf(t, `{"spec":{"a":{"b":1,"c":2},"n":1.0}}`),
			unstructuredOf(t, `{"spec":{"a":{"c":2,"d":null},"l":[],"n":1}}`),
			nil,
		},
		"unstructured {}": {
			"may be all there is to it",
			unstructuredOf(t, `{"spec":{}}`),
			unstructuredOf(t, `{"spec":{"emptyDir":{}}}`),
			[]string{"spec.emptyDir"},
		},
		"an empty env value": {
			"is a statement",
			podWith(corev1.Container{Env: []corev1.EnvVar{{Name: "A", Value: "x"}, {Name: "B", ValueFrom: &corev1.EnvVarSource{}}, {Name: "C"}}}),
			podWith(corev1.Container{Env: []corev1.EnvVar{{Name: "A"}, {Name: "B"}, {Name: "C"}}}),
			[]string{"spec.containers[name=app].env[name=A].value", "spec.containers[name=app].env[name=B].value"},
		},
		"an unstructured empty env value": {
			"likewise",
			unstructuredOf(t, `{"apiVersion":"v1","spec":{"containers":[{"env":[{"name":"A","value":"x"},{"name":"B","valueFrom":{}},{"name":"C"},{"name":"D"}]}]}}`),
			unstructuredOf(t, `{"apiVersion":"v1","spec":{"containers":[{"env":[{"name":"A"},{"name":"B","value":""},{"name":"C","value":""},{"name":"D"}]}]}}`),
			[]string{"spec.containers[0].env[0].value", "spec.containers[0].env[1].value"},
		},
		"a source of an env value": {
			"says nothing of a value",
			podWith(corev1.Container{Env: []corev1.EnvVar{{Name: "A", Value: "x", ValueFrom: &corev1.EnvVarSource{}}}}),
			podWith(corev1.Container{Env: []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{}}}}),
			nil,
		},
		"null of a built-in kind": {
			"means nothing",
			unstructuredOf(t, `{"apiVersion":"v1","a":1}`),
			unstructuredOf(t, `{"apiVersion":"v1","a":null,"b":null}`),
			nil,
		},
		"null of a custom kind": {
			"is a value",
			unstructuredOf(t, `{"apiVersion":"example.org/v1","a":null,"b":1,"d":null,"m":{},"l":[null,1],"metadata":{"labels":{"a":"b"}}}`),
			unstructuredOf(t, `{"apiVersion":"example.org/v1","a":null,"b":null,"c":null,"d":1,"m":null,"l":[1,null],"metadata":{"labels":null}}`),
			[]string{"b", "c", "d", "l[0]", "l[1]", "m"},
		},
		"null in free-form content": {
			"likewise",
			&gauge{Spec: gaugeSpec{Raw: runtime.RawExtension{Raw: []byte(`{"a":null,"b":1}`)}, Free: map[string]any{"a": nil, "b": 1, "d": nil}}},
			&gauge{Spec: gaugeSpec{Raw: runtime.RawExtension{Raw: []byte(`{"a":null,"b":null}`)}, Free: map[string]any{"a": nil, "b": nil, "c": nil, "d": 1}}},
			[]string{"spec.free[b]", "spec.free[c]", "spec.free[d]", "spec.raw.b"},
		},
		"unstructured lists": {
			"are atomic as far as can be seen",
			unstructuredOf(t, `{"spec":{"l":[{"a":1,"b":2},{"c":3}]}}`),
			unstructuredOf(t, `{"spec":{"l":[{"a":2}]}}`),
			[]string{"spec.l[0].a", "spec.l[1]"},
		},
		"unstructured metadata": {
			"is merged", unstructuredOf(t, `{"metadata":{"labels":{"a":"1"},"finalizers":["f","g"],"ownerReferences":[{"uid":"x"},{"uid":"y","name":"n"}]}}`),
			unstructuredOf(t, `{"metadata":{"labels":{"a":"1"},"annotations":{},"finalizers":["g","f"],"ownerReferences":[{"uid":"y"}]}}`), nil,
		},
		"unstructured labels": {
			"",
			unstructuredOf(t, `{"metadata":{}}`),
			unstructuredOf(t, `{"metadata":{"labels":{"a.b/c":"1"},"ownerReferences":[{"uid":"y"}]}}`),
			[]string{"metadata.labels[a.b/c]", "metadata.ownerReferences"},
		},
		"an odd key": {"", unstructuredOf(t, `{"spec":{"a.b/c":1}}`), unstructuredOf(t, `{"spec":{"a.b/c":2}}`), []string{"spec[a.b/c]"}},
		"two types":  {"cannot be compared", &corev1.Pod{}, &corev1.Secret{}, []string{""}},
		"nil":        {"cannot be compared", nil, &corev1.Pod{}, []string{""}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, len(c.unsatisfied) == 0, delta.Satisfies(c.live, c.desired, nobodys), c.reason)
			if diff := cmp.Diff(c.unsatisfied, pathsOf(delta.Unsatisfied(c.live, c.desired, nobodys))); diff != "" {
				t.Errorf("%s: -want +got\n%s", c.reason, diff)
			}
		})
	}
}

func pathsOf(changes []delta.Change) (found []string) {
	for _, change := range changes {
		found = append(found, change.Path)
	}
	return found
}

// Comparing must not write to its arguments: they may belong to a cache. Methods
// of Quantity do.
func TestSatisfiesOnlyReads(t *testing.T) {
	t.Parallel()
	pod := func(text string) *corev1.Pod {
		return podWith(corev1.Container{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse(text)}}})
	}
	live, desired := pod("1"), pod("1")
	big := resource.MustParse("1")
	big.AsDec()
	desired.Spec.Containers[0].Resources.Limits["cpu"] = big
	liveBefore, desiredBefore := live.DeepCopy(), desired.DeepCopy()
	require.True(t, delta.Satisfies(live, desired, nobodys))
	require.True(t, delta.Satisfies(desired, live, nobodys))
	require.Equal(t, liveBefore, live)
	require.Equal(t, desiredBefore, desired)
}
