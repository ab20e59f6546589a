package obstacle_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/managedfields"
)

// inItems are fields of items that have members a and b for their key.
func inItems(keys ...string) string {
	fields := ""
	for _, key := range keys {
		if fields != "" {
			fields += ","
		}
		name, _ := json.Marshal("k:" + key)
		fields += string(name) + `:{".":{},"f:c":{}}`
	}
	return `{"f:spec":{"f:items":{` + fields + `}}}`
}

func TestCompleteKeys(t *testing.T) {
	const custom = "apiVersion: example.com/v1\n"
	live := []metav1.ManagedFieldsEntry{updated("kubectl-edit", inItems(`{"a":1,"b":"there"}`))}
	ports := []metav1.ManagedFieldsEntry{updated("kubectl-edit", inPorts(metrics))}
	for name, tc := range map[string]struct {
		why     string
		desired string
		entries []metav1.ManagedFieldsEntry
		applied string // if known
		want    string // of the spec; empty if keys are lacking
	}{
		"whole keys": {
			"nothing is to be done", custom + "spec: {items: [{a: 1, b: here}]}", live, "", `{"items":[{"a":1,"b":"here"}]}`,
		},
		"a kind of Kubernetes": {
			"its default is known", "spec: {ports: [{port: 80}]}", ports, "", `{"ports":[{"port":80,"protocol":"TCP"}]}`,
		},
		"a custom kind": {
			"its default is not", custom + "spec: {ports: [{port: 80}]}", ports, "", "",
		},
		"a custom kind that was applied": {
			"its default is that of the answer", custom + "spec: {items: [{a: 1}, {a: 2, b: there}]}", live,
			inItems(`{"a":1,"b":"here"}`, `{"a":2,"b":"there"}`), `{"items":[{"a":1,"b":"here"},{"a":2,"b":"there"}]}`,
		},
		"the key of another item": {
			"is not that of this one", custom + "spec: {items: [{a: 1}, {a: 1, b: there}]}", live,
			inItems(`{"a":1,"b":"here"}`, `{"a":1,"b":"there"}`), `{"items":[{"a":1,"b":"here"},{"a":1,"b":"there"}]}`,
		},
		"an item that only another one tells": {
			"it is complete once that one is", custom + "spec: {items: [{a: 1}, {b: here}]}", live,
			inItems(`{"a":1,"b":"here"}`, `{"a":1,"b":"there"}`), `{"items":[{"a":1,"b":"there"},{"a":1,"b":"here"}]}`,
		},
		"two keys that one item may have": {
			"it has neither", custom + "spec: {items: [{a: 1}]}", live, inItems(`{"a":1,"b":"here"}`, `{"a":1,"b":"there"}`), "",
		},
		"a list that nobody owns items of": {
			"it has no keys that anything tells", custom + "spec: {other: [{a: 1}]}", live, "", `{"other":[{"a":1}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := scene{"metadata: {name: a}", tc.desired, tc.entries, nil}.merge(t)
			var applied *fieldpath.Set
			if tc.applied != "" {
				entry := updated("", tc.applied)
				applied = managedfields.Fields(&entry)
			}
			lacking := m.CompleteKeys(applied)
			require.Equal(t, tc.want == "", len(lacking) > 0, tc.why)
			if tc.want == "" {
				return
			}
			operations, err := json.Marshal(m.Trial(nil))
			require.NoError(t, err)
			require.JSONEq(t, `[{"op":"add","path":"/spec","value":`+tc.want+`}]`, string(operations), tc.why)
		})
	}
}
