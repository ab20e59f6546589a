package operator

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
)

// Retry is ensure.Retry, and logs what the controller will not: errors that are not for
// its rate limiter, as it takes a person or a while to mend them. Conflicts, which are
// settled at once, are not logged.
func Retry(ctx context.Context, err error) (reconcile.Result, error) {
	result, handedOn := ensure.Retry(err)
	if handedOn == nil && result.RequeueAfter > 0 && !apierrors.IsConflict(err) {
		log.FromContext(ctx).Info("not as it should be", "reason", ensure.Reason(err), "message", err.Error())
	}
	return result, handedOn
}
