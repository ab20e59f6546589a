package explain_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/paths"
	"github.com/trueup-go/trueup/test/harness/cluster"
)

// A scene is an object that an older version wrote, and that an operator with trueup desires now.
type scene struct {
	older, desired string
	manager        string // of the older version
	isApplied      bool   // by the older version, as kubectl apply --server-side does
	requests       map[string]int
	stays          []string
}

const probe = "        livenessProbe: {httpGet: {path: /live, port: 8080}}\n"

var scenes = map[string]scene{
	"built-in kind": {
		manager: "manager",
		older: strings.NewReplacer(
			"  labels:", "  annotations: {note: old}\n  labels:",
			"  template:\n    metadata: {", "  strategy: {rollingUpdate: {maxUnavailable: 3}}\n  template:\n    metadata: {annotations: {example.com/checksum: old}, ",
			"      containers:\n", "      containers:\n      - {name: proxy, image: registry.example.com/proxy:1, resources: {requests: {cpu: 10m}}}\n",
		).Replace(manifest) + probe,
		desired:  strings.Replace(manifest, "  template:", "  strategy: {rollingUpdate: {maxSurge: 25%}}\n  template:", 1) + probe,
		requests: map[string]int{"get deployments": 1, "patch deployments (dry run)": 2},
		stays: []string{
			"metadata.annotations[note]", "spec.strategy.rollingUpdate.maxUnavailable",
			"spec.template.metadata.annotations[example.com/checksum]", "spec.template.spec.containers[name=proxy]",
		},
	},
	"kubectl apply --server-side": {
		manager: "kubectl", isApplied: true,
		older:    "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, labels: {app: web}}, data: {port: '1', level: info}}",
		desired:  "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {port: '2'}}",
		requests: map[string]int{"get configmaps": 1, "patch configmaps (dry run)": 2},
		stays:    []string{"data[level]", "metadata.labels[app]"},
	},
	"custom kind": {
		manager: "manager",
		older: "{apiVersion: heating.example.com/v1, kind: Boiler, metadata: {name: web}, " +
			"spec: {fuel: gas, phase: x, burner: {power: '3'}, tags: {a: '1', b: '2'}}}",
		desired: "{apiVersion: heating.example.com/v1, kind: Boiler, metadata: {name: web}, " +
			"spec: {fuel: gas, burner: {power: '3'}, tags: {a: '1'}}}",
		requests: map[string]int{"get boilers": 1, "patch boilers (dry run)": 2},
		stays:    []string{"spec.phase", "spec.tags.b"},
	},
}

// The report tells beforehand what a migration then does.
func TestMigration(t *testing.T) {
	t.Parallel()
	require.NoError(t, defineBoilers())
	for name, s := range scenes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := shared.Namespace(t)
			site := owner(t, namespace)
			live := s.createOlder(t, site)
			args := []string{"-f", write(t, s.desired), "--field-manager=website-operator", "--migrate-from=" + s.manager, "-o=json"}

			var mark cluster.Mark
			var told forecast
			undisturbed(t, live, func() {
				mark = shared.Mark()
				told = forecastOf(t, explain(t, namespace, args...))
			})

			requireRequests(t, mark, namespace, s.requests)
			require.Empty(t, cmp.Diff(s.stays, told.stays()))
			before := fieldsOf(t, live, s.manager)
			operator, desired := clientOf(t, "website-operator"), parse(t, s.desired, namespace)
			result, err := ensure.Object[client.Object](t.Context(), ensure.New(operator, operator, "website-operator"), desired,
				ensure.ControlledBy(site), ensure.MigrateFrom(s.manager))
			require.NoError(t, err)
			require.Equal(t, ensure.Migrated, result.Cause)
			require.ElementsMatch(t, stepsOf(s.stays), keptSteps(result.Kept, s.manager))

			require.NoError(t, operator.Get(t.Context(), client.ObjectKeyFromObject(live), live))
			lost := before.Difference(fieldsOf(t, live, s.manager))
			ours := lost.Intersection(fieldsOf(t, live, "website-operator"))
			require.Empty(t, cmp.Diff(texts(lost.Difference(ours)), textsOf(told.Nobodys)), "nobody's")
			require.Subset(t, texts(ours), textsOf(told.Ours))
			require.Subset(t, append(textsOf(told.Ours), "spec.template.spec.containers[name=web].name"), texts(ours.Leaves()))
		})
	}
}

// undisturbed does something again until nobody has changed obj meanwhile, such as the controller of its kind.
func undisturbed(t *testing.T, obj client.Object, do func()) {
	t.Helper()
	c := clientOf(t, "user")
	require.NoError(t, shared.Await(t.Context(), time.Minute, obj.GetNamespace(), func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		before := obj.GetResourceVersion()
		do()
		if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		if obj.GetResourceVersion() != before {
			return errors.New("it was changed meanwhile")
		}
		return nil
	}))
}

// createOlder creates the object of the older version, with a controller.
func (s scene) createOlder(t *testing.T, site client.Object) *unstructured.Unstructured {
	t.Helper()
	older, c := parse(t, s.older, site.GetNamespace()), clientOf(t, s.manager)
	require.NoError(t, controllerutil.SetControllerReference(site, older, c.Scheme()))
	if !s.isApplied {
		require.NoError(t, c.Create(t.Context(), older))
		return older
	}
	body, err := older.MarshalJSON()
	require.NoError(t, err)
	require.NoError(t, c.Patch(t.Context(), older, client.RawPatch(types.ApplyPatchType, body), client.FieldOwner(s.manager)))
	return older
}

// parse returns the object in a text.
func parse(t *testing.T, text, namespace string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	body, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	require.NoError(t, obj.UnmarshalJSON(body))
	obj.SetNamespace(namespace)
	return obj
}

// A forecast is what the report tells about a migration.
type forecast struct {
	Ours, Nobodys []loss
	Stays         []ensure.KeptField
}

type loss struct{ Paths []string }

func forecastOf(t *testing.T, report string) forecast {
	t.Helper()
	var document struct {
		Objects []struct{ DryRun struct{ Migration forecast } }
	}
	require.NoError(t, json.Unmarshal([]byte(report), &document))
	require.Len(t, document.Objects, 1)
	return document.Objects[0].DryRun.Migration
}

func (f forecast) stays() []string {
	var found []string
	for _, stay := range f.Stays {
		found = append(found, stay.Path)
	}
	return found
}

// fieldsOf returns the fields of a manager, but for those of subresources.
func fieldsOf(t *testing.T, live metav1.Object, manager string) *fieldpath.Set {
	t.Helper()
	fields := fieldpath.NewSet()
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == manager && entry.Subresource == "" {
			fields = fields.Union(managedfields.Fields(&entry))
		}
	}
	return fields
}

// texts returns the paths of fields in one form.
func texts(fields *fieldpath.Set) []string {
	var found []string
	for path := range fields.All() {
		found = append(found, managedfields.Text(path))
	}
	slices.Sort(found)
	return found
}

// textsOf returns the paths of losses in the form of texts.
func textsOf(losses []loss) []string {
	var found []string
	for _, loss := range losses {
		for _, path := range loss.Paths {
			found = append(found, inOneForm(path))
		}
	}
	slices.Sort(found)
	return found
}

// inOneForm returns a path with members instead of keys, where both are possible.
func inOneForm(path string) string {
	text := ""
	for _, step := range paths.Steps(path) {
		if strings.Contains(step, "=") {
			text = paths.Item(text, step)
		} else {
			text = paths.MemberOrKey(text, step)
		}
	}
	return text
}

func stepsOf(texts []string) [][]string {
	var found [][]string
	for _, text := range texts {
		found = append(found, paths.Steps(text))
	}
	return found
}

// keptSteps returns the steps of the fields that a manager set.
func keptSteps(kept []ensure.KeptField, manager string) [][]string {
	var found [][]string
	for _, field := range kept {
		if field.Manager == manager {
			found = append(found, paths.Steps(field.Path))
		}
	}
	return found
}
