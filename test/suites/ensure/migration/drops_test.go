package migration_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// A drop is a change of a desired Deployment. Both states are YAML that adds to idle.
type drop struct {
	before, after string

	// retire are the paths that go in the first release only if it retires them. Without paths, the first release does
	// what a later one does.
	retire []string
}

const (
	pods     = "spec.template.spec"
	web      = pods + ".containers[name=web]"
	httpGet  = "livenessProbe: {httpGet: {path: /, port: 80}}"
	emptyDir = "volumes: [{name: data, emptyDir: {}}]"
	settled  = "volumes: [{name: data, configMap: {name: settings}}]"
)

// A place is a part of a Deployment that drops change.
type place struct {
	in    func(d *appsv1.Deployment) any
	drops map[string]drop
}

func places() map[string]place {
	return map[string]place{
		"container":  {func(d *appsv1.Deployment) any { return &d.Spec.Template.Spec.Containers[0] }, containerDrops()},
		"pods":       {func(d *appsv1.Deployment) any { return &d.Spec.Template.Spec }, podDrops()},
		"Deployment": {func(d *appsv1.Deployment) any { return d }, deploymentDrops()},
	}
}

func containerDrops() map[string]drop {
	return map[string]drop{
		"a probe":           {httpGet, "", []string{web + ".livenessProbe"}},
		"a probe's handler": {httpGet, "livenessProbe: {exec: {command: [a]}}", nil},
		"a probe's scheme": {
			"livenessProbe: {httpGet: {port: 80, scheme: HTTPS}}",
			httpGet,
			[]string{web + ".livenessProbe.httpGet.scheme"},
		},
		"a probe's period": {
			"livenessProbe: {exec: {command: [a]}, periodSeconds: 7}",
			"livenessProbe: {exec: {command: [a]}}",
			[]string{web + ".livenessProbe.periodSeconds"},
		},
		"a variable":         {"env: [{name: A, value: x}]", "", []string{web + ".env[name=A]"}},
		"value -> valueFrom": {"env: [{name: A, value: x}]", "env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]", nil},
		"valueFrom -> value": {"env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]", "env: [{name: A, value: x}]", nil},
		"a port":             {"ports: [{name: http, containerPort: 80}]", "", []string{web + ".ports[containerPort=80,protocol=TCP]"}},
		"a port's number":    {"ports: [{name: http, containerPort: 80}]", "ports: [{name: http, containerPort: 81}]", nil},
		"resources":          {"resources: {limits: {cpu: 1, memory: 1Gi}}", "", []string{web + ".resources"}},
		"one of the resources": {
			"resources: {limits: {cpu: 1, memory: 1Gi}}",
			"resources: {limits: {cpu: 1}}",
			[]string{web + ".resources.limits[memory]", web + ".resources.requests[memory]"},
		},
		"a hook":             {"lifecycle: {preStop: {exec: {command: [a]}}}", "", []string{web + ".lifecycle"}},
		"a hook's handler":   {"lifecycle: {preStop: {httpGet: {port: 80}}}", "lifecycle: {preStop: {exec: {command: [a]}}}", nil},
		"a security context": {"securityContext: {readOnlyRootFilesystem: true}", "", []string{web + ".securityContext"}},
		"a setting of it": {
			"securityContext: {runAsUser: 7, privileged: true}",
			"securityContext: {runAsUser: 7}",
			[]string{web + ".securityContext.privileged"},
		},
		"arguments":           {"args: [a, b]", "args: [a]", nil},
		"all arguments":       {"args: [a, b]", "", []string{web + ".args"}},
		"a policy of pulling": {"imagePullPolicy: Always", "", []string{web + ".imagePullPolicy"}},
	}
}

func podDrops() map[string]drop {
	const two = "containers: [{name: web, image: nginx}, {name: more, image: envoy}]"
	return map[string]drop{
		"a container":          {two, "containers: [{name: web, image: nginx}]", []string{pods + ".containers[name=more]"}},
		"a container's name":   {"", "containers: [{name: app, image: 'nginx:1.29'}]", []string{web}},
		"an init container":    {"initContainers: [{name: more, image: envoy}]", "", []string{pods + ".initContainers[name=more]"}},
		"a volume":             {emptyDir, "", []string{pods + ".volumes[name=data]"}},
		"emptyDir > configMap": {emptyDir, settled, nil},
		"configMap > emptyDir": {settled, emptyDir, nil},
		"a volume's limit": {
			"volumes: [{name: data, emptyDir: {sizeLimit: 1Mi}}]",
			emptyDir,
			[]string{pods + ".volumes[name=data].emptyDir.sizeLimit"},
		},
		"a security context": {"securityContext: {fsGroup: 7}", "", []string{pods + ".securityContext"}},
		"affinity": {
			"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone}]}}",
			"",
			[]string{pods + ".affinity"},
		},
		"tolerations":         {"tolerations: [{key: a, operator: Exists}]", "", []string{pods + ".tolerations"}},
		"a label of nodes":    {"nodeSelector: {a: x, b: x}", "nodeSelector: {a: x}", nil},
		"all labels of nodes": {"nodeSelector: {a: x, b: x}", "", []string{pods + ".nodeSelector"}},
		"a grace period":      {"terminationGracePeriodSeconds: 60", "", []string{pods + ".terminationGracePeriodSeconds"}},
	}
}

func deploymentDrops() map[string]drop {
	const rolling = "spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2}}}"
	return map[string]drop{
		"a strategy":                {rolling, "spec: {strategy: {type: Recreate}}", nil},
		"the default strategy":      {"", "spec: {strategy: {type: Recreate}}", nil},
		"back to rolling updates":   {"spec: {strategy: {type: Recreate}}", rolling, nil},
		"a setting of the strategy": {rolling, "", []string{"spec.strategy"}},
		"replicas":                  {"spec: {replicas: 3}", "", []string{"spec.replicas"}},
		"seconds until it is ready": {"spec: {minReadySeconds: 7}", "", []string{"spec.minReadySeconds"}},
		"a limit of the history":    {"spec: {revisionHistoryLimit: 7}", "", []string{"spec.revisionHistoryLimit"}},
		"an annotation of pods": {
			"spec: {template: {metadata: {annotations: {a: x}}}}",
			"",
			[]string{"spec.template.metadata.annotations[a]"},
		},
		"a label of pods": {"spec: {template: {metadata: {labels: {a: x}}}}", "", []string{"spec.template.metadata.labels[a]"}},
		"a label and an annotation": {
			"metadata: {labels: {a: x, b: x}, annotations: {a: x}}",
			"metadata: {labels: {b: x}}",
			[]string{"metadata.labels[a]", "metadata.annotations[a]"},
		},
		"nothing but another number": {"spec: {replicas: 3}", "spec: {replicas: 2}", nil},
	}
}

// A scene is one of a drop: a Deployment in a namespace, in a form of desired.
type scene struct {
	t         *testing.T
	namespace string
	in        func(d *appsv1.Deployment) any
	written   func(*testing.T, client.Object) client.Object
	client    client.Client
}

func newScene(t *testing.T, at place, written func(*testing.T, client.Object) client.Object) scene {
	t.Helper()
	return scene{t: t, namespace: shared.Namespace(t), in: at.in, written: written, client: program.Client(t, shared, taker)}
}

func (s scene) desired(text string) *appsv1.Deployment {
	s.t.Helper()
	d := idle(s.namespace)
	require.NoError(s.t, yaml.UnmarshalStrict([]byte(text), s.in(d)))
	return d
}

// release is the first pass of a new release of the operator, and one that finds nothing to do.
func (s scene) release(text string, opts ...ensure.Option) ensure.Result[client.Object] {
	s.t.Helper()
	e, opts := ensure.New(s.client, s.client, taker), append(opts, ensure.Adopt(), ensure.MigrateFrom(oldName))
	result := ensureBesideControllers(s.t, e, s.written(s.t, s.desired(text)), opts...)
	again := ensureBesideControllers(s.t, e, s.written(s.t, s.desired(text)), opts...)
	require.Equal(s.t, ensure.Unchanged, again.Operation)
	return result
}

// A content is what counts of a Deployment: all but what controllers write, and our fields.
type content struct {
	Labels, Annotations map[string]string
	Spec                appsv1.DeploymentSpec
	Ours                any
}

func (s scene) content() content {
	s.t.Helper()
	live := liveOf(s.t, s.client, idle(s.namespace))
	c := content{Labels: live.Labels, Annotations: maps.Clone(live.Annotations), Spec: live.Spec}
	maps.DeleteFunc(c.Annotations, func(key, _ string) bool { return key == digest+taker || key == "deployment.kubernetes.io/revision" })
	if len(c.Annotations) == 0 {
		c.Annotations = nil
	}
	if own := managedfields.Applied(live, taker); own != nil {
		require.NoError(s.t, json.Unmarshal(own.FieldsV1.GetRawBytes(), &c.Ours))
	}
	return c
}

// TestDrops: what desired drops or changes after a migration ends as if the Deployment had been applied from the beginning.
func TestDrops(t *testing.T) { eachDrop(t, later) }

// TestDropsOfTheFirstRelease: if desired drops something in the first release, it stays until it is retired. What the API
// server would refuse otherwise is changed.
func TestDropsOfTheFirstRelease(t *testing.T) { eachDrop(t, first) }

// TestRetireInTheFirstRelease: what the first release retires goes with the migration.
func TestRetireInTheFirstRelease(t *testing.T) {
	eachDrop(t, atOnce, func(tc drop) bool { return tc.retire != nil })
}

func eachDrop(t *testing.T, test func(migrated, born scene, tc drop), only ...func(drop) bool) {
	t.Helper()
	for name, place := range places() {
		for about, tc := range place.drops {
			if len(only) > 0 && !only[0](tc) {
				continue
			}
			for form, written := range writings {
				t.Run(name+"/"+about+"/"+form, func(t *testing.T) {
					t.Parallel()
					s, born := newScene(t, place, written), newScene(t, place, written)
					require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), s.desired(tc.before)))
					born.release(tc.before)
					test(s, born, tc)
				})
			}
		}
	}
}

func later(s, born scene, tc drop) {
	s.t.Helper()
	was := s.content()
	require.Equal(s.t, ensure.Migrated, s.release(tc.before).Cause)
	is := s.content()
	require.Empty(s.t, cmp.Diff(was.Spec, is.Spec), "the migration changes nothing")
	require.Empty(s.t, cmp.Diff(born.content(), is), "and all that desired has is ours")

	kept, bornKept := s.release(tc.after).Kept, born.release(tc.after).Kept
	require.Empty(s.t, cmp.Diff(born.content(), s.content()))
	require.Empty(s.t, cmp.Diff(bornKept, kept))
}

func first(s, born scene, tc drop) {
	s.t.Helper()
	born.release(tc.after)
	was, result := s.content(), s.release(tc.after)
	if tc.retire != nil {
		require.Equal(s.t, ensure.Migrated, result.Cause)
		require.NotEmpty(s.t, result.Kept)
		requireNothingGone(s.t, was.Spec, s.content().Spec)
		s.release(tc.after, ensure.Retire(tc.retire...))
	}
	require.Empty(s.t, cmp.Diff(born.content(), s.content()))
}

func atOnce(s, born scene, tc drop) {
	s.t.Helper()
	born.release(tc.after)
	require.Equal(s.t, ensure.Migrated, s.release(tc.after, ensure.Retire(tc.retire...)).Cause)
	require.Empty(s.t, cmp.Diff(born.content(), s.content()))
}

// requireNothingGone fails if is lacks a field, an item or a key of was.
func requireNothingGone(t *testing.T, was, is appsv1.DeploymentSpec) {
	t.Helper()
	var before, after any
	for spec, into := range map[*appsv1.DeploymentSpec]*any{&was: &before, &is: &after} {
		text, err := json.Marshal(spec)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, into))
	}
	requireInside(t, before, after, "spec")
}

func requireInside(t *testing.T, was, is any, at string) {
	t.Helper()
	switch was := was.(type) {
	case map[string]any:
		members, ok := is.(map[string]any)
		require.True(t, ok, at)
		for name, value := range was {
			require.Contains(t, members, name, at)
			requireInside(t, value, members[name], at+"."+name)
		}
	case []any:
		require.IsType(t, was, is, at)
		require.GreaterOrEqual(t, len(is.([]any)), len(was), at)
	}
}
