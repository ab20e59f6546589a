// Package children_test tests on a real API server that package ensure creates, recreates and
// prunes children, and leaves alone the objects that it must not touch.
package children_test

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
	os.Exit(cluster.Main(m, &shared))
}
