package ensure

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// Another copy of this package, or another metric of that name, is no reason to panic.
func TestRegister(t *testing.T) {
	registry := prometheus.NewRegistry()
	first := register(registry)
	require.Same(t, first, register(registry), "both count in one")

	other := prometheus.NewRegistry()
	require.NoError(t, other.Register(prometheus.NewGauge(prometheus.GaugeOpts{ //nolint:promlinter // it is somebody else's
		Name: "trueup_ensure_contests_total", Help: "something else",
	})))
	register(other).WithLabelValues("apps", "Deployment").Inc()
	families, err := other.Gather()
	require.NoError(t, err)
	require.NotNil(t, families[0].GetMetric()[0].GetGauge(), "it is theirs")
}
