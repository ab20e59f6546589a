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

// RateLimiter paces the retries of a reconcile whose error Retry hands on: 5 seconds at first,
// then twice as long each time, up to 5 minutes. The controller's own rate limiter begins with 5 ms.
//
//	ctrl.NewControllerManagedBy(mgr).
//		WithOptions(controller.Options{RateLimiter: ensure.RateLimiter()}).
//
// Each controller needs one of its own.
func RateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry)
}
