package operator

import (
	"context"
	"reflect"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
)

// LogWrite logs what ensure did to a child, if it did something: what, why and to
// which paths. Values other than numbers and booleans are not in a Result.
func LogWrite[T client.Object](ctx context.Context, result ensure.Result[T]) {
	if result.Operation == ensure.Unchanged {
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

// Retry is ensure.Retry, and logs what that waits for without returning the error,
// because it takes a person to mend it: the controller does not see that one. What is
// tried again at once, a conflict, settles by itself.
func Retry(ctx context.Context, err error) (reconcile.Result, error) {
	result, unsettled := ensure.Retry(err)
	if result.RequeueAfter > time.Second {
		log.FromContext(ctx).Info("not as it should be", "reason", ensure.Reason(err), "message", err.Error())
	}
	return result, unsettled
}
