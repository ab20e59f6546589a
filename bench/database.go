package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var databaseGVK = schema.GroupVersionKind{Group: "db.example.com", Version: "v1", Kind: "Database"}

// database returns an object of a custom kind for which the operator has no Go type.
func database() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "db.example.com/v1",
		"kind":       "Database",
		"metadata": map[string]any{
			"namespace": "default", "name": "orders",
			"labels": map[string]any{"app.kubernetes.io/name": "shop", "app.kubernetes.io/instance": "shop"},
		},
		"spec": map[string]any{
			"version":  "17",
			"replicas": int64(3),
			"storage":  map[string]any{"size": "20Gi", "class": "fast"},
			"users": []any{
				map[string]any{"name": "orders", "databases": []any{"orders"}},
				map[string]any{"name": "reports", "databases": []any{"orders", "archive"}, "readOnly": true},
			},
			"parameters": map[string]any{"max_connections": "200", "shared_buffers": "1GB", "work_mem": "16MB"},
		},
	}}
}

func withDatabaseDefaults(desired *unstructured.Unstructured) *unstructured.Unstructured {
	spec := desired.Object["spec"].(map[string]any)
	spec["paused"] = false
	spec["backup"] = map[string]any{"schedule": "0 3 * * *", "keep": int64(7)}
	for _, user := range spec["users"].([]any) {
		user.(map[string]any)["login"] = true
	}
	return desired
}

// A Shop is the owner of the children.
type Shop struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

// DeepCopyObject implements runtime.Object.
func (s *Shop) DeepCopyObject() runtime.Object {
	return &Shop{TypeMeta: s.TypeMeta, ObjectMeta: *s.ObjectMeta.DeepCopy()}
}

func shop() *Shop {
	return &Shop{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "shop", UID: "1f0c6b0e-3f0a-4a54-9c0b-0a5a3b1d9d11", ResourceVersion: "7",
	}}
}

func mutateDatabase(spelled *unstructured.Unstructured) func(client.Object) {
	return func(into client.Object) {
		object := into.(*unstructured.Unstructured)
		object.Object["spec"] = spelled.Object["spec"]
		object.SetLabels(spelled.GetLabels())
	}
}
