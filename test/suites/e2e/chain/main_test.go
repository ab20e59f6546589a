// Package chain_test tests a chain of two operators on a real cluster: a ReverseWordsApp is a child of a
// Site. Both operators are examples, and run as processes with the rights of their ServiceAccounts.
package chain_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/site/api/v1"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/suites/e2e/suite"
)

var (
	shared *cluster.Cluster
	sites  = suite.New("site", &shared, addToScheme)
	apps   = suite.New("reversewordsapp", &shared, addToScheme)
)

// Shorthands for the tests.
var (
	admin      = sites.Admin
	merge      = sites.Merge
	eventually = sites.Eventually
	expect     = suite.Expect
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m, &shared, cluster.DeleteNamespaces())) }

func addToScheme(scheme *runtime.Scheme) error {
	return errors.Join(v1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
}

// define installs both custom kinds before the first object with an owner is made: see operator.Define.
var define = sync.OnceValue(func() error {
	return operator.Define(context.Background(), shared, "site", "reversewordsapp")
})

// start runs an operator until the test ends. The operator does not wait for a lease, as a killed operator
// leaves its lease behind.
func start(t *testing.T, tests *suite.Suite) *operator.Process {
	t.Helper()
	require.NoError(t, define())
	return tests.StartWith(t, tests.Installed(t))
}
