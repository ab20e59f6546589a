package canon_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trueup-go/trueup/internal/canon"
)

// database is a custom kind: what is empty in it may mean something.
type database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              databaseSpec   `json:"spec"`
	Status            databaseStatus `json:"status,omitempty"`
}

type databaseSpec struct {
	Tuning  struct{}                    `json:"tuning"`
	Timeout metav1.Duration             `json:"timeout"`
	Size    resource.Quantity           `json:"size"`
	Users   []string                    `json:"users,omitempty"`
	Options map[string]string           `json:"options"`
	Pod     corev1.ResourceRequirements `json:"pod"`
	Since   metav1.Time                 `json:"since"`
	Replica *int32                      `json:"replica"`
}

type databaseStatus struct {
	Phase string `json:"phase"`
}

func (d *database) DeepCopyObject() runtime.Object { copied := *d; return &copied }

func TestAppend(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		value  any
		want   string
	}{
		"nil":   {"no value is null", nil, `null`},
		"bytes": {"base64, as in the API", []byte("\x00\xff"), `"AP8="`},
		"text":  {"HTML is no concern here", `<a href="x">&</a>`, `"<a href=\"x\">&</a>"`},
		"runes": {"the server reads bodies as YAML", "é\x00\n\x7f\u0085\u2028\uFFFE𝄞\xff", `"\u00e9\u0000\u000a\u007f\u0085\u2028\ufffe𝄞\ufffd"`},
		"integers": {
			"in full",
			[]any{int64(-1), uint64(18446744073709551615), json.Number("123456789012345678901234567890")},
			`[-1,18446744073709551615,123456789012345678901234567890]`,
		},
		"floats": {"integral ones are integers", []float64{1, -0.5, 1e6, 1e21, 1e-7, 0.1}, `[1,-0.5,1000000,1000000000000000000000,1e-7,0.1]`},
		"number texts": {
			"the value counts, not how it is written",
			runtime.RawExtension{Raw: []byte(`[1.0, 1e3, -0, -0.0, 1e21, 0.10]`)},
			`[1,1000,0,0,1000000000000000000000,0.1]`,
		},
		"quantity without a suffix": {
			"apimachinery up to v0.37 writes 100",
			[]resource.Quantity{resource.MustParse("100000E"), resource.MustParse("1e23"), resource.MustParse("100")},
			`["100e21","100e21","100"]`,
		},
		"quantities": {
			"1000m is 1",
			map[string]resource.Quantity{
				"a": resource.MustParse("1000m"), "b": resource.MustParse("1024Mi"), "c": resource.MustParse("1.250"),
				"d": resource.MustParse("0"), "e": *resource.NewQuantity(5000, resource.BinarySI),
			},
			`{"a":"1","b":"1Gi","c":"1250m","d":"0","e":"5k"}`,
		},
		"times": {
			"UTC, at the API's precision",
			[]any{metav1.NewTime(time.Unix(0, 999).In(time.FixedZone("", 3600))), metav1.NewMicroTime(time.Unix(0, 999_999)), metav1.Time{}},
			`["1970-01-01T00:00:00Z","1970-01-01T00:00:00.000999Z",null]`,
		},
		"ports": {"IntOrString is one or the other", []intstr.IntOrString{intstr.FromInt32(80), intstr.FromString("80")}, `[80,"80"]`},
		"raw JSON": {
			"parsed and in order",
			runtime.RawExtension{Raw: []byte(`{"b": [ {"z":1,"a":null} ], "a": {}, "n": null}`)},
			`{"a":{},"b":[{"a":null,"z":1}],"n":null}`,
		},
		"raw object": {
			"RawExtension may hold an object",
			runtime.RawExtension{Object: &corev1.ConfigMap{Data: map[string]string{"k": "v"}}},
			`{"data":{"k":"v"}}`,
		},
		"map order": {"by name", map[string]int{"b": 1, "a": 2, "B": 3}, `{"B":3,"a":2,"b":1}`},
		"nil in a map": {
			"its key is there, so it is the empty value",
			map[string]any{"bytes": map[string][]byte{"k": nil}, "lists": map[string][]string{"k": nil}, "maps": map[string]map[string]string{"k": nil}},
			`{"bytes":{"k":""},"lists":{"k":[]},"maps":{"k":{}}}`,
		},
		"nil pointer in a map": {"no value", map[string]*int{"a": nil, "b": new(1)}, `{"b":1}`},
		"null in a map of anything": {
			"a value",
			[]any{
				map[string]any{"a": nil, "b": map[string]any{"c": nil}},
				map[string]apiextensionsv1.JSON{"a": {Raw: []byte("null")}, "b": {Raw: []byte(`{"c":null}`)}},
				map[string]runtime.RawExtension{"a": {Raw: []byte("null")}},
			},
			`[{"a":null,"b":{"c":null}},{"a":null,"b":{"c":null}},{"a":null}]`,
		},
		"null creationTimestamp": {
			"no value: older versions of apimachinery write it of every template",
			map[string]any{"metadata": map[string]any{"creationTimestamp": nil, "name": "x"}},
			`{"metadata":{"name":"x"}}`,
		},
		"null in a field": {"no value", apiextensionsv1.JSONSchemaProps{Default: &apiextensionsv1.JSON{Raw: []byte("null")}}, `{}`},
		"null in a list":  {"a value: it has a place", []any{nil, []string(nil)}, `[null,null]`},
		"zero in a map":   {"a value", corev1.ResourceList{"cpu": {}}, `{"cpu":"0"}`},
		"an API struct": {
			"what is empty means nothing",
			corev1.Container{Name: "app", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{}}},
			`{"name":"app"}`,
		},
		"zero API fields": {
			"an optional port or divisor that nobody gave",
			[]any{corev1.ServicePort{Port: 80}, corev1.ResourceFieldSelector{Resource: "limits.cpu"}},
			`[{"port":80},{"resource":"limits.cpu"}]`,
		},
		"a required field": {"the tag says it is always there", corev1.EnvVar{}, `{"name":""}`},
		"empty pointers": {
			"emptyDir: {} is a volume",
			corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			`{"emptyDir":{},"name":"tmp"}`,
		},
		"everything selected": {
			"podSelector: {} selects all, namespaceSelector: {} too, and ingress: [] lets nothing in",
			networkingv1.NetworkPolicySpec{
				Ingress: []networkingv1.NetworkPolicyIngressRule{},
				Egress:  []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}}}},
			},
			`{"egress":[{"to":[{"namespaceSelector":{}}]}],"ingress":[],"podSelector":{}}`,
		},
		"empty lists": {
			"none, which is not no opinion",
			[]any{corev1.Container{Args: []string{}}, corev1.Container{}},
			`[{"args":[],"name":""},{"name":""}]`,
		},
		"a custom struct": {
			"its schema may require what is empty",
			databaseSpec{Users: []string{}},
			`{"pod":{},"size":"0","timeout":"0s","tuning":{},"users":[]}`,
		},
		"a custom struct's maps": {
			"as encoding/json has them",
			databaseSpec{Options: map[string]string{}},
			`{"options":{},"pod":{},"size":"0","timeout":"0s","tuning":{}}`,
		},
		"template metadata": {
			"an embedded ObjectMeta is a struct like another",
			corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Name: "x", Generation: 2}},
			`{"metadata":{"generation":2,"name":"x"}}`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := canon.Append([]byte("> "), c.value)
			require.NoError(t, err)
			if diff := cmp.Diff("> "+c.want, string(got)); diff != "" {
				t.Errorf("%s: -want +got\n%s", c.reason, diff)
			}
		})
	}
}

// Quantities print as the API prints them, whatever they were made from.
func TestQuantities(t *testing.T) {
	t.Parallel()
	formats := []resource.Format{resource.DecimalSI, resource.BinarySI, resource.DecimalExponent, ""}
	values := []int64{
		0, 1, -1, 7, 999, 1000, 1001, 1023, 1024, -1024, 1025, 1500, 2048, 1 << 20, 1 << 30, 3 << 40,
		1e6, 11e5, 1e15, 1 << 62, math.MaxInt64, math.MinInt64, 9223372036854775000,
	}
	for _, format := range formats {
		for _, value := range values {
			for scale := resource.Scale(-12); scale <= 21; scale++ {
				q := *resource.NewScaledQuantity(value, scale)
				q.Format = format
				requireQuantity(t, q)
			}
		}
	}
	for _, text := range []string{
		"0", "0m", "1e30", "1E6", "100n", "1.5Gi", "0.5Ki", "0.1", "12e6", "123456789.123456789", "9223372036854775807",
		"99999999999999999999", "-1.5", "+1", "1.250", "1Ei", "1000Ki", "1u",
	} {
		requireQuantity(t, resource.MustParse(text))
		dec := resource.MustParse(text)
		dec.AsDec()
		requireQuantity(t, dec)
	}
}

// requireQuantity requires the form that q has once the server has read it.
func requireQuantity(t *testing.T, q resource.Quantity) {
	t.Helper()
	got, err := canon.Append(nil, &q)
	require.NoError(t, err)
	read := resource.MustParse(canonical(q))
	if read.Cmp(q) != 0 {
		return // too large or too small for the API
	}
	require.Equal(t, `"`+canonical(read)+`"`, string(got))
}

func canonical(q resource.Quantity) string {
	copied := q.DeepCopy()
	number, suffix := copied.CanonicalizeBytes(nil)
	return string(number) + string(suffix)
}

func TestAppendObject(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		obj    canon.Object
		want   string
	}{
		"what only the server sets": {
			"is no part of it",
			&corev1.Pod{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "n", Name: "p", UID: "u", ResourceVersion: "7", Generation: 3, CreationTimestamp: metav1.Unix(1, 0),
					ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}, GenerateName: "g",
				},
				Status: corev1.PodStatus{Phase: corev1.PodRunning},
			}, `{"metadata":{"name":"p","namespace":"n"}}`,
		},
		"metadata": {
			"digests are no part of it",
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Labels: map[string]string{"b": "2", "a": "1"}, Annotations: map[string]string{canon.DigestPrefix + "owner": "v1-0", "x": "y"},
				Finalizers: []string{"z", "a"}, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "K", Name: "n", UID: "u", Controller: new(true)}},
			}}, `{"metadata":{"annotations":{"x":"y"},"finalizers":["z","a"],"labels":{"a":"1","b":"2"},"ownerReferences":[{"apiVersion":"v1","controller":true,"kind":"K","name":"n","uid":"u"}]}}`,
		},
		"only a digest": {
			"leaves nothing",
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{canon.DigestPrefix + "owner": "v1-0"}, Labels: map[string]string{}}}, `{}`,
		},
		"content outside spec": {
			"is content, in order with metadata",
			&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}}}}, `{"metadata":{"name":"r"},"rules":[{"verbs":["get"]}]}`,
		},
		"a Secret": {
			"stringData is data, and goes before it",
			&corev1.Secret{Immutable: new(false), Data: map[string][]byte{"a": []byte("old"), "b": nil}, StringData: map[string]string{"a": "new"}},
			`{"data":{"a":"bmV3","b":""},"immutable":false}`,
		},
		"an unstructured Secret": {
			"likewise",
			unstructuredOf(t, `{"apiVersion":"v1","kind":"Secret","data":{"b":""},"stringData":{"a":"new"}}`), `{"data":{"a":"bmV3","b":""}}`,
		},
		"stringData elsewhere": {
			"is what it says",
			unstructuredOf(t, `{"apiVersion":"example.org/v1","kind":"Secret","stringData":{"a":"new"}}`), `{"stringData":{"a":"new"}}`,
		},
		"unstructured": {
			"is read as the JSON it is",
			unstructuredOf(t, `{"kind":"K","spec":{"n":null,"e":{},"l":[],"f":1.5,"i":3,"nested":{"status":1}},"status":{"x":1},
				"metadata":{"uid":"u","name":"x","labels":{},"annotations":{"spec-hash.trueup-go.github.io/o":"1"},"finalizers":["f"]}}`),
			`{"metadata":{"finalizers":["f"],"name":"x"},"spec":{"e":{},"f":1.5,"i":3,"l":[],"nested":{"status":1}}}`,
		},
		"null of a custom kind": {
			"means something outside metadata",
			unstructuredOf(t, `{"apiVersion":"example.org/v1","kind":"K","metadata":{"labels":null,"annotations":{"a":null},"name":"x"},"spec":{"n":null}}`),
			`{"metadata":{"annotations":{},"name":"x"},"spec":{"n":null}}`,
		},
		"null of a built-in kind": {
			"means nothing",
			unstructuredOf(t, `{"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass","overhead":{"podFixed":null}}`), `{"overhead":{}}`,
		},
		"a custom kind": {
			"keeps what its schema may require", &database{Status: databaseStatus{Phase: "x"}},
			`{"spec":{"pod":{},"size":"0","timeout":"0s","tuning":{}}}`,
		},
		"a status further down": {
			"is content",
			&appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{Status: corev1.PersistentVolumeClaimStatus{Phase: "Bound"}}}}},
			`{"spec":{"serviceName":"","volumeClaimTemplates":[{"status":{"phase":"Bound"}}]}}`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := canon.AppendObject(nil, c.obj)
			require.NoError(t, err)
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("%s: -want +got\n%s", c.reason, diff)
			}
			again, err := canon.Append(nil, c.obj)
			require.NoError(t, err)
			require.Equal(t, string(got), string(again), "Append of an object is AppendObject")
		})
	}
}

func TestAppendContent(t *testing.T) {
	t.Parallel()
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: map[string]string{"a": "b"}}, Data: map[string]string{"k": "v"}}
	got, err := canon.AppendContent(nil, obj)
	require.NoError(t, err)
	require.Equal(t, `{"data":{"k":"v"}}`, string(got))
	require.Equal(t, `{}`, content(t, &corev1.ConfigMap{}))
}

func TestAppendObjectErrors(t *testing.T) {
	t.Parallel()
	for name, obj := range map[string]canon.Object{
		"nil":             nil,
		"a nil pointer":   (*corev1.Pod)(nil),
		"broken metadata": unstructuredOf(t, `{"kind":"K","metadata":"x"}`),
	} {
		_, err := canon.AppendObject(nil, obj)
		require.Error(t, err, name)
	}
}

func content(t *testing.T, obj canon.Object) string {
	t.Helper()
	text, err := canon.AppendContent(nil, obj)
	require.NoError(t, err)
	return string(text)
}

func unstructuredOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(t, json.Unmarshal([]byte(text), &u.Object))
	return u
}

// What a RawExtension holds means the same in both forms of a built-in kind.
func TestNullsInRawExtensions(t *testing.T) {
	raw := runtime.RawExtension{Raw: []byte(`{"a":null,"opaque":{"b":null}}`)}
	opaque := &resourcev1.OpaqueDeviceConfiguration{Driver: "example.com", Parameters: raw}
	for kind, typed := range map[string]canon.Object{
		"apps/v1 ControllerRevision": &appsv1.ControllerRevision{Data: raw},
		"resource.k8s.io/v1 DeviceClass": &resourcev1.DeviceClass{Spec: resourcev1.DeviceClassSpec{
			Config: []resourcev1.DeviceClassConfiguration{{DeviceConfiguration: resourcev1.DeviceConfiguration{Opaque: opaque}}},
		}},
		"resource.k8s.io/v1 ResourceClaim": &resourcev1.ResourceClaim{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Config: []resourcev1.DeviceClaimConfiguration{{DeviceConfiguration: resourcev1.DeviceConfiguration{Opaque: opaque}}},
		}}},
	} {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
		require.NoError(t, err)
		content["extra"] = nil
		u := &unstructured.Unstructured{Object: content}
		apiVersion, name, _ := strings.Cut(kind, " ")
		u.SetAPIVersion(apiVersion)
		u.SetKind(name)
		want, err := canon.AppendContent(nil, typed)
		require.NoError(t, err)
		require.Contains(t, string(want), `{"a":null,"opaque":{"b":null}}`, kind)
		found, err := canon.AppendContent(nil, u)
		require.NoError(t, err)
		if kind != "apps/v1 ControllerRevision" { // an unstructured zero stays
			require.JSONEq(t, string(want), string(found), kind)
		}
		require.Contains(t, string(found), `{"a":null,"opaque":{"b":null}}`, kind)
		require.NotContains(t, string(found), "extra", kind)
	}
}
