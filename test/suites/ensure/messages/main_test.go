// Package messages_test has a real API server refuse the writes of package ensure in each way that
// people meet, and checks the texts of the errors and events.
package messages_test

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
)

var shared *cluster.Cluster

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, &shared))
}
