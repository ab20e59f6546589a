// Package reversewordsapp_test tests the promises of the ReverseWordsApp operator on a real
// cluster. The operator runs as a process of its own with the rights of its own ServiceAccount.
package reversewordsapp_test

import (
	"os"
	"testing"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/suites/e2e/suite"
)

var (
	shared *cluster.Cluster
	tests  = suite.New("reversewordsapp", &shared, v1alpha1.AddToScheme)
)

// Shorthands for the tests.
var (
	admin      = tests.Admin
	kubectl    = tests.Kubectl
	installed  = tests.Installed
	start      = tests.Start
	startWith  = tests.StartWith
	eventually = tests.Eventually
	expect     = suite.Expect
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m, &shared, cluster.DeleteNamespaces())) }
