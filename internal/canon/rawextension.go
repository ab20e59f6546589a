package canon

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// A rawExtensionPlan reads an object inside a RawExtension like any other value. The type's own
// MarshalJSON writes the output of encoding/json, including every empty struct that a later API version
// adds.
type rawExtensionPlan struct{ jsonPlan }

func (p rawExtensionPlan) append(e *encoder, v place) error {
	if extension := as[runtime.RawExtension](v); extension.Raw == nil && extension.Object != nil {
		return e.any(extension.Object)
	}
	return p.jsonPlan.append(e, v)
}
