package finalizer

import (
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// held returns the histogram. The first call registers the histogram with the manager's other
// metrics.
var held = sync.OnceValue(func() *prometheus.HistogramVec { return register(metrics.Registry) })

// register returns the registered metric, also if another copy of this package registered it.
func register(registry prometheus.Registerer) *prometheus.HistogramVec {
	metric := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "trueup_finalizer_held_seconds",
		Help: "Time from the deletion of an object to the removal of a finalizer from it.",
		// From one second, the precision of a deletionTimestamp, to a day.
		Buckets: []float64{1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 6 * 3600, 24 * 3600},
	}, []string{"group", "kind", "finalizer"})
	taken, ok := errors.AsType[prometheus.AlreadyRegisteredError](registry.Register(metric))
	if !ok {
		return metric
	}
	if existing, ok := taken.ExistingCollector.(*prometheus.HistogramVec); ok {
		return existing
	}
	return metric
}

// observe records the removal of a finalizer. A deletionTimestamp can be in the future because
// of a grace period or another machine's clock.
func observe(c client.Client, obj client.Object, finalizer string, age time.Duration) {
	gvk, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return
	}
	held().WithLabelValues(gvk.Group, gvk.Kind, finalizer).Observe(max(age, 0).Seconds())
}
