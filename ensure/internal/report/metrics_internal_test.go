package report

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// Another copy of this package, or another metric of that name, is no reason to panic.
func TestRegister(t *testing.T) {
	const name = "trueup_ensure_contests_total"
	contests := func() *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: "the same"}, []string{"group", "kind"})
	}
	registry := prometheus.NewRegistry()
	first := register(registry, contests())
	require.Same(t, first, register(registry, contests()), "both count in one")

	other := prometheus.NewRegistry()
	require.NoError(t, other.Register(prometheus.NewGauge(prometheus.GaugeOpts{ //nolint:promlinter // it is somebody else's
		Name: name, Help: "something else",
	})))
	register(other, contests()).WithLabelValues("apps", "Deployment").Inc()
	families, err := other.Gather()
	require.NoError(t, err)
	require.NotNil(t, families[0].GetMetric()[0].GetGauge(), "it is theirs")
}
