// Package messages_test has a real API server refuse what package ensure writes, in each way
// that people meet, and reads what the errors and the events tell of it.
package messages_test

import (
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/cluster"
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
