package operator

import (
	"context"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/ensure"
)

// LogWrites logs the operation, the cause and the changed paths of each write of ensure.Set. A Result
// contains no values other than numbers and booleans, so the log shows no others. LogWrites ignores
// children that Set did not reach, and objects that an earlier pass deleted.
func LogWrites(ctx context.Context, results ensure.Results) {
	for _, child := range results.Children {
		LogWrite(ctx, child)
	}
	for _, pruned := range results.Pruned {
		if pruned.Cause != "" {
			logWrite(ctx, "pruned child", pruned)
		}
	}
}

// LogWrite logs a write of ensure.Object.
func LogWrite[T client.Object](ctx context.Context, result ensure.Result[T]) {
	switch result.Operation {
	case ensure.Created, ensure.Updated, ensure.Recreated:
		logWrite(ctx, "wrote child", result)
	default:
	}
}

func logWrite[T client.Object](ctx context.Context, message string, result ensure.Result[T]) {
	changes := make([]string, len(result.Changes))
	for i, change := range result.Changes {
		changes[i] = change.String()
	}
	log.FromContext(ctx).Info(message,
		"kind", Kind(result.Live),
		"child", result.Live.GetName(),
		"operation", result.Operation,
		"cause", result.Cause,
		"changes", changes)
}

// Kind returns the kind of obj, whose type must be declared in k8s.io/api: the kind is the type's name.
func Kind(obj client.Object) string {
	return reflect.TypeOf(obj).Elem().Name()
}
