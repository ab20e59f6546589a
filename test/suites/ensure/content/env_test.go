package content_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const template = `{metadata: {labels: {app: web}}, spec: {
	initContainers: [{name: init, image: example.com/init:1, env: [{name: MODE}]}],
	containers: [{name: main, image: example.com/web:1, env: [{name: LEVEL}, {name: FULL, value: x}, {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]}]}}`

// workloads have pods whose environment may change, at podPath.
var workloads = map[string]struct{ podPath, yaml string }{
	"Deployment":            {"/spec/template/spec", `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0, selector: {matchLabels: {app: web}}, template: TEMPLATE}}`},
	"ReplicaSet":            {"/spec/template/spec", `{apiVersion: apps/v1, kind: ReplicaSet, spec: {replicas: 0, selector: {matchLabels: {app: web}}, template: TEMPLATE}}`},
	"StatefulSet":           {"/spec/template/spec", `{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 0, serviceName: web, selector: {matchLabels: {app: web}}, template: TEMPLATE}}`},
	"DaemonSet":             {"/spec/template/spec", `{apiVersion: apps/v1, kind: DaemonSet, spec: {selector: {matchLabels: {app: web}}, template: TEMPLATE}}`},
	"ReplicationController": {"/spec/template/spec", `{apiVersion: v1, kind: ReplicationController, spec: {replicas: 0, selector: {app: web}, template: TEMPLATE}}`},
	"PodTemplate":           {"/template/spec", `{apiVersion: v1, kind: PodTemplate, template: TEMPLATE}`},
	"CronJob": {
		"/spec/jobTemplate/spec/template/spec",
		`{apiVersion: batch/v1, kind: CronJob, spec: {schedule: "0 0 1 1 *", suspend: true, jobTemplate: {spec: {template: TEMPLATE}}}}`,
	},
}

// environment lists other programs' changes to the variables of the template.
const (
	setValue  = `[{"op":"add","path":"POD/initContainers/0/env/0/value","value":"theirs"},{"op":"add","path":"POD/containers/0/env/0/value","value":"theirs"}]`
	setSource = `[{"op":"add","path":"POD/initContainers/0/env/0/valueFrom","value":{"fieldRef":{"fieldPath":"metadata.name"}}},
		{"op":"add","path":"POD/containers/0/env/0/valueFrom","value":{"configMapKeyRef":{"name":"a","key":"b"}}},
		{"op":"add","path":"POD/containers/0/env/-","value":{"name":"THEIRS","value":"stays"}}]`
)

func (f *fixture) workload(kind string, typed bool) client.Object {
	f.t.Helper()
	text := strings.Replace(workloads[kind].yaml, "TEMPLATE", template, 1)
	if kind == "CronJob" {
		text = strings.Replace(text, "spec: {\n\tinit", "spec: {restartPolicy: Never,\n\tinit", 1)
	}
	data, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(text, "\t", " ")))
	require.NoError(f.t, err)
	obj := &unstructured.Unstructured{}
	require.NoError(f.t, obj.UnmarshalJSON(data))
	obj.SetNamespace(f.namespace)
	obj.SetName("web")
	if !typed {
		return obj
	}
	out, err := f.client.Scheme().New(obj.GroupVersionKind())
	require.NoError(f.t, err)
	require.NoError(f.t, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, out))
	out.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	typedObj, _ := out.(client.Object)
	return typedObj
}

// edit is by another program.
func (f *fixture) edit(obj client.Object, manager, patch, podPath string) {
	f.t.Helper()
	copied, _ := obj.DeepCopyObject().(client.Object)
	body := []byte(strings.ReplaceAll(patch, "POD", podPath))
	require.NoError(f.t, program.Client(f.t, shared, manager).Patch(f.t.Context(), copied, client.RawPatch(types.JSONPatchType, body)))
}

// variables returns the variables of the first container of a list.
func (f *fixture) variables(like client.Object, podPath, list string) map[string]map[string]any {
	f.t.Helper()
	containers, ok, err := unstructured.NestedSlice(f.live(like).Object, append(strings.Split(podPath, "/")[1:], list)...)
	require.True(f.t, ok && err == nil)
	out := map[string]map[string]any{}
	first, _ := containers[0].(map[string]any)
	env, _ := first["env"].([]any)
	for _, item := range env {
		variable, _ := item.(map[string]any)
		out[fmt.Sprint(variable["name"])] = variable
	}
	return out
}

// TestEmptyVariables: a variable without a value has none, whatever other programs write into the
// variable.
func TestEmptyVariables(t *testing.T) {
	t.Parallel()
	for kind := range workloads {
		for _, typed := range []bool{true, false} {
			for name, patch := range map[string]string{"value": setValue, "source": setSource} {
				for _, restarted := range []bool{false, true} {
					if testing.Short() && restarted && kind != "Deployment" {
						continue
					}
					t.Run(fmt.Sprintf("%s, typed: %t, another %s, restarted: %t", kind, typed, name, restarted), func(t *testing.T) {
						t.Parallel()
						f, podPath := newFixture(t), workloads[kind].podPath
						desired := func() client.Object { return f.workload(kind, typed) }
						_, err := ensure.Object(t.Context(), f.ensurer, desired())
						require.NoError(t, err)
						mark := shared.Mark()
						f.unchanged(desired())
						require.Len(t, f.requests(mark), 1, "a read")

						f.edit(desired(), "kubectl-edit", patch, podPath)
						if restarted {
							f.ensurer = ensure.New(f.client, f.client, "content-operator")
						}
						res, err := ensure.Object(t.Context(), f.ensurer, desired())
						require.NoError(t, err)
						require.Equal(t, ensure.Drifted, res.Cause)
						require.Equal(t, map[string]any{"name": "MODE"}, f.variables(desired(), podPath, "initContainers")["MODE"])
						variables := f.variables(desired(), podPath, "containers")
						require.Equal(t, map[string]any{"name": "LEVEL"}, variables["LEVEL"])
						require.Equal(t, "x", variables["FULL"]["value"])
						require.Contains(t, variables["NODE"], "valueFrom")
						if name == "source" {
							require.Equal(t, "stays", variables["THEIRS"]["value"])
						}

						mark = shared.Mark()
						f.unchanged(desired())
						require.Len(t, f.requests(mark), 1, "a read")
						f.ensurer = ensure.New(f.client, f.client, "content-operator")
						mark = shared.Mark()
						f.unchanged(desired())
						if name == "value" { // else there is an entry of another manager, as new as ours
							require.Len(t, f.requests(mark), 1, "a read")
						}
					})
				}
			}
		}
	}
}

// TestSourceInADryRun: the dry run reports the fields that an apply would remove, and their owners.
func TestSourceInADryRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	desired := func() client.Object { return f.workload("PodTemplate", true) }
	_, err := ensure.Object(t.Context(), f.ensurer, desired())
	require.NoError(t, err)
	f.edit(desired(), "kubectl-edit", setSource, "/template/spec")
	before := f.live(desired())
	for _, opts := range [][]ensure.Option{{ensure.DryRun()}, nil} {
		require.Equal(t, before, f.live(desired()))
		res, err := ensure.Object(t.Context(), f.ensurer, desired(), opts...)
		require.NoError(t, err)
		lost := map[string]string{}
		for _, change := range res.Changes {
			lost[change.Path] = change.Manager
		}
		require.Equal(t, map[string]string{
			"template.spec.containers[name=main].env[name=LEVEL].valueFrom":    "kubectl-edit",
			"template.spec.initContainers[name=init].env[name=MODE].valueFrom": "kubectl-edit",
		}, lost)
	}
}

// TestAppliedSource: a value that another program applies would come back, so the program is named
// instead.
func TestAppliedSource(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	desired := func() client.Object { return f.workload("PodTemplate", true) }
	_, err := ensure.Object(t.Context(), f.ensurer, desired())
	require.NoError(t, err)
	other := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(`{apiVersion: v1, kind: PodTemplate, metadata: {name: web, namespace: ` + f.namespace + `}, template: {spec: {
		containers: [{name: main, env: [{name: LEVEL, valueFrom: {configMapKeyRef: {name: a, key: b}}}]}]}}}`))
	require.NoError(t, err)
	require.NoError(t, other.UnmarshalJSON(data))
	require.NoError(t, program.Client(t, shared, "flux").Patch(t.Context(), other, client.RawPatch(types.ApplyPatchType, data), client.FieldOwner("flux")))
	before := f.live(desired())
	for range 2 {
		_, err = ensure.Object(t.Context(), f.ensurer, desired())
		require.ErrorIs(t, err, ensure.ErrInvalid)
		require.ErrorContains(t, err, "template.spec.containers[name=main].env[name=LEVEL].valueFrom, which flux sets")
	}
	require.Equal(t, before.Object["template"], f.live(desired()).Object["template"])
	mark := shared.Mark()
	_, err = ensure.Object(t.Context(), f.ensurer, desired())
	require.ErrorIs(t, err, ensure.ErrInvalid)
	require.Len(t, f.requests(mark), 1, "a read: the refusal is remembered")
}
