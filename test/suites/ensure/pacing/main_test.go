// Package pacing_test counts an operator's requests to a real API server while an obstacle keeps
// the operator from its work and events wake it all the time.
package pacing_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// limit bounds each wait of a test, except for the measured one.
const limit = time.Minute

var shared *cluster.Cluster

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	flag.Parse()
	if err := flag.Set("test.parallel", "100"); err != nil { // nearly all the time they wait
		panic(err)
	}
	os.Exit(cluster.Main(m, &shared))
}
