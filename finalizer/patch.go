package finalizer

import (
	"context"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/consistency"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/object"
)

// setFinalizers sets the finalizers to wanted if the object and the list are still those that
// were read. An optimistic lock would also fail for every change of another field, such as a
// heartbeat in the status.
func (h *handling) setFinalizers(ctx context.Context, wanted []string) error {
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
	var current any // null: there is no list
	if len(h.finalizers) > 0 {
		current = h.finalizers
	}
	return append(operations, jsonpatch.Test("/metadata/finalizers", current), jsonpatch.Add("/metadata/finalizers", wanted))
}

func optionsFor(obj client.Object) []client.PatchOption {
	if object.IsPatchMisrecorded(obj) {
		return []client.PatchOption{consistency.Off}
	}
	return nil
}
