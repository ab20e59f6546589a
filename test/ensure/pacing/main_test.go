// Package pacing_test counts what an operator asks of a real API server while something keeps it
// from its work and events wake it all the time.
package pacing_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/cluster"
)

// limit is how long a test waits for anything but the end of what it measures.
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
