// Package e2e_test has the example operators show what they promise, on a real
// cluster, each as a process of its own with the rights of its own ServiceAccount.
package e2e_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/test/cluster"
	"github.com/trueup-go/trueup/test/e2e/operator"
)

var shared *cluster.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Main(m, &shared)) }

// human returns a client of a person who may do everything.
func human(t *testing.T) client.WithWatch {
	t.Helper()
	c, err := humanClient()
	require.NoError(t, err)
	return c
}

var humanClient = sync.OnceValues(func() (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	config := shared.Config()
	config.UserAgent = "human"
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
})

// installed returns the Application operator, which the first call installs.
func installed(t *testing.T) operator.Operator {
	t.Helper()
	o, err := install()
	require.NoError(t, err)
	return *o
}

var install = sync.OnceValues(func() (*operator.Operator, error) {
	return operator.Install(context.Background(), shared, "application")
})

// start runs the Application operator as its Deployment does, until the test ends.
func start(t *testing.T) *operator.Process {
	t.Helper()
	o := installed(t)
	return startWith(t, o, "--leader-elect", "--leader-election-namespace", o.Namespace)
}

// startWith runs o with just these arguments, until the test ends.
func startWith(t *testing.T, o operator.Operator, args ...string) *operator.Process {
	t.Helper()
	process, err := o.Start(t.Context(), args...)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, process.Stop())
		if t.Name() == "TestRights" {
			return // which takes rights away
		}
		require.Empty(t, failures(process))
	})
	return process
}

// failures are the errors that the operator logged, except for what it says when it
// is told to end (about the reconcile at work, and the lease that it gives back) and
// when the namespace of an earlier test is gone before the cache shows it.
func failures(process *operator.Process) []string {
	var found []string
	for line := range strings.Lines(process.Log()) {
		if strings.Contains(line, `"level":"error"`) && !strings.Contains(line, "context canceled") &&
			!strings.Contains(line, "after stop sequence was engaged") && !strings.Contains(line, ": NotFound") {
			found = append(found, line)
		}
	}
	return found
}
