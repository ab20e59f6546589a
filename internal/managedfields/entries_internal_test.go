package managedfields

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestEntries reads the managed fields of unstructured objects as the typed object has them.
func TestEntries(t *testing.T) {
	for name, text := range map[string]string{
		"usual": `[{"manager":"a","operation":"Apply","apiVersion":"v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1",
			"fieldsV1":{"f:spec":{".":{},"f:x":{},"k:{\"port\":80}":{"f:port":{}}}}},
			{"manager":"b","operation":"Update","apiVersion":"v1","subresource":"status","fieldsV1":{"f:status":{}}}]`,
		"no time":   `[{"manager":"a","operation":"Update"}]`,
		"unknown":   `[{"manager":"a","other":"x"}]`,
		"none":      `[]`,
		"null time": `[{"manager":"a","time":null}]`,
	} {
		t.Run(name, func(t *testing.T) {
			var typed metav1.PartialObjectMetadata
			var dynamic unstructured.Unstructured
			object := []byte(`{"metadata":{"name":"x","managedFields":` + text + `}}`)
			require.NoError(t, json.Unmarshal(object, &typed))
			require.NoError(t, json.Unmarshal(object, &dynamic.Object))
			entries := Entries(&dynamic)
			require.Len(t, entries, len(typed.ManagedFields))
			for i, want := range typed.ManagedFields {
				if want.FieldsV1 != nil {
					require.JSONEq(t, string(Raw(want.FieldsV1)), string(Raw(entries[i].FieldsV1)))
					want.FieldsV1, entries[i].FieldsV1 = nil, nil
				}
				require.Equal(t, want, entries[i])
			}
			require.Equal(t, len(entries) > 0, HasAny(&dynamic))
			require.Equal(t, len(entries) > 0, HasAny(&typed))
		})
	}
	malformed := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": []any{"x"}}}}
	require.Equal(t, malformed.GetManagedFields(), Entries(malformed))
}
