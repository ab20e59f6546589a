//nolint:lll // a case a line, as in the table of a test
package corpus

import (
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func untyped() []Entry {
	return []Entry{
		{"unstructured/nothing", &unstructured.Unstructured{}},
		{"unstructured/custom", customResource()},
		{"unstructured/Secret", object("v1", "Secret", map[string]any{
			"stringData": map[string]any{"password": "swordfish", "bad": "\xff"}, "data": map[string]any{"a": "YQ=="},
		})},
		{"unstructured/Deployment", object("apps/v1", "Deployment", map[string]any{"spec": map[string]any{
			"replicas": int64(0), "template": map[string]any{"metadata": map[string]any{"creationTimestamp": nil}}, "strategy": map[string]any{},
		}})},
		{"unstructured/NetworkPolicy", object("networking.k8s.io/v1", "NetworkPolicy", map[string]any{
			"spec": map[string]any{"podSelector": map[string]any{}, "ingress": []any{}, "egress": []any{map[string]any{}}},
		})},
		{"unstructured/list", &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*customResource(), {}}}},
		{"unstructured/Workload", object("scheduling.k8s.io/v1alpha1", "Workload", map[string]any{
			"spec": map[string]any{"podGroups": []any{map[string]any{"name": "a", "policy": map[string]any{"gang": map[string]any{"minCount": int64(4)}}}}},
		})},
		{"unstructured/content", customResource().Object},
		{"meta/PartialObjectMetadata/plain", &metav1.PartialObjectMetadata{ObjectMeta: named("partial")}},
	}
}

func object(apiVersion, kind string, content map[string]any) *unstructured.Unstructured {
	content["apiVersion"], content["kind"] = apiVersion, kind
	content["metadata"] = map[string]any{"namespace": "shop", "name": "shop", "labels": map[string]any{}, "creationTimestamp": nil}
	return &unstructured.Unstructured{Object: content}
}

// customResource has every value that JSON has.
func customResource() *unstructured.Unstructured {
	return object("example.org/v1", "Shop", map[string]any{
		"spec": map[string]any{
			"null": nil, "false": false, "zero": int64(0), "empty": "", "list": []any{}, "map": map[string]any{}, "nested": []any{[]any{nil}, nil},
			"largest": int64(math.MaxInt64), "smallest": int64(math.MinInt64), "half": 0.5, "integral": 3.0, "exponent": 1e300, "tiny": 1e-9,
			"quantity": "1000m", "text": "a\r\n\u2028😀\x7f", "": "no name", "é": "accent", "a.b/c": "path",
		},
		"status": map[string]any{"ready": true},
	})
}
