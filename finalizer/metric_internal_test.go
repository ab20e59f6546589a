package finalizer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// What dashboards are built on.
const (
	metricName = "trueup_finalizer_held_seconds"
	metricHelp = "Time from the deletion of an object to the removal of a finalizer from it."
)

// removed says of a finalizer how often it was removed and how long that took in all.
type removed struct {
	Group, Kind string
	Count       uint64
	Seconds     float64
}

// since is what came after before.
func (r removed) since(before removed) removed {
	r.Count -= before.Count
	r.Seconds -= before.Seconds
	return r
}

// gathered is what a scrape of the manager's metrics sees of finalizer.
func gathered(t *testing.T, finalizer string) removed {
	t.Helper()
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() != metricName {
			continue
		}
		for _, metric := range family.GetMetric() {
			values := map[string]string{}
			for _, label := range metric.GetLabel() {
				values[label.GetName()] = label.GetValue()
			}
			if values["finalizer"] == finalizer {
				h := metric.GetHistogram()
				return removed{values["group"], values["kind"], h.GetSampleCount(), h.GetSampleSum()}
			}
		}
	}
	return removed{}
}

func going(objectName string, since time.Time, finalizers ...string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: objectName, Finalizers: finalizers, DeletionTimestamp: new(metav1.NewTime(since)),
	}}
}

func TestMetric(t *testing.T) {
	const slow, stuck, early = "metric.example.com/slow", "metric.example.com/stuck", "metric.example.com/early"
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := clocktesting.NewFakePassiveClock(start.Add(time.Minute))
	run := func(obj client.Object, steps ...Step) {
		c := fake.NewFakeClient(obj)
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(obj), obj))
		_, err := handle(t.Context(), c, obj, steps, clock)
		require.NoError(t, err)
	}
	takes := func(finalizer string, d time.Duration, result error) Step {
		return Step{Name: finalizer, Cleanup: func(context.Context) error {
			clock.SetTime(clock.Now().Add(d))
			return result
		}}
	}

	slowBefore, earlyBefore := gathered(t, slow), gathered(t, early)
	run(going("a", start, slow, stuck), takes(slow, time.Minute, nil), takes(stuck, time.Minute, NotDone(0, "")))
	require.Empty(t, cmp.Diff(removed{"", "ConfigMap", 1, 120}, gathered(t, slow).since(slowBefore)), "to the removal, the Cleanup included")
	require.Zero(t, gathered(t, stuck), "what waits is not removed")

	clock.SetTime(start.Add(30 * time.Second))
	run(going("b", start, slow), takes(slow, 0, nil))
	require.Empty(t, cmp.Diff(removed{"", "ConfigMap", 2, 150}, gathered(t, slow).since(slowBefore)))

	run(going("c", clock.Now().Add(time.Hour), early), takes(early, 0, nil))
	require.Empty(t, cmp.Diff(removed{"", "ConfigMap", 1, 0}, gathered(t, early).since(earlyBefore)), "another machine's clock is ahead")
}

// namelessKind is a client that cannot tell what it has sent.
type namelessKind struct{ client.Client }

func (namelessKind) GroupVersionKindFor(runtime.Object) (schema.GroupVersionKind, error) {
	return schema.GroupVersionKind{}, errors.New("no kind")
}

func TestMetricOfAnUnknownKind(t *testing.T) {
	const unknown = "metric.example.com/unknown"
	observe(namelessKind{}, &corev1.ConfigMap{}, unknown, time.Second)
	require.Zero(t, gathered(t, unknown))
}

// Another copy of this package, or another metric of that name, is no reason to panic.
func TestRegister(t *testing.T) {
	registry := prometheus.NewRegistry()
	first := register(registry)
	require.Same(t, first, register(registry), "both count in one")

	for sort, other := range map[string]prometheus.Collector{
		"other labels": prometheus.NewGauge(prometheus.GaugeOpts{Name: metricName, Help: "something else"}),
		"other sort":   prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: metricName, Help: metricHelp}, []string{"group", "kind", "finalizer"}),
	} {
		registry := prometheus.NewRegistry()
		require.NoError(t, registry.Register(other))
		register(registry).WithLabelValues("", "ConfigMap", "example.com/row").Observe(1)
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, family := range families {
			require.Nil(t, family.GetMetric()[0].GetHistogram(), "%s: it is theirs", sort)
		}
	}
}
