package migrate_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/migrate"
	"github.com/trueup-go/trueup/internal/paths"
)

// An entry is "manager operation" or "manager operation/subresource", and its fields.
type entries map[string]string

// deployment returns a Deployment with managed fields, in the order of the managers.
func deployment(managers []string, fields entries) *appsv1.Deployment {
	obj := &appsv1.Deployment{}
	for _, name := range managers {
		entry := metav1.ManagedFieldsEntry{
			Manager: name, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "apps/v1", FieldsType: "FieldsV1",
			FieldsV1: managedfields.NewFields(fields[name]),
		}
		if name == "ours" || name == "formerly" || name == "kubectl" {
			entry.Operation = metav1.ManagedFieldsOperationApply
		}
		obj.ManagedFields = append(obj.ManagedFields, entry)
	}
	return obj
}

func after(p *managedfields.Patch) entries {
	found := entries{}
	for _, entry := range p.Entries() {
		found[entry.Manager] = string(managedfields.Raw(entry.FieldsV1))
	}
	return found
}

func rules() migrate.Rules {
	return migrate.Rules{
		Owner: "ours", APIVersion: "apps/v1", Older: []string{"manager", "kubectl"}, Former: []string{"formerly"},
		IsField: migrate.FieldsOf(reflect.TypeFor[*appsv1.Deployment]()),
	}
}

const desired = `{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{` +
	`"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{},"f:livenessProbe":{"f:httpGet":{"f:path":{}}}}}}}}}`

func TestAfter(t *testing.T) {
	older := `{"f:metadata":{"f:labels":{".":{},"f:app":{},"f:old":{}}},"f:spec":{"f:replicas":{},"f:paused":{},"f:template":{"f:spec":{` +
		`"f:hostNetwork":{},"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{},"f:imagePullPolicy":{},` +
		`"f:env":{".":{},"k:{\"name\":\"X\"}":{".":{},"f:name":{}}},` +
		`"f:livenessProbe":{".":{},"f:httpGet":{"f:path":{},"f:scheme":{}}}},"k:{\"name\":\"old\"}":{".":{},"f:name":{}}}}}}}`
	left := `{"f:metadata":{"f:labels":{"f:old":{}}},"f:spec":{"f:paused":{},"f:template":{"f:spec":{"f:containers":{` +
		`"k:{\"name\":\"old\"}":{".":{},"f:name":{}},"k:{\"name\":\"web\"}":{"f:env":{"k:{\"name\":\"X\"}":{".":{},"f:name":{}}}}}}}}}`
	for name, tc := range map[string]struct {
		manager string
		change  func(*migrate.Rules)
		want    string
	}{
		"a named manager":              {"manager", nil, left},
		"a named manager that applied": {"kubectl", nil, left},
		"our own updates":              {"ours-released", nil, left},
		"nobody":                       {migrate.BeforeFirstApply, nil, left},
		"nobody, of an adopted object": {migrate.BeforeFirstApply, func(r *migrate.Rules) { r.IsAdopted = true }, older},
		"another manager":              {"kubectl-edit", nil, older},
		"without a schema": {
			"manager", func(r *migrate.Rules) { r.IsField = func(fieldpath.Path) bool { return false } },
			`{"f:metadata":{"f:labels":{"f:old":{}}},"f:spec":{"f:paused":{},"f:template":{"f:spec":{"f:containers":{` +
				`"k:{\"name\":\"old\"}":{".":{},"f:name":{}},"k:{\"name\":\"web\"}":{"f:env":{".":{},"k:{\"name\":\"X\"}":{".":{},"f:name":{}}},` +
				`"f:imagePullPolicy":{},"f:livenessProbe":{"f:httpGet":{"f:scheme":{}}}}},"f:hostNetwork":{}}}}}`,
		},
		"left to others": {"manager", func(r *migrate.Rules) {
			r.IsLeft = func(path fieldpath.Path) bool { return managedfields.IsAt(path, []string{"spec", "replicas"}) }
		}, `{"f:metadata":{"f:labels":{"f:old":{}}},"f:spec":{"f:paused":{},"f:replicas":{},` + left[len(`{"f:metadata":{"f:labels":{"f:old":{}}},"f:spec":{"f:paused":{},`):]},
	} {
		t.Run(name, func(t *testing.T) {
			r := rules()
			if tc.change != nil {
				tc.change(&r)
			}
			live := deployment([]string{"ours", tc.manager}, entries{"ours": desired, tc.manager: older})
			p := r.After(live)
			require.Empty(t, cmp.Diff(normal(t, entries{"ours": desired, tc.manager: tc.want}), normal(t, after(p))))
			require.Equal(t, tc.want != older, r.IsShared(live))
			require.Equal(t, tc.want != older, r.IsPending(live))
		})
	}
}

// isAt returns a function that reports whether a path leads to one of texts, or inside.
func isAt(texts ...string) func(fieldpath.Path) bool {
	return func(path fieldpath.Path) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return managedfields.IsAt(path, paths.Steps(text)) })
	}
}

func TestBefore(t *testing.T) {
	r := rules()
	r.IsRetired = isAt("metadata.labels[old]", "spec.paused")
	r.IsLeft = func(path fieldpath.Path) bool { return managedfields.IsAt(path, []string{"spec", "replicas"}) }
	r.Unowned = fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "paused"), fieldpath.MakePathOrDie("spec", "minReadySeconds"))
	live := deployment([]string{"formerly", "formerly-released", "manager", "kubectl-edit"}, entries{
		"formerly":          `{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:replicas":{},"f:selector":{}}}`,
		"formerly-released": `{"f:spec":{"f:revisionHistoryLimit":{}}}`,
		"manager":           `{"f:metadata":{"f:labels":{"f:app":{},"f:old":{}}}}`,
		"kubectl-edit":      `{"f:metadata":{"f:labels":{"f:old":{}}}}`,
	})
	require.Empty(t, cmp.Diff(normal(t, entries{
		"ours":          `{"f:metadata":{"f:labels":{"f:app":{},"f:old":{}}},"f:spec":{"f:paused":{},"f:selector":{}}}`,
		"ours-released": `{"f:spec":{"f:replicas":{},"f:revisionHistoryLimit":{}}}`,
		"manager":       `{"f:metadata":{"f:labels":{"f:app":{}}}}`,
		"kubectl-edit":  `{"f:metadata":{"f:labels":{"f:old":{}}}}`,
	}), normal(t, after(r.Before(live)))))
	require.True(t, r.IsPending(live))
	require.True(t, r.Names(r.Before(live).Managers()))
}

// normal returns the fields as sets print them.
func normal(t *testing.T, all entries) entries {
	t.Helper()
	out := entries{}
	for manager, text := range all {
		fields := managedfields.Fields(&metav1.ManagedFieldsEntry{FieldsV1: managedfields.NewFields(text)})
		require.False(t, fields.Empty(), text)
		out[manager] = fields.String()
	}
	return out
}

func TestFieldsOfSchema(t *testing.T) {
	definition := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(`
spec:
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
              probe: {properties: {path: {type: string}}}
              tags: {additionalProperties: {type: string}}
              limits: {additionalProperties: {properties: {cpu: {type: string}}}}
              slots: {items: {properties: {name: {type: string}}}}
              free: {x-kubernetes-preserve-unknown-fields: true}
`), &definition.Object))
	slot := fieldpath.KeyByFields("name", "a")
	for _, tc := range []struct {
		path fieldpath.Path
		want bool
	}{
		{fieldpath.MakePathOrDie("spec", "probe"), true},
		{fieldpath.MakePathOrDie("spec", "probe", "path"), true},
		{fieldpath.MakePathOrDie("spec", "probe", "unknown"), false},
		{fieldpath.MakePathOrDie("spec", "tags", "a"), false},
		{fieldpath.MakePathOrDie("spec", "limits", "a"), false},
		{fieldpath.MakePathOrDie("spec", "limits", "a", "cpu"), true},
		{fieldpath.MakePathOrDie("spec", "slots", slot), false},
		{fieldpath.MakePathOrDie("spec", "slots", slot, "name"), true},
		{fieldpath.MakePathOrDie("spec", "free", "a"), false},
		{fieldpath.MakePathOrDie("metadata", "labels", "a"), false},
	} {
		require.Equal(t, tc.want, migrate.FieldsOfSchema(definition, "v1")(tc.path), tc.path)
		require.False(t, migrate.FieldsOfSchema(definition, "v2")(tc.path), tc.path)
	}
}

// The applies of a former field owner, or of this one, may have the name of released fields.
func TestNamesThatLookReleased(t *testing.T) {
	r := rules()
	r.Owner, r.Former = "formerly-released", []string{"formerly"}
	live := deployment([]string{"formerly-released"}, entries{"formerly-released": desired})
	live.ManagedFields[0].Operation = metav1.ManagedFieldsOperationApply
	require.True(t, r.Before(live).IsEmpty())
}

func TestRetiredFieldsInOurOwnEntryArePending(t *testing.T) {
	r := rules()
	r.IsRetired = isAt("spec.paused", "spec.minReadySeconds")
	r.Unowned = fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "minReadySeconds"))
	live := deployment([]string{"ours", "manager"}, entries{"ours": desired, "manager": `{"f:spec":{"f:paused":{}}}`})
	live.ManagedFields = r.Before(live).Entries()
	require.Len(t, live.ManagedFields, 1)
	require.True(t, r.IsPending(live), "a process that ends here is followed by one that applies")
}
