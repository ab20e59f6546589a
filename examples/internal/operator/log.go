package operator

import (
	"context"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/ensure"
)

// LogWrites logs the writes of ensure.Set: the operation, the cause and the changed paths. A Result
// contains no values other than numbers and booleans. Children that Set did not reach, and objects
// pruned in an earlier pass, are not logged.
func LogWrites(ctx context.Context, results ensure.Results) {
	for _, child := range results.Children {
		LogWrite(ctx, child)
	}
	for _, rest := range results.Pruned {
		if rest.Cause != "" {
			logWrite(ctx, "pruned child", rest)
		}
	}
}

// LogWrite logs a write of ensure.Object in the same way.
func LogWrite[T client.Object](ctx context.Context, result ensure.Result[T]) {
	switch result.Operation {
	case ensure.Created, ensure.Updated, ensure.Recreated:
		logWrite(ctx, "wrote child", result)
	default:
	}
}

func logWrite[T client.Object](ctx context.Context, what string, result ensure.Result[T]) {
	changes := make([]string, len(result.Changes))
	for i, change := range result.Changes {
		changes[i] = change.String()
	}
	log.FromContext(ctx).Info(what,
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
