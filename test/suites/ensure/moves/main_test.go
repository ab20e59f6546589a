// Package moves_test writes the same random desired states to an object that this field owner created and to one that an
// older version of the operator created, and looks whether the two stay equal.
//
// A round is a script: what is desired first, what the older version set, and steps in words. A script that fails shrinks
// to a few steps, which can be copied to the table of TestScripts. Other random numbers, and more of them:
//
//	go test ./suites/ensure/moves -run TestMoves -rapid.seed=7 -rapid.checks=50
package moves_test

import (
	"flag"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

var shared *cluster.Cluster

// The number of rounds of each kind. Rapid makes a fifth of it with -short. A round has up to maxSteps steps.
const (
	rounds      = "60"
	roundsShort = "20"
	maxSteps    = 10
)

func TestMain(m *testing.M) {
	flag.Parse()
	log.SetLogger(logr.Discard())
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	defaults := map[string]string{"rapid.seed": "1", "rapid.checks": rounds, "rapid.nofailfile": "true", "rapid.shrinktime": "3m"}
	if testing.Short() {
		defaults["rapid.checks"] = roundsShort
	}
	for name, value := range defaults {
		if !given[name] {
			_ = flag.Set(name, value) // the values are good
		}
	}
	os.Exit(cluster.Main(m, &shared))
}
