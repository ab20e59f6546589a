package content_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// This file has objects of which trueup knows no Go type. What a type would tell, the managed fields do.

// withEmptyMaps are objects with empty maps that the API server drops.
var withEmptyMaps = map[string]string{
	"Deployment": `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {}}
spec:
  selector: {matchLabels: {app: web}, matchExpressions: []}
  template:
    metadata: {labels: {app: web}, annotations: {}}
    spec:
      nodeSelector: {}
      volumes: [{name: scratch, emptyDir: {}}]
      containers: [{name: web, image: web, args: [], resources: {limits: {}}, securityContext: {}}]`,
	"ConfigMap": `
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {}`,
	"NetworkPolicy": `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec: {podSelector: {matchLabels: {}}, ingress: [{from: [{podSelector: {matchLabels: {}}, namespaceSelector: {}}]}]}`,
}

func (f *fixture) parse(text string) *unstructured.Unstructured {
	f.t.Helper()
	object := &unstructured.Unstructured{}
	require.NoError(f.t, yaml.Unmarshal([]byte(text), &object.Object))
	object.SetNamespace(f.namespace)
	return object
}

// TestEmptyMapsThatTheServerDrops: another process finds nothing to do.
func TestEmptyMapsThatTheServerDrops(t *testing.T) {
	t.Parallel()
	for kind, text := range withEmptyMaps {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			desired := f.parse(text)
			_, err := ensure.Object(t.Context(), f.ensurer, desired.DeepCopy())
			require.NoError(t, err)
			label := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"theirs":"1"}}}`))
			require.NoError(t, program.Client(t, shared, "kubectl-edit").Patch(t.Context(), desired.DeepCopy(), label))
			f.unchangedAfterRestart(desired)
		})
	}
}

// TestRemovedEmptyMaps: an empty map that somebody removed is put back, also by another process.
func TestRemovedEmptyMaps(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]string{
		"a volume's source": `[{"op":"replace","path":"/spec/template/spec/volumes/0","value":{"name":"scratch","configMap":{"name":"x"}}}]`,
		"a context":         `[{"op":"remove","path":"/spec/template/spec/containers/0/securityContext"}]`,
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				desired := f.parse(withEmptyMaps["Deployment"])
				_, err := ensure.Object(t.Context(), f.ensurer, desired.DeepCopy())
				require.NoError(t, err)
				editor := program.Client(t, shared, "kubectl-edit")
				require.NoError(t, editor.Patch(t.Context(), desired.DeepCopy(), client.RawPatch(types.JSONPatchType, []byte(edit))))
				if restarted {
					f.ensurer = ensure.New(f.client, f.client, "content-operator")
				}
				res, err := ensure.Object(t.Context(), f.ensurer, desired.DeepCopy())
				require.NoError(t, err)
				require.Equal(t, ensure.Drifted, res.Cause)
				pod, _, _ := unstructured.NestedMap(f.live(desired).Object, "spec", "template", "spec")
				require.Equal(t, map[string]any{"name": "scratch", "emptyDir": map[string]any{}}, pod["volumes"].([]any)[0])
				require.Equal(t, map[string]any{}, pod["containers"].([]any)[0].(map[string]any)["securityContext"])
				f.unchanged(desired)
			})
		}
	}
}

// TestItemsOfACustomKind: changes name them by their keys.
func TestItemsOfACustomKind(t *testing.T) {
	t.Parallel()
	program.Define(t, shared, things, thingKind)
	groups := func(names ...string) map[string]any {
		var list []any
		for _, name := range names {
			list = append(list, map[string]any{"name": name, "port": int64(80), "members": []any{"m-" + name}})
		}
		return map[string]any{"groups": list}
	}
	paths := func(res ensure.Result[*unstructured.Unstructured]) (found []string) {
		for _, change := range res.Changes {
			if change.Path != "metadata.annotations[spec-hash.trueup-go.github.io/content-operator]" {
				found = append(found, change.Path)
			}
		}
		return found
	}
	f := newFixture(t)
	_, err := ensure.Object(t.Context(), f.ensurer, f.thing("thing", groups("a", "b", "c", "d")))
	require.NoError(t, err)

	renamed := f.thing("thing", groups("b", "c", "d", "e"))
	res, err := ensure.Object(t.Context(), f.ensurer, renamed.DeepCopy())
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"spec.groups[name=a,port=80]", "spec.groups[name=e,port=80]"}, paths(res))

	editor := program.Client(t, shared, "kubectl-edit")
	edit := `[{"op":"add","path":"/spec/groups/0","value":{"name":"theirs","port":80}},
		{"op":"add","path":"/spec/groups/1/members/-","value":"theirs"}]`
	require.NoError(t, editor.Patch(t.Context(), renamed.DeepCopy(), client.RawPatch(types.JSONPatchType, []byte(edit))))
	f.unchanged(renamed)
	f.ensurer = ensure.New(f.client, f.client, "content-operator")
	f.unchanged(renamed)

	live := f.live(renamed)
	items, _, _ := unstructured.NestedSlice(live.Object, "spec", "groups")
	require.Len(t, items, 5)
	edit = `[{"op":"remove","path":"/spec/groups/2/members/0"}]`
	require.NoError(t, editor.Patch(t.Context(), renamed.DeepCopy(), client.RawPatch(types.JSONPatchType, []byte(edit))))
	res, err = ensure.Object(t.Context(), f.ensurer, renamed.DeepCopy())
	require.NoError(t, err)
	require.Equal(t, ensure.Drifted, res.Cause)
	require.Equal(t, []string{"spec.groups[name=c,port=80].members[m-c]"}, paths(res))
}
