package operator

import (
	"context"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/ensure"
)

// LogWrite logs what ensure did to a child, if it did something: what, why and to
// which paths. Values other than numbers and booleans are not in a Result. The zero
// Result, that of an error, did nothing.
func LogWrite[T client.Object](ctx context.Context, result ensure.Result[T]) {
	if result.Operation == ensure.Unchanged || result.Operation == "" {
		return
	}
	changes := make([]string, len(result.Changes))
	for i, change := range result.Changes {
		changes[i] = change.String()
	}
	log.FromContext(ctx).Info("wrote child",
		"kind", Kind(result.Live),
		"child", result.Live.GetName(),
		"operation", result.Operation,
		"cause", result.Cause,
		"changes", changes)
}

// Kind is the kind of an object of a Go type of k8s.io/api, which is the type's name.
func Kind(obj client.Object) string {
	return reflect.TypeOf(obj).Elem().Name()
}
