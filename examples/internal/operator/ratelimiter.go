package operator

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// firstRetry and lastRetry bound how soon a failed reconcile is tried again: a
	// server in trouble is not helped by ten attempts in the first second.
	firstRetry = 5 * time.Second
	lastRetry  = 5 * time.Minute
)

// RateLimiter paces the retries of a failing reconcile: 5 seconds at first, then
// twice as long each time, up to 5 minutes.
func RateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry)
}
