package obstacle_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestKeepingTaken: desired keeps live's values where somebody else took a field that desired specifies.
func TestKeepingTaken(t *testing.T) {
	const inPort = `{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:note":{},"f:port":{},"f:sealed":{}}}}}`
	const inBoth = `{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}},"f:size":{},"f:tolerations":{}}}`
	for name, tc := range map[string]struct {
		why string
		scene
		want    string
		isTaken bool
	}{
		"an item whose key has a default": {
			"the key is completed",
			scene{
				"spec: {ports: [{port: 80, protocol: TCP, note: theirs, sealed: true}], size: 1}", "spec: {ports: [{port: 80, note: ours}], size: 2}",
				[]metav1.ManagedFieldsEntry{updated("kubectl-edit", inPort), applied(owner, inBoth)},
				nil,
			},
			`[{"op":"add","path":"/spec","value":{"ports":[{"port":80,"protocol":"TCP","note":"theirs","sealed":true}],"size":2}}]`, true,
		},
		"a list without keys": {
			"it is taken as a whole, also by our own update",
			scene{
				"spec: {tolerations: [a, b], size: 1}", "spec: {tolerations: [a], size: 2}",
				[]metav1.ManagedFieldsEntry{updated(owner, `{"f:spec":{"f:tolerations":{}}}`), applied(owner, `{"f:spec":{"f:size":{}}}`)},
				nil,
			},
			`[{"op":"add","path":"/spec","value":{"tolerations":["a","b"],"size":2}}]`, true,
		},
		"a field of our applies": {
			"a webhook changed it, or desired did",
			scene{
				"spec: {tolerations: [a, b], size: 1}", "spec: {tolerations: [a], size: 2}",
				[]metav1.ManagedFieldsEntry{updated("kubectl-edit", `{"f:spec":{"f:tolerations":{}}}`), applied(owner, inBoth)},
				nil,
			},
			`[{"op":"add","path":"/spec","value":{"tolerations":["a"],"size":2}}]`, false,
		},
		"a field that is the same": {
			"nobody changed it",
			scene{"spec: {size: 1}", "spec: {size: 1}", []metav1.ManagedFieldsEntry{updated("kubectl-edit", `{"f:spec":{"f:size":{}}}`)}, nil},
			`null`, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			kept, isTaken := tc.merge(t).KeepingTaken()
			require.Equal(t, tc.isTaken, isTaken, tc.why)
			operations, err := json.Marshal(kept.Trial(nil))
			require.NoError(t, err)
			require.JSONEq(t, tc.want, string(operations), tc.why)
		})
	}
}
