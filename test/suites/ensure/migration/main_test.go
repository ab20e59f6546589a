// Package migration_test tests on a real API server that package ensure takes over from operators
// that wrote by Update, and hands fields over to other programs.
package migration_test

import (
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

const (
	// limit is how long a test waits for anything.
	limit = time.Minute
	// tick is the time between two looks.
	tick = 20 * time.Millisecond
)

var shared *cluster.Cluster

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	// Autoscalers look every 15 s by default.
	os.Exit(cluster.Main(m, &shared, cluster.Flags("kube-controller-manager", "--horizontal-pod-autoscaler-sync-period=200ms")))
}
