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

// A User is an item of a long list in a revision: its name, which is the key, and its role.
type User func(index, revision int) (name, role string)

// WithOtherRole has another role in each revision.
func WithOtherRole(index, revision int) (name, role string) {
	return fmt.Sprintf("user-%d", index), fmt.Sprintf("role-%d", revision)
}

// WithOtherName has another name in each revision.
func WithOtherName(index, revision int) (name, role string) {
	return fmt.Sprintf("user-%d-%d", revision, index), "reader"
}

// LongDatabase returns a child with a long list that has keys.
func LongDatabase(users int, user User) Child {
	long := Database()
	long.Desired = func(owner client.Object, revision int) client.Object {
		list := make([]any, users)
		for i := range list {
			name, role := user(i, revision)
			list[i] = map[string]any{"name": name, "role": role}
		}
		return databaseOf(owner, "17", list)
	}
	return long
}
