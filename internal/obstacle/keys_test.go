package obstacle_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/internal/managedfields"
)

func TestCompleteKeys(t *testing.T) {
	const custom = "apiVersion: example.com/v1\n"
	items := []metav1.ManagedFieldsEntry{updated("kubectl-edit", `{"f:spec":{"f:items":{"k:{\"a\":1,\"b\":\"there\"}":{".":{}}}}}`)}
	ports := []metav1.ManagedFieldsEntry{updated("kubectl-edit", inPorts(metrics))}
	for name, tc := range map[string]struct {
		why     string
		desired string
		entries []metav1.ManagedFieldsEntry
		want    string // of the spec
		lacking []string
	}{
		"whole keys": {
			"nothing is to be done", custom + "spec: {items: [{a: 1, b: here}]}", items, `{"items":[{"a":1,"b":"here"}]}`, nil,
		},
		"a kind of Kubernetes": {
			"its default is known", "spec: {ports: [{port: 80}]}", ports, `{"ports":[{"port":80,"protocol":"TCP"}]}`, nil,
		},
		"a custom kind": {
			"its default is not", custom + "spec: {ports: [{port: 80}]}", ports, `{"ports":[{"port":80}]}`, []string{"spec.ports"},
		},
		"a member of no default": {
			"the API server refuses it", "spec: {items: [{a: 1}]}", items, `{"items":[{"a":1}]}`, []string{"spec.items"},
		},
		"a list that nobody owns items of": {
			"it has no keys that anything tells", custom + "spec: {other: [{a: 1}]}", items, `{"other":[{"a":1}]}`, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := scene{"metadata: {name: a}", tc.desired, tc.entries, nil}.merge(t)
			var lacking []string
			for _, path := range m.CompleteKeys() {
				lacking = append(lacking, managedfields.Text(path))
			}
			require.Empty(t, cmp.Diff(tc.lacking, lacking), tc.why)
			operations, err := json.Marshal(m.Trial(nil))
			require.NoError(t, err)
			require.JSONEq(t, `[{"op":"add","path":"/spec","value":`+tc.want+`}]`, string(operations), tc.why)
		})
	}
}
