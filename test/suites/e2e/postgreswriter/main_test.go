// Package postgreswriter_test tests the promises of the PostgresWriter operator on a real cluster
// and a real PostgreSQL server. The operator runs as a process of its own, with the rights of its
// own ServiceAccount and of its own database user.
package postgreswriter_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/postgres"
	"github.com/trueup-go/trueup/test/suites/e2e/suite"
)

var (
	shared *cluster.Cluster
	server *postgres.Server
	tests  = suite.New("postgreswriter", &shared, v1.AddToScheme)
)

// Shorthands for the tests.
var (
	admin      = tests.Admin
	kubectl    = tests.Kubectl
	installed  = tests.Installed
	eventually = tests.Eventually
	expect     = suite.Expect
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	log.SetLogger(logr.Discard())
	// Tests that are parallel wait most of the time: for leases, retries and checks.
	err := flag.Set("test.parallel", "12")
	if err == nil {
		server, err = postgres.Start(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := cluster.Main(m, &shared)
	if err := server.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}
