// Package chain_test tests a chain of two operators on a real cluster: the custom resource of one
// operator is a child of the other. The site operator, which belongs to this package, runs in this
// process. The ReverseWordsApp operator is the example, a process of its own with the rights of its
// own ServiceAccount.
package chain_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/suites/e2e/suite"
)

var (
	shared *cluster.Cluster
	tests  = suite.New("reversewordsapp", &shared, func(scheme *runtime.Scheme) error {
		addSites(scheme)
		return errors.Join(v1alpha1.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme))
	})
)

// Shorthands for the tests.
var (
	admin      = tests.Admin
	eventually = tests.Eventually
	expect     = suite.Expect
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, &shared))
}

// define installs both custom kinds, before the first object with an owner is made: see
// operator.Define.
var define = sync.OnceValue(func() error {
	ctx := context.Background()
	c, err := tests.Client()
	if err != nil {
		return err
	}
	if err := cluster.Define(ctx, c, siteDefinition()); err != nil {
		return err
	}
	return operator.Define(ctx, shared, "reversewordsapp")
})

// startApps runs the ReverseWordsApp operator until the test ends. The operator does not wait for a
// lease, as a killed operator leaves its lease behind.
func startApps(t *testing.T) *operator.Process {
	t.Helper()
	require.NoError(t, define())
	return tests.StartWith(t, tests.Installed(t))
}
