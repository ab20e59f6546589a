// Package application_test tests the promises of the Application operator on a real cluster. The
// operator runs as a process of its own with the rights of its own ServiceAccount.
package application_test

import (
	"os"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/application/api/v1beta1"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/suites/e2e/suite"
)

var (
	shared *cluster.Cluster
	tests  = suite.New("application", &shared, v1alpha1.AddToScheme, v1beta1.AddToScheme, apiextensionsv1.AddToScheme)
)

// Shorthands for the tests.
var (
	admin      = tests.Admin
	kubectl    = tests.Kubectl
	installed  = tests.Installed
	start      = tests.Start
	startWith  = tests.StartWith
	run        = tests.RunToEnd
	eventually = tests.Eventually
	expect     = suite.Expect
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m, &shared, cluster.DeleteNamespaces())) }
