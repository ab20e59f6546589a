package finalizer

import (
	"context"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// set makes the list wanted if it still is what was read, of the object that was read.
// An optimistic lock would do so too, and fail for every heartbeat in the status.
func (h *handling) set(ctx context.Context, wanted []string) error {
	patch, err := json.Marshal(h.operations(wanted))
	if err != nil {
		return err
	}
	if err := h.client.Patch(ctx, h.obj, client.RawPatch(types.JSONPatchType, patch), optionsFor(h.obj)...); err != nil {
		return err
	}
	h.finalizers = slices.Clone(h.obj.GetFinalizers())
	return nil
}

func (h *handling) operations(wanted []string) []operation {
	operations := []operation{
		{Op: "test", Path: "/metadata/finalizers"}, // null: there is none
		{Op: "add", Path: "/metadata/finalizers", Value: wanted},
	}
	if len(h.finalizers) > 0 {
		operations[0].Value = h.finalizers
	}
	if h.uid != "" {
		operations = slices.Insert(operations, 0, operation{Op: "test", Path: "/metadata/uid", Value: h.uid})
	}
	return operations
}

func optionsFor(obj client.Object) []client.PatchOption {
	if _, ok := obj.(runtime.Unstructured); ok {
		// controller-runtime 0.25 books patches of unstructured objects under the typed
		// representation, where nobody waits for them.
		return []client.PatchOption{client.DisableReadYourWritesConsistency}
	}
	return nil
}
