package ensure

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// The metrics are registered with those of the manager when they first count. Labels have few values,
// independent of the number of children: the kinds that the operator ensures, and words that are listed
// here or in result.go.
var (
	contestsTotal = onFirstUse("trueup_ensure_contests_total",
		"Contests that began: somebody undid the same, deleted a child, or wanted something else of it, again and again.", "group", "kind")
	writesTotal = onFirstUse("trueup_ensure_writes_total",
		"What was changed on the API server, and why.", "group", "kind", "operation", "cause")
	requestsTotal = onFirstUse("trueup_ensure_requests_total",
		"Requests to the API server, cached reads excepted, by what came of the call that sent them.",
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

func (k kind) countContest() {
	contestsTotal().WithLabelValues(k.gvk.Group, k.gvk.Kind).Inc()
}

func (k kind) countWrite(found outcome) {
	writesTotal().WithLabelValues(k.gvk.Group, k.gvk.Kind, string(found.operation), string(found.cause)).Inc()
}

// failure returns Reason of an error, except for reasons that a webhook or an aggregated API server
// makes up, of which there may be many.
func failure(err error) string {
	reason := Reason(err)
	if !errors.Is(err, ErrAPI) {
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
		unavailable:
		return reason
	default:
		return "Unknown"
	}
}
