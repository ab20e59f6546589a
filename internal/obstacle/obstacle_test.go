package obstacle_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
)

const owner = "operator"

// A scene is a live object, in YAML, and who owns what of it.
type scene struct {
	live, desired string
	entries       []metav1.ManagedFieldsEntry
	named         []string // by the server, in its refusal
}

func (s scene) merge(t *testing.T) *obstacle.Merge {
	t.Helper()
	live := parse(t, s.live)
	live.SetManagedFields(s.entries)
	return obstacle.Of(live, parse(t, s.desired), owner, fieldpath.NewSet())
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte("apiVersion: v1\nkind: Thing\n" + text))
	require.NoError(t, err)
	obj := &unstructured.Unstructured{}
	require.NoError(t, obj.UnmarshalJSON(data))
	return obj
}

func applied(manager, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: managedfields.NewFields(fields),
	}
}

func updated(manager, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: managedfields.NewFields(fields),
	}
}

func later(entry metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	entry.Time = &metav1.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	return entry
}

func through(subresource string, entry metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	entry.Subresource = subresource
	return entry
}

const (
	editedPort = `
metadata: {name: web, labels: {theirs: x}}
spec:
  ports:
  - {name: http, port: 81, protocol: TCP, nodePort: 30000}
  - {name: metrics, port: 9090, protocol: TCP}
`
	port80      = "spec: {ports: [{name: http, port: 80}]}"
	foreignHTTP = `"k:{\"port\":81,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:nodePort":{},"f:port":{},"f:protocol":{}}`
	metrics     = `"k:{\"port\":9090,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{}}`
	label       = `"f:metadata":{"f:labels":{".":{},"f:theirs":{}}}`
)

func inPorts(items string) string { return `{` + label + `,"f:spec":{"f:ports":{` + items + `}}}` }

func TestObstacles(t *testing.T) {
	for name, tc := range map[string]struct {
		why string
		scene
		want []string
	}{
		"an edited item": {
			"the server names an item of the merged list, which is ours",
			scene{editedPort, port80, []metav1.ManagedFieldsEntry{
				updated("kubectl-edit", inPorts(foreignHTTP)), updated("prometheus", inPorts(metrics)),
			}, []string{"spec.ports[2].name"}},
			[]string{"spec.ports[port=81,protocol=TCP]", "spec.ports[port=9090,protocol=TCP]"},
		},
		"the newest first": {
			"of those that are as near",
			scene{editedPort, port80, []metav1.ManagedFieldsEntry{
				updated("kubectl-edit", inPorts(foreignHTTP)), later(updated("prometheus", inPorts(metrics))),
			}, []string{"spec"}},
			[]string{"spec.ports[port=9090,protocol=TCP]", "spec.ports[port=81,protocol=TCP]"},
		},
		"another's apply": {
			"it would come back",
			scene{editedPort, port80, []metav1.ManagedFieldsEntry{
				updated("kubectl-edit", inPorts(foreignHTTP)), applied("prometheus", inPorts(metrics)),
			}, nil},
			[]string{"spec.ports[port=81,protocol=TCP]"},
		},
		"a subresource": {
			"likewise",
			scene{"spec: {replicas: 3, paused: true}", "spec: {size: 1}", []metav1.ManagedFieldsEntry{
				through("scale", updated("autoscaler", `{"f:spec":{"f:replicas":{}}}`)), updated("kubectl-edit", `{"f:spec":{"f:paused":{},"f:replicas":{}}}`),
			}, nil},
			[]string{"spec.paused"},
		},
		"our own apply": {
			"the next one drops it anyway",
			scene{"spec: {old: 1, size: 1}", "spec: {size: 1}", []metav1.ManagedFieldsEntry{applied(owner, `{"f:spec":{"f:old":{},"f:size":{}}}`)}, []string{"spec.size"}},
			nil,
		},
		"a whole struct": {
			"what is left of it may be invalid; its parts come after it",
			scene{"spec: {oci: {ref: x, tag: y}, git: {url: z}}", "spec: {git: {url: z}}", []metav1.ManagedFieldsEntry{
				updated("kubectl-edit", `{"f:spec":{"f:oci":{".":{},"f:ref":{},"f:tag":{}}}}`),
			}, []string{"spec"}},
			[]string{"spec.oci"},
		},
		"the smaller part that is named": {
			"less may do",
			scene{"spec: {oci: {ref: x, tag: y}, git: {url: z}}", "spec: {git: {url: z}}", []metav1.ManagedFieldsEntry{
				updated("kubectl-edit", `{"f:spec":{"f:oci":{".":{},"f:ref":{},"f:tag":{}}}}`),
			}, []string{"spec.OCI.ref"}},
			[]string{"spec.oci.ref", "spec.oci"},
		},
		"around what another applies": {
			"that stays",
			scene{"spec: {oci: {ref: x, tag: y}}", "spec: {git: {url: z}}", []metav1.ManagedFieldsEntry{
				updated("kubectl-edit", `{"f:spec":{"f:oci":{".":{},"f:ref":{},"f:tag":{}}}}`), applied("flux", `{"f:spec":{"f:oci":{"f:tag":{}}}}`),
			}, nil},
			[]string{"spec.oci.ref"},
		},
		"a default that is named": {
			"nobody owns it",
			scene{
				"spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}", "spec: {strategy: {type: Recreate}}",
				[]metav1.ManagedFieldsEntry{applied(owner, `{"f:spec":{"f:strategy":{"f:type":{}}}}`)},
				[]string{"spec.strategy.rollingUpdate"},
			},
			[]string{"spec.strategy.rollingUpdate"},
		},
		"a known default that is named": {
			"nobody owns it, as the API server tells",
			scene{
				"spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}", "spec: {strategy: {type: Recreate}}",
				[]metav1.ManagedFieldsEntry{
					applied(owner, `{"f:spec":{"f:strategy":{"f:type":{}}}}`),
					updated("", `{"f:spec":{"f:strategy":{"f:rollingUpdate":{"f:maxSurge":{}}}}}`),
				},
				[]string{"spec.strategy.rollingUpdate"},
			},
			[]string{"spec.strategy.rollingUpdate"},
		},
		"a default that is not named": {
			"nothing shows that it is in the way",
			scene{
				"spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}", "spec: {strategy: {type: Recreate}}",
				[]metav1.ManagedFieldsEntry{applied(owner, `{"f:spec":{"f:strategy":{"f:type":{}}}}`)},
				[]string{"spec.strategy"},
			},
			nil,
		},
		"what desired specifies": {
			"an apply takes that by force",
			scene{"spec: {size: 3}", "spec: {size: 1}", []metav1.ManagedFieldsEntry{updated("kubectl-edit", `{"f:spec":{"f:size":{}}}`)}, []string{"spec.size"}},
			nil,
		},
		"a part of an item that desired lacks": {
			"a user's item goes whole or not at all",
			scene{editedPort, port80, []metav1.ManagedFieldsEntry{updated("kubectl-edit", inPorts(foreignHTTP))}, []string{"spec.ports[0].nodePort"}},
			[]string{"spec.ports[port=81,protocol=TCP]"},
		},
		"what live lacks": {
			"the entry is of another version",
			scene{"spec: {size: 1}", "spec: {size: 1}", []metav1.ManagedFieldsEntry{updated("kubectl-edit", `{"f:spec":{"f:amount":{}}}`)}, nil},
			nil,
		},
		"metadata, status and spec itself": {
			"never",
			scene{"metadata: {labels: {a: b}}\nstatus: {a: b}\nspec: {a: b}", "data: {}", []metav1.ManagedFieldsEntry{
				updated("kubectl-edit", `{"f:metadata":{"f:labels":{"f:a":{}}},"f:status":{"f:a":{}},"f:spec":{".":{},"f:a":{}}}`),
			}, []string{"metadata.labels", "status", "spec"}},
			[]string{"spec.a"},
		},
		"a member of a set": {
			"it is one item",
			scene{"spec: {actions: [Warn, Deny]}", "spec: {actions: [Deny]}", []metav1.ManagedFieldsEntry{
				updated("kubectl-edit", `{"f:spec":{"f:actions":{"v:\"Warn\"":{}}}}`), applied(owner, `{"f:spec":{"f:actions":{"v:\"Deny\"":{}}}}`),
			}, []string{"spec.actions"}},
			[]string{"spec.actions[Warn]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, cmp.Diff(tc.want, textsOf(tc.merge(t).Obstacles(tc.named))), tc.why)
		})
	}
}

func textsOf(obstacles []obstacle.Obstacle) []string {
	var texts []string
	for _, o := range obstacles {
		texts = append(texts, managedfields.Text(o.Path))
	}
	return texts
}

func TestFixed(t *testing.T) {
	s := scene{editedPort, port80, []metav1.ManagedFieldsEntry{
		updated("kubectl-edit", inPorts(foreignHTTP)), applied("prometheus", inPorts(metrics)), applied(owner, `{"f:spec":{}}`),
	}, nil}
	fixed := s.merge(t).Fixed()
	require.Empty(t, cmp.Diff([]string{"spec.ports[port=9090,protocol=TCP]"}, textsOf(fixed)))
	require.Equal(t, []string{"prometheus"}, fixed[0].Managers)
}

// A trial is what the server would make of live, as a patch of the parts of the object.
func TestTrial(t *testing.T) {
	both := []metav1.ManagedFieldsEntry{updated("kubectl-edit", inPorts(foreignHTTP)), updated("prometheus", inPorts(metrics))}
	for name, tc := range map[string]struct {
		why string
		scene
		without int // how many of the obstacles
		want    string
	}{
		"without an item": {
			"the others stay",
			scene{editedPort, port80, both, []string{"spec.ports[2].name"}},
			1,
			`[{"op":"add","path":"/spec","value":{"ports":[{"name":"metrics","port":9090,"protocol":"TCP"},{"name":"http","port":80,"protocol":"TCP"}]}}]`,
		},
		"what the apply drops": {
			"it is ours alone, but for what another owns too",
			scene{"spec: {old: 1, shared: 2, size: 1}", "spec: {size: 2}", []metav1.ManagedFieldsEntry{
				applied(owner, `{"f:spec":{"f:old":{},"f:shared":{},"f:size":{}}}`), updated("kubectl-edit", `{"f:spec":{"f:shared":{}}}`),
			}, nil},
			0,
			`[{"op":"add","path":"/spec","value":{"shared":2,"size":2}}]`,
		},
		"a map that is written as one": {
			"it is replaced",
			scene{"spec: {selector: {a: b}}", "spec: {selector: {c: d}}", []metav1.ManagedFieldsEntry{updated("kubectl-edit", `{"f:spec":{"f:selector":{}}}`)}, nil},
			0,
			`[{"op":"add","path":"/spec","value":{"selector":{"c":"d"}}}]`,
		},
		"a list that is written as one": {
			"likewise",
			scene{"spec: {args: [a, b]}", "spec: {args: [c]}", []metav1.ManagedFieldsEntry{updated("kubectl-edit", `{"f:spec":{"f:args":{}}}`)}, nil},
			0,
			`[{"op":"add","path":"/spec","value":{"args":["c"]}}]`,
		},
		"labels and annotations": {
			"a policy may ask for them; those of others stay",
			scene{"metadata: {labels: {a: b}}", "metadata: {labels: {c/d: e}, annotations: {f: g}}", nil, nil},
			0,
			`[{"op":"add","path":"/metadata/annotations","value":{"f":"g"}},{"op":"add","path":"/metadata/labels","value":{"a":"b","c/d":"e"}}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := tc.merge(t)
			operations, err := json.Marshal(m.Trial(m.Obstacles(tc.named)[:tc.without]))
			require.NoError(t, err)
			require.JSONEq(t, tc.want, string(operations), tc.why)
		})
	}
}

// What was tried is taken only as long as it is the same.
func TestAgain(t *testing.T) {
	entries := []metav1.ManagedFieldsEntry{updated("kubectl-edit", inPorts(foreignHTTP))}
	before := scene{editedPort, port80, entries, []string{"spec.ports[2].name"}}.merge(t).Obstacles([]string{"spec.ports[2].name"})
	require.Len(t, before, 1)
	for name, tc := range map[string]struct {
		scene
		want bool
	}{
		"moved":   {scene{"spec: {ports: [{name: x, port: 1, protocol: TCP}, {name: http, port: 81, protocol: TCP, nodePort: 30000}]}", port80, entries, nil}, true},
		"changed": {scene{"spec: {ports: [{name: http, port: 81, protocol: TCP, nodePort: 30001}]}", port80, entries, nil}, false},
		"gone":    {scene{"spec: {}", port80, entries, nil}, false},
		"applied": {scene{editedPort, port80, append(entries, applied("flux", inPorts(foreignHTTP))), nil}, false},
	} {
		t.Run(name, func(t *testing.T) {
			again, ok := tc.merge(t).Again(before)
			require.Equal(t, tc.want, ok)
			if ok {
				require.Equal(t, "/spec/ports/1", again[0].Pointer)
			}
		})
	}
}

// With what desired drops, somebody's sidecar that needs it is fine.
func TestTrialWithDropped(t *testing.T) {
	theirs := updated("kubectl-edit", `{"f:spec":{"f:sidecar":{},"f:backup":{"f:bucket":{}}}}`)
	for name, tc := range map[string]struct {
		why string
		scene
		beside bool   // is the first obstacle
		want   string // of the spec
	}{
		"an item": {
			"a volume, say",
			scene{"spec: {size: 1, sidecar: x, volumes: [{name: data}]}", "spec: {other: 2}", []metav1.ManagedFieldsEntry{
				theirs, applied(owner, `{"f:spec":{"f:volumes":{"k:{\"name\":\"data\"}":{".":{},"f:name":{}}}}}`),
			}, nil},
			true, `{"size":1,"sidecar":"x","volumes":[{"name":"data"}],"other":2}`,
		},
		"a field": {
			"hostNetwork, say",
			scene{"spec: {size: 1, sidecar: x}", "spec: {other: 2}", []metav1.ManagedFieldsEntry{theirs, applied(owner, `{"f:spec":{"f:size":{}}}`)}, nil},
			true, `{"size":1,"sidecar":"x","other":2}`,
		},
		"what it is a part of": {
			"nothing is left that it could belong to",
			scene{"spec: {backup: {schedule: daily, bucket: b}}", "spec: {other: 2}", []metav1.ManagedFieldsEntry{
				theirs, applied(owner, `{"f:spec":{"f:backup":{"f:schedule":{}}}}`),
			}, nil},
			false, `{"backup":{"schedule":"daily","bucket":"b"},"other":2}`,
		},
		"nothing": {
			"desired only changes",
			scene{"spec: {size: 1, sidecar: x}", "spec: {size: 2}", []metav1.ManagedFieldsEntry{theirs, applied(owner, `{"f:spec":{"f:size":{}}}`)}, nil},
			false, `{"size":2,"sidecar":"x"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := tc.merge(t)
			require.Equal(t, tc.beside, m.IsBesideDropped(m.Obstacles(nil)[0]), tc.why)
			operations, err := json.Marshal(m.TrialWithDropped(nil))
			require.NoError(t, err)
			require.JSONEq(t, `[{"op":"add","path":"/spec","value":`+tc.want+`}]`, string(operations), tc.why)
		})
	}
}
