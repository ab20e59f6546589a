package managedfields_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/internal/managedfields"
)

func entry(manager string, operation metav1.ManagedFieldsOperationType, version, subresource, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, APIVersion: "example.com/" + version, Subresource: subresource,
		FieldsType: "FieldsV1", FieldsV1: managedfields.NewFields(fields), Time: &metav1.Time{Time: time.Unix(1, 0)},
	}
}

func TestSetAPIVersion(t *testing.T) {
	live := &corev1.ConfigMap{}
	live.UID = "1c8e"
	live.ManagedFields = []metav1.ManagedFieldsEntry{
		entry("ours", metav1.ManagedFieldsOperationApply, "v2", "", `{"f:spec":{"f:color":{}}}`),
		entry("kubectl-edit", metav1.ManagedFieldsOperationUpdate, "v1", "", `{"f:spec":{"f:size":{}}}`),
		entry("kubectl-edit", metav1.ManagedFieldsOperationUpdate, "v1", "status", `{"f:status":{"f:phase":{}}}`),
		entry("kubectl-edit", metav1.ManagedFieldsOperationApply, "v1", "", `{"f:metadata":{}}`),
		entry("kubectl-edit", metav1.ManagedFieldsOperationUpdate, "v2", "", `{"f:spec":{"f:unit":{}}}`),
	}
	require.True(t, managedfields.HasOtherVersions(live, "example.com/v2"))
	p := managedfields.NewPatch(live)
	p.SetAPIVersion("example.com/v2")

	type operation struct {
		Op, Path string
		Value    struct{ APIVersion, Manager string }
	}
	var changes []operation
	tests := map[string]bool{}
	for _, o := range p.Operations() {
		text, err := json.Marshal(o)
		require.NoError(t, err)
		if o.Op == "test" {
			tests[o.Path] = true
			continue
		}
		var change operation
		require.NoError(t, json.Unmarshal(text, &change))
		require.True(t, tests[change.Path], "%s is not tested", change.Path)
		changes = append(changes, change)
		if change.Op == "replace" {
			require.Equal(t, "example.com/v2", change.Value.APIVersion)
		}
		if change.Path == "/metadata/managedFields/4" {
			require.Contains(t, string(text), `{"f:spec":{"f:size":{},"f:unit":{}}}`)
		}
	}
	var paths []string
	for _, change := range changes {
		paths = append(paths, change.Op+" "+change.Path)
	}
	require.Equal(t, []string{
		"replace /metadata/managedFields/2", "replace /metadata/managedFields/3", "replace /metadata/managedFields/4",
		"remove /metadata/managedFields/1",
	}, paths)
	require.Len(t, tests, 5, "the UID, and each entry that changes")
}

func TestSetAPIVersionOfWhatHasIt(t *testing.T) {
	live := &corev1.ConfigMap{}
	live.ManagedFields = []metav1.ManagedFieldsEntry{entry("ours", metav1.ManagedFieldsOperationApply, "v2", "", `{}`)}
	require.False(t, managedfields.HasOtherVersions(live, "example.com/v2"))
	p := managedfields.NewPatch(live)
	p.SetAPIVersion("example.com/v2")
	require.Empty(t, p.Operations())
}
