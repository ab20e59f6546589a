package operator

import (
	"context"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/ensure"
)

// LogWrites logs what ensure.Set did, where it did something: what, why and to which
// paths. Values other than numbers and booleans are not in a Result. Of children that it
// did not reach, and of what it pruned in an earlier pass, there is nothing to tell.
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

// LogWrite logs what ensure.Object did, in the same way.
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
