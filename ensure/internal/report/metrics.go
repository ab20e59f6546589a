package report

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
)

// The metrics are registered with those of the manager when they first count. Labels have few values,
// independent of the number of children: the kinds that the operator ensures, and words that are listed
// here or in package layer.
var (
	contestsTotal = onFirstUse("trueup_ensure_contests_total",
		"Contests that began: another writer repeatedly reverted the same fields, deleted a child, or desired another state.",
		"group", "kind")
	writesTotal = onFirstUse("trueup_ensure_writes_total",
		"Changes on the API server, by operation and cause.", "group", "kind", "operation", "cause")
	requestsTotal = onFirstUse("trueup_ensure_requests_total",
		"Requests to the API server, cached reads excepted, by the outcome of the call that sent them.",
		"group", "kind", "operation", "cause")
)

// failed is the operation of a call that ended with an error. The cause is the reason of the error.
const failed = "Failed"

func onFirstUse(name, help string, labels ...string) func() *prometheus.CounterVec {
	return sync.OnceValue(func() *prometheus.CounterVec {
		return register(metrics.Registry, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
	})
}

// register gives the metric that is there already, if another copy of this package was
// first.
func register(registry prometheus.Registerer, metric *prometheus.CounterVec) *prometheus.CounterVec {
	taken, ok := errors.AsType[prometheus.AlreadyRegisteredError](registry.Register(metric))
	if !ok {
		return metric
	}
	if existing, ok := taken.ExistingCollector.(*prometheus.CounterVec); ok {
		return existing
	}
	return metric
}

func countWrite(kind schema.GroupVersionKind, found layer.Outcome) {
	writesTotal().WithLabelValues(kind.Group, kind.Kind, string(found.Operation), string(found.Cause)).Inc()
}

func countRequests(kind schema.GroupVersionKind, requests int, found layer.Outcome, err error) {
	operation, cause := string(found.Operation), string(found.Cause)
	if err != nil {
		operation, cause = failed, reasonOf(err)
	}
	requestsTotal().WithLabelValues(kind.Group, kind.Kind, operation, cause).Add(float64(requests))
}

// reasonOf returns the reason of an error, except for reasons that a webhook or an aggregated API server
// makes up, of which there may be many.
func reasonOf(err error) string {
	reason := fault.Reason(err)
	if !errors.Is(err, fault.ErrAPI) {
		return reason // the name of a class
	}
	switch metav1.StatusReason(reason) {
	case metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound,
		metav1.StatusReasonAlreadyExists, metav1.StatusReasonConflict, metav1.StatusReasonGone,
		metav1.StatusReasonInvalid, metav1.StatusReasonServerTimeout, metav1.StatusReasonStoreReadError,
		metav1.StatusReasonTimeout, metav1.StatusReasonTooManyRequests, metav1.StatusReasonBadRequest,
		metav1.StatusReasonMethodNotAllowed, metav1.StatusReasonNotAcceptable,
		metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonUnsupportedMediaType,
		metav1.StatusReasonInternalError, metav1.StatusReasonExpired, metav1.StatusReasonServiceUnavailable,
		fault.Unavailable:
		return reason
	default:
		return "Unknown"
	}
}
