package explain_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/cmd/trueup/internal/explain"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/paths"
)

var migrating = explain.Options{FieldManager: "website-operator", MigrateFrom: []string{"manager"}}

// parse returns the object in a text.
func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	body, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	obj := &unstructured.Unstructured{}
	require.NoError(t, obj.UnmarshalJSON(body))
	return obj
}

// applied returns live after an apply of fields, by the field owner of migrating, that changes no value.
func applied(t *testing.T, live *unstructured.Unstructured, fields string) *unstructured.Unstructured {
	t.Helper()
	body, err := yaml.YAMLToJSON([]byte(fields))
	require.NoError(t, err)
	result := live.DeepCopy()
	result.SetManagedFields(append(result.GetManagedFields(), metav1.ManagedFieldsEntry{
		Manager: migrating.FieldManager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: live.GetAPIVersion(),
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(body)),
	}))
	return result
}

// structureOf returns the structure of a built-in kind, or that of one that nobody knows.
func structureOf(obj *unstructured.Unstructured) explain.Structure {
	if structure, ok := explain.BuiltIn(obj.GroupVersionKind()); ok {
		return structure
	}
	return explain.Custom(nil, "")
}

// migrated returns a Deployment of a program named manager, and the Deployment after the first apply of an operator that has
// another image, no sidecar and no annotations.
func migrated(t *testing.T) (live, result *unstructured.Unstructured) {
	t.Helper()
	live = read(t, "migration.yaml")
	result = applied(t, live, `
f:metadata: {f:labels: {f:app: {}}, f:ownerReferences: {'k:{"uid":"u1"}': {}}}
f:spec:
  f:replicas: {}
  f:selector: {}
  f:template:
    f:metadata: {f:labels: {f:app: {}}}
    f:spec:
      f:containers:
        k:{"name":"web"}: {.: {}, f:image: {}, f:livenessProbe: {f:httpGet: {f:path: {}, f:port: {}}}, f:name: {}}
`)
	containers, _, err := unstructured.NestedSlice(result.Object, "spec", "template", "spec", "containers")
	require.NoError(t, err)
	web, _ := containers[0].(map[string]any)
	web["image"] = "registry.example.com/web:1.5.0"
	require.NoError(t, unstructured.SetNestedSlice(result.Object, containers, "spec", "template", "spec", "containers"))
	entries := result.GetManagedFields()
	_, rest := managedfields.Split(managedfields.Fields(&entries[0]), func(path fieldpath.Path) bool {
		return managedfields.Text(path) == "spec.template.spec.containers[name=web].image"
	})
	entries[0] = managedfields.WithFields(entries[0], rest)
	result.SetManagedFields(entries)
	return live, result
}

// reportOn returns the report on a migration, with the dry run of desired under another name.
func reportOn(live, result, fresh *unstructured.Unstructured, opts explain.Options) *explain.Report {
	report := explain.Of(live, opts)
	report.DryRun = explain.NewDryRun(live, result, opts)
	report.DryRun.Migration = explain.NewMigration(live, result, structureOf(live), opts)
	report.DryRun.Migration.DropDefaults(fresh)
	return report
}

// freshDeployment has the defaults of a Deployment.
const freshDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: x}
spec:
  progressDeadlineSeconds: 600
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}
  template:
    spec:
      containers:
      - {name: web, imagePullPolicy: IfNotPresent, livenessProbe: {failureThreshold: 3, httpGet: {scheme: HTTP}}, resources: {}}
      restartPolicy: Always
`

func TestMigration(t *testing.T) {
	t.Parallel()
	live, result := migrated(t)
	for name, c := range map[string]struct {
		opts   explain.Options
		layout explain.Layout
	}{
		"migration":          {opts: migrating},
		"migration-expanded": {opts: migrating, layout: explain.Layout{Expand: true}},
		"migration-masked":   {opts: explain.Options{FieldManager: migrating.FieldManager, MigrateFrom: migrating.MigrateFrom, Mask: true}},
	} {
		report := reportOn(live, result, parse(t, freshDeployment), c.opts)
		report.DryRun.Kept = explain.Stamp(&unstructured.Unstructured{Object: map[string]any{}}, live, c.opts)
		text, document := textOf(t, c.layout, report), jsonOf(t, report)
		requireGolden(t, name+".txt", text)
		requireGolden(t, name+".json", document)
		if c.opts.Mask {
			require.NotContains(t, text+document, "hunter2")
			require.NotContains(t, text+document, "registry.example.com")
		}
	}
}

// ensure.Retire takes the paths of fields that stay, and the field owner of the report could retire them.
func TestStaysArePathsOfRetire(t *testing.T) {
	t.Parallel()
	live, result := migrated(t)
	m := explain.NewMigration(live, result, structureOf(live), migrating)
	owned := managedfields.OwnedBy(&live.GetManagedFields()[0])
	require.NotEmpty(t, m.Stays)
	for _, stay := range m.Stays {
		steps, err := paths.Parse(stay.Path)
		require.NoError(t, err)
		require.True(t, owned.OwnsAt(steps), stay.Path)
	}
}

// stays returns the fields that stay, as text.
func stays(m *explain.Migration) string {
	var found []string
	for _, stay := range m.Stays {
		found = append(found, stay.Path+" of "+stay.Manager)
	}
	return strings.Join(found, ", ")
}

// lost returns the fields that managers lose, as text.
func lost(losses []explain.Loss) string {
	var found []string
	for _, loss := range losses {
		found = append(found, loss.String()+": "+strings.Join(loss.Paths, ", "))
	}
	return strings.Join(found, "; ")
}

func TestMigrationsOfOtherObjects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason, live, applied, fresh string
		from                         string
		ours, nobodys, stays         string
		unknown                      bool
	}{
		"extra key": {
			reason: "keys of maps stay",
			live: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, managedFields: [{manager: manager, operation: Update, apiVersion: v1,
				fieldsV1: {"f:data": {.: {}, "f:mine": {}, "f:old": {}}}}]}, data: {mine: a, old: b}}`,
			applied: `{"f:data": {"f:mine": {}}}`,
			fresh:   `{apiVersion: v1, kind: ConfigMap, metadata: {name: y}, data: {mine: a}}`,
			ours:    "manager Update: data[mine]", nobodys: "manager Update: data", stays: "data[old] of manager",
		},
		"kubectl apply --server-side": {
			reason: "an Apply entry is treated like one of updates",
			live: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, managedFields: [{manager: kubectl, operation: Apply, apiVersion: v1,
				fieldsV1: {"f:data": {"f:mine": {}, "f:old": {}}, "f:metadata": {"f:labels": {"f:app": {}}}}}], labels: {app: x}}, data: {mine: a, old: b}}`,
			applied: `{"f:data": {"f:mine": {}}}`,
			fresh:   `{apiVersion: v1, kind: ConfigMap, metadata: {name: y}, data: {mine: a}}`,
			from:    "kubectl",
			ours:    "kubectl Apply: data[mine]", stays: "data[old] of kubectl, metadata.labels[app] of kubectl",
		},
		"custom kind": {
			reason: "where nothing tells structs from maps, only fields of desired are taken",
			live: `{apiVersion: example.com/v1, kind: Boiler, metadata: {name: x, managedFields: [{manager: manager, operation: Update,
				apiVersion: example.com/v1, fieldsV1: {"f:spec": {.: {}, "f:burner": {.: {}, "f:fuel": {}, "f:power": {}}}}}]},
				spec: {burner: {fuel: gas, power: 3}}}`,
			applied: `{"f:spec": {"f:burner": {"f:fuel": {}}}}`,
			fresh:   `{apiVersion: example.com/v1, kind: Boiler, metadata: {name: y}, spec: {burner: {fuel: gas}}}`,
			ours:    "manager Update: spec.burner.fuel", nobodys: "manager Update: spec, spec.burner", stays: "spec.burner.power of manager",
			unknown: true,
		},
		"own updates": {
			reason: "updates of the field owner are an older version's; the digest that comes is in its annotations",
			live: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {a: b}, managedFields: [
				{manager: website-operator, operation: Update, apiVersion: v1, fieldsV1: {"f:data": {.: {}, "f:mine": {}},
				"f:metadata": {"f:annotations": {.: {}, "f:a": {}}}}}]}, data: {mine: a}}`,
			applied: `{"f:data": {"f:mine": {}}}`,
			fresh:   `{apiVersion: v1, kind: ConfigMap, metadata: {name: y}, data: {mine: a}}`,
			from:    "website-operator",
			ours:    "website-operator Update: data[mine]", nobodys: "website-operator Update: data, metadata.annotations",
			stays: "metadata.annotations[a] of website-operator",
		},
		"absent manager": {
			reason:  "nothing happens",
			live:    `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, managedFields: [{manager: other, operation: Update, apiVersion: v1, fieldsV1: {"f:data": {}}}]}}`,
			applied: `{"f:data": {"f:mine": {}}}`,
			fresh:   `{apiVersion: v1, kind: ConfigMap, metadata: {name: y}}`,
		},
		"unreadable entry": {
			reason:  "such an entry owns nothing",
			live:    `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, managedFields: [{manager: manager, operation: Update, apiVersion: v1, fieldsV1: {"x": {}}}]}}`,
			applied: `{"f:data": {"f:mine": {}}}`,
			fresh:   `{apiVersion: v1, kind: ConfigMap, metadata: {name: y}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Log(c.reason)
			opts, live := migrating, parse(t, c.live)
			if c.from != "" {
				opts.MigrateFrom = []string{c.from}
			}
			report := reportOn(live, applied(t, live, c.applied), parse(t, c.fresh), opts)
			m := report.DryRun.Migration
			require.Equal(t, c.ours, lost(m.Ours))
			require.Equal(t, c.nobodys, lost(m.Nobodys))
			require.Equal(t, c.stays, stays(m))
			require.Equal(t, c.unknown, m.StructsUnknown)
			text := textOf(t, explain.Layout{}, report)
			require.Equal(t, c.unknown, strings.Contains(text, "if the program has a Go type for the kind"), text)
			require.Equal(t, c.ours == "", strings.Contains(text, "    no field belongs to manager\n") || name == "unreadable entry", text)
			require.Equal(t, c.stays == "", strings.Contains(text, "    no field stays that desired lacks\n"), text)
		})
	}
}

// The schema of a custom kind tells structs from maps.
func TestMigrationOfACustomKindWithASchema(t *testing.T) {
	t.Parallel()
	live := parse(t, `{apiVersion: example.com/v1, kind: Boiler, metadata: {name: x, managedFields: [{manager: manager, operation: Update,
		apiVersion: example.com/v1, fieldsV1: {"f:spec": {.: {}, "f:burner": {.: {}, "f:fuel": {}, "f:power": {}}, "f:tags": {.: {}, "f:a": {}, "f:b": {}}}}}]},
		spec: {burner: {fuel: gas, power: 3}, tags: {a: x, b: y}}}`)
	result := applied(t, live, `{"f:spec": {"f:burner": {"f:fuel": {}}, "f:tags": {"f:a": {}}}}`)
	definition := parse(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}, spec: {versions: [{name: v1,
		schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
			burner: {type: object, properties: {fuel: {type: string}, power: {type: integer}}},
			tags: {type: object, additionalProperties: {type: string}}}}}}}}]}}`)

	m := explain.NewMigration(live, result, explain.Custom(definition, "v1"), migrating)
	require.True(t, m.MayHaveDefaults())
	m.DropDefaults(nil)

	require.Equal(t, "manager Update: spec, spec.burner, spec.burner.power, spec.tags", lost(m.Nobodys))
	require.Equal(t, "spec.burner.power of manager, spec.tags.b of manager", stays(m))
	require.False(t, m.StructsUnknown)
	require.True(t, m.DefaultsUnknown)
	report := explain.Of(live, migrating)
	report.DryRun = &explain.DryRun{FieldManager: migrating.FieldManager, Migration: m}
	require.Contains(t, textOf(t, explain.Layout{}, report), "    defaults may be among them, ")
}

// The first apply to a Secret is refused if it changes data. No content is shown.
func TestMigrationOfASecret(t *testing.T) {
	t.Parallel()
	live := parse(t, `{apiVersion: v1, kind: Secret, metadata: {name: login, managedFields: [{manager: manager, operation: Update, apiVersion: v1,
		fieldsV1: {"f:data": {.: {}, "f:password": {}, "f:user": {}}}}]}, data: {password: aHVudGVyMg==, user: d2Vi}}`)
	result := applied(t, live, `{"f:data": {"f:password": {}, "f:token": {}}}`)
	require.NoError(t, unstructured.SetNestedStringMap(result.Object, map[string]string{
		"password": "Y2hhbmdlZA==", "token": "bmV3", "user": "d2Vi",
	}, "data"))

	report := reportOn(live, result, parse(t, `{apiVersion: v1, kind: Secret, metadata: {name: x}, data: {user: d2Vi}}`), migrating)

	text, document := textOf(t, explain.Layout{Expand: true}, report), jsonOf(t, report)
	require.Equal(t, []string{"data[password]"}, report.DryRun.Migration.Overwrites)
	require.Contains(t, text, "    is refused by ensure.Object without ensure.Once or ensure.OverwriteData, as it changes data[password]\n")
	for _, secret := range []string{"hunter2", "aHVudGVyMg", "Y2hhbmdlZA", "bmV3", "d2Vi"} {
		require.NotContains(t, text+document, secret)
	}
	ours := applied(t, live, `{"f:data": {"f:password": {}}}`)
	require.Empty(t, explain.NewMigration(ours, result, structureOf(live), migrating).Overwrites, "this apply is not the first")
}

func TestMigrationThatCannotBeTold(t *testing.T) {
	t.Parallel()
	live := read(t, "migration.yaml")
	require.Nil(t, explain.NewMigration(nil, live, structureOf(live), migrating), "the apply creates the object")

	m := explain.NewMigration(live, nil, structureOf(live), migrating)
	require.Empty(t, cmp.Diff(&explain.Migration{From: []string{"manager"}, Ours: []explain.Loss{}, Nobodys: []explain.Loss{}, Stays: []explain.Stay{}}, m))
	report := explain.Of(live, migrating)
	report.DryRun = &explain.DryRun{FieldManager: migrating.FieldManager, Refused: &explain.Refusal{Message: "no"}, Migration: m}
	require.Contains(t, textOf(t, explain.Layout{}, report), `
Migration from manager to website-operator
    unknown, because the API server refuses the apply

`)
}

// A file lacks the controller that older versions set, and that ensure.ControlledBy applies.
func TestStampForAMigration(t *testing.T) {
	t.Parallel()
	live := read(t, "migration.yaml")
	desired := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "web"}}}
	require.Equal(t, []string{"metadata.ownerReferences[uid=u1]"}, explain.Stamp(desired, live, migrating))
	require.Equal(t, live.GetOwnerReferences(), desired.GetOwnerReferences())
	require.Empty(t, explain.Stamp(desired, live, migrating), "desired has an owner")
}
