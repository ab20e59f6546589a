package finalizer

import (
	"context"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/jsonpatch"
)

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

func (h *handling) operations(wanted []string) []jsonpatch.Operation {
	var operations []jsonpatch.Operation
	if h.uid != "" {
		operations = append(operations, jsonpatch.Test("/metadata/uid", h.uid))
	}
	var found any // null: there is none
	if len(h.finalizers) > 0 {
		found = h.finalizers
	}
	return append(operations, jsonpatch.Test("/metadata/finalizers", found), jsonpatch.Add("/metadata/finalizers", wanted))
}

func optionsFor(obj client.Object) []client.PatchOption {
	if _, ok := obj.(runtime.Unstructured); ok {
		// controller-runtime 0.25 books patches of unstructured objects under the typed
		// representation, where nobody waits for them.
		return []client.PatchOption{client.DisableReadYourWritesConsistency}
	}
	return nil
}
