package contest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/ensure/internal/contest"
	"github.com/trueup-go/trueup/internal/managedfields"
)

func TestRivalIn(t *testing.T) {
	const color, shape = `{"f:data":{"f:color":{}}}`, `{"f:data":{"f:shape":{}}}`
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	entry := func(manager, fields string, at time.Time) metav1.ManagedFieldsEntry {
		operation := metav1.ManagedFieldsOperationUpdate
		if manager == fieldOwner {
			operation = metav1.ManagedFieldsOperationApply
		}
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: operation, Time: &metav1.Time{Time: at}, FieldsV1: managedfields.NewFields(fields),
		}
	}
	own := entry(fieldOwner, color, noon)
	status := entry("kubelet", color, noon.Add(time.Second))
	status.Subresource = "status"
	untimed := entry("scaler", shape, noon)
	untimed.Time = nil
	cases := map[string]struct {
		reason  string
		entries []metav1.ManagedFieldsEntry
		want    string
	}{
		"a manager that owns the field": {"it changed the value", []metav1.ManagedFieldsEntry{own, entry("helm", color, noon)}, "helm"},
		"two managers that own the field": {
			"the latest changed it last",
			[]metav1.ManagedFieldsEntry{own, entry("helm", color, noon), entry("kubectl-edit", color, noon.Add(time.Second))},
			"kubectl-edit",
		},
		"a later writer of another field": {
			"it may have removed the field with the same write", []metav1.ManagedFieldsEntry{own, entry("helm", shape, noon)}, "helm",
		},
		"an earlier writer of another field": {
			"the last write was not its own", []metav1.ManagedFieldsEntry{own, entry("helm", shape, noon.Add(-time.Second))}, "",
		},
		"a writer without a time": {"nothing shows that it was later", []metav1.ManagedFieldsEntry{own, untimed}, ""},
		"a writer of the status":  {"that changes no field of desired", []metav1.ManagedFieldsEntry{own, status}, ""},
		"no entries":              {"the cache strips them", nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := &metav1.ObjectMeta{ManagedFields: tc.entries}
			require.Equal(t, tc.want, contest.RivalIn(obj, fieldOwner, []string{"data[color]"}), tc.reason)
		})
	}
}
