package ensure

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// How soon a reconcile that failed is tried again, at first and in the end.
const (
	firstRetry = 5 * time.Second
	lastRetry  = 5 * time.Minute
)

// RateLimiter returns a rate limiter for one controller. It paces the retries of errors that Retry
// returns: 5 seconds after the first failure, then twice as long each time, up to 5 minutes. The
// default rate limiter of a controller begins with 5 ms.
//
//	ctrl.NewControllerManagedBy(mgr).
//		WithOptions(controller.Options{RateLimiter: ensure.RateLimiter()}).
//
// Do not share a rate limiter between controllers.
func RateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry)
}
