//nolint:lll // a case a line, as in the table of a test
package corpus

import (
	"encoding/json"
	"math"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// values are not objects.
func values() []Entry {
	return []Entry{
		{"of/nil", nil},
		{"of/text", "apiVersion: v1\r\nkind: ConfigMap\n---\n😀\x00"},
		{"of/empty-text", ""},
		{"of/bytes", []byte("\x00\xfftext")},
		{"of/nil-bytes", []byte(nil)},
		{"of/numbers", []any{
			math.MaxInt64, math.MinInt64, uint64(math.MaxUint64), int8(-128), 0.1, float32(0.1), 1e21, 1e-7, 5e-324, math.MaxFloat64,
			math.Copysign(0, -1), 3.0, json.Number("1E400000"[:3]), json.Number("12345678901234567890123"), true,
		}},
		{"of/strings", []string{"b", "a", ""}},
		{"of/nil-strings", []string(nil)},
		{"of/string-map", labels()},
		{"of/number-keys", map[int]string{10: "ten", 9: "nine", -1: ""}},
		{"of/map-of-lists", map[string][]string{"nil": nil, "empty": {}, "one": {""}}},
		{"of/pointer", new("text")},
		{"of/raw-json", json.RawMessage(`{"b": [1.0, 1e2, -0, 1e-9, 18446744073709551616], "a": {"x": null}}`)},
		{"of/pod-spec", fullPodSpec()},
		{"of/pod-template", new(template())},
		{"of/containers", []corev1.Container{container("a"), {}}},
		{"of/empty-containers", []corev1.Container{}},
		{"of/service-spec", service().Spec},
		{"of/zero-service-spec", corev1.ServiceSpec{}},
		{"of/deployment-value", *minimalDeployment()},
		{"of/objects", []runtime.Object{minimalDeployment(), service(), nil}},
		{"of/list", &corev1.ConfigMapList{Items: []corev1.ConfigMap{*oddTextConfigMap(), {}}}},
		{"of/empty-list", &rbacv1.RoleList{Items: []rbacv1.Role{}}},
		{"of/quantity", resource.MustParse("1000m")},
		{"of/quantity-map", map[string]resource.Quantity{"a": resource.MustParse("0.5"), "b": {}}},
		{"of/resource-list", corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0")}},
		{"of/int-or-string", []intstr.IntOrString{intstr.FromInt32(0), intstr.FromString("0"), intstr.FromString(""), {}}},
		{"of/times", []metav1.Time{moment(), {}, metav1.Unix(0, 0), metav1.NewTime(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))}},
		{"of/micro-times", []metav1.MicroTime{microMoment(), {}}},
		{"of/durations", []metav1.Duration{{}, {Duration: 90 * time.Second}, {Duration: -time.Nanosecond}, {Duration: math.MaxInt64}}},
		{"of/go-values", []any{time.Minute, moment().UTC(), net.IPv4(192, 0, 2, 1), types.NamespacedName{Namespace: "a", Name: "b"}, [2]bool{true}}},
		{"of/raw-extensions", []runtime.RawExtension{
			{}, {Raw: []byte("null")}, {Raw: []byte("{ }")}, {Raw: []byte(`"\u2028<"`)}, {Object: &corev1.ConfigMap{Data: map[string]string{"b": "", "a": "é"}}},
		}},
		{"of/raw-extension-objects", []runtime.RawExtension{{Object: fullDeployment()}, {Object: statefulSet()}, {Object: service()}, {Object: ingress()}}},
		{"of/selector", metav1.LabelSelector{}},
		{"of/conditions", []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, LastTransitionTime: moment()}, {}}},
		{"of/status", &metav1.Status{Status: metav1.StatusFailure, Details: &metav1.StatusDetails{}}},
		{"of/delete-options", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)}},
		{"of/group-kinds", []metav1.GroupVersionKind{{Group: "apps", Version: "v1", Kind: "Deployment"}, {}}},
		{"of/fields", fields(`{"f:spec":{}}`)},
	}
}
