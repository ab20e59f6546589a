package contest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Group is the API group of custom kinds.
const Group = "bench.trueup-go.github.io"

// DatabaseKind is a custom kind with a status, defaults, and a list with keys.
var DatabaseKind = schema.GroupVersionKind{Group: Group, Version: "v1", Kind: "Database"}

// Database returns a child of a custom kind for which the operator has no Go type.
func Database() Child {
	spec := func(object client.Object) map[string]any {
		content, _ := object.(*unstructured.Unstructured).Object["spec"].(map[string]any)
		return content
	}
	return Child{
		Kind: DatabaseKind,
		Empty: func() client.Object {
			empty := &unstructured.Unstructured{}
			empty.SetGroupVersionKind(DatabaseKind)
			return empty
		},
		Desired: func(owner client.Object, revision int) client.Object {
			return databaseOf(owner, fmt.Sprintf("17.%d", revision), []any{map[string]any{"name": "shop"}})
		},
		assignContent: func(live, desired client.Object) { live.(*unstructured.Unstructured).Object["spec"] = spec(desired) },
		addDefaults: func(desired client.Object) {
			spec(desired)["storage"] = "10Gi"
			spec(desired)["users"].([]any)[0].(map[string]any)["role"] = "reader"
		},
	}
}

func databaseOf(owner client.Object, version string, users []any) *unstructured.Unstructured {
	desired := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"version": version, "users": users}}}
	desired.SetGroupVersionKind(DatabaseKind)
	of := metadata(owner)
	desired.SetNamespace(of.Namespace)
	desired.SetName(of.Name)
	desired.SetLabels(of.Labels)
	return desired
}

// LongDatabase returns a child with a long list that has keys. A value of every item depends on the revision, or the key.
func LongDatabase(users int, hasOtherKeys bool) Child {
	long := Database()
	long.Desired = func(owner client.Object, revision int) client.Object {
		list := make([]any, users)
		for i := range list {
			name, role := fmt.Sprintf("user-%d", i), fmt.Sprintf("role-%d", revision)
			if hasOtherKeys {
				name, role = fmt.Sprintf("user-%d-%d", revision, i), "reader"
			}
			list[i] = map[string]any{"name": name, "role": role}
		}
		return databaseOf(owner, "17", list)
	}
	return long
}
