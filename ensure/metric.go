package ensure

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// contestsTotal is registered with the manager's other metrics by the first contest.
var contestsTotal = sync.OnceValue(func() *prometheus.CounterVec { return register(metrics.Registry) })

// register gives the metric that is there already, if another copy of this package was
// first.
func register(registry prometheus.Registerer) *prometheus.CounterVec {
	metric := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "trueup_ensure_contests_total",
		Help: "Contests that began: somebody undid the same, or deleted a child, again and again.",
	}, []string{"group", "kind"})
	taken, ok := errors.AsType[prometheus.AlreadyRegisteredError](registry.Register(metric))
	if !ok {
		return metric
	}
	if existing, ok := taken.ExistingCollector.(*prometheus.CounterVec); ok {
		return existing
	}
	return metric
}

func countContest(kind schema.GroupVersionKind) {
	contestsTotal().WithLabelValues(kind.Group, kind.Kind).Inc()
}
