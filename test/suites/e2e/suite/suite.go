// Package suite is shared by the end-to-end tests of the example operators. It provides the
// operator, installed in the package's cluster and run with the rights of the operator's
// ServiceAccount, and an admin who may do everything.
package suite

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// Limit bounds waits for anything that usually takes a fraction of a second. In a new cluster, the
// garbage collector may need half a minute and more to delete dependents: new kinds are discovered
// every 30 s, and objects whose owner is of an unknown kind are not deleted.
const Limit = 90 * time.Second

// A Suite is the tests of one operator, on one cluster.
type Suite struct {
	cluster **cluster.Cluster
	admin   func() (client.WithWatch, error)
	install func() (*operator.Operator, error)
}

// New is the suite of the operator below examples/name. The cluster is that of
// cluster.Main; addToScheme know the operator's kinds.
func New(name string, shared **cluster.Cluster, addToScheme ...func(*runtime.Scheme) error) *Suite {
	return &Suite{
		cluster: shared,
		admin: sync.OnceValues(func() (client.WithWatch, error) {
			scheme := runtime.NewScheme()
			for _, add := range append(addToScheme, clientgoscheme.AddToScheme) {
				if err := add(scheme); err != nil {
					return nil, err
				}
			}
			config := (*shared).Config()
			config.UserAgent = "admin"
			config.WarningHandlerWithContext = rest.NoWarnings{} // they are expected
			return client.NewWithWatch(config, client.Options{Scheme: scheme})
		}),
		install: sync.OnceValues(func() (*operator.Operator, error) {
			return operator.Install(context.Background(), *shared, name)
		}),
	}
}

// Client returns the client of an admin, who may do everything.
func (s *Suite) Client() (client.WithWatch, error) { return s.admin() }

// Admin is Client in a test.
func (s *Suite) Admin(t *testing.T) client.WithWatch {
	t.Helper()
	c, err := s.Client()
	require.NoError(t, err)
	return c
}

// Merge sends a merge patch as the admin.
func (s *Suite) Merge(t *testing.T, obj client.Object, patch string) {
	t.Helper()
	obj.SetResourceVersion("")
	require.NoError(t, s.Admin(t).Patch(t.Context(), obj, client.RawPatch("application/merge-patch+json", []byte(patch))))
}

// Kubectl runs kubectl as the admin and returns the output.
func (s *Suite) Kubectl(t *testing.T, args ...string) string {
	t.Helper()
	path, err := cluster.Kubectl(t.Context())
	require.NoError(t, err)
	args = append([]string{"--kubeconfig", (*s.cluster).Kubeconfig()}, args...)
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// Installed returns the operator, which the first call installs.
func (s *Suite) Installed(t *testing.T) operator.Operator {
	t.Helper()
	o, err := s.install()
	require.NoError(t, err)
	return *o
}

// Start runs the operator as its Deployment does, until the test ends.
func (s *Suite) Start(t *testing.T) *operator.Process {
	t.Helper()
	o := s.Installed(t)
	return s.StartWith(t, o, "--leader-elect", "--leader-election-namespace", o.Namespace)
}

// StartWith runs o with only these arguments until the test ends. The operator must not log errors.
func (s *Suite) StartWith(t *testing.T, o operator.Operator, args ...string) *operator.Process {
	t.Helper()
	return s.start(t, o, args)
}

// StartFailing is StartWith of an operator that may log errors with that text.
func (s *Suite) StartFailing(t *testing.T, o operator.Operator, expected string, args ...string) *operator.Process {
	t.Helper()
	return s.start(t, o, args, expected)
}

func (s *Suite) start(t *testing.T, o operator.Operator, args []string, expected ...string) *operator.Process {
	t.Helper()
	process, err := o.Start(t.Context(), args...)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, process.Stop())
		if t.Name() == "TestRights" {
			return // which takes rights away
		}
		require.Empty(t, failures(process, expected))
	})
	return process
}

// failures returns the errors that the operator logged, except expected errors and two usual kinds:
// errors on shutdown (about the running reconcile, the released lease, and caches that were still being
// filled), and errors about the namespace of an earlier test that is being deleted, or is deleted before
// the cache shows this.
func failures(process *operator.Process, expected []string) []string {
	excused := append([]string{
		"context canceled", "after stop sequence was engaged", "handler did not sync", "cache did not sync",
		"Informer to sync", ": NotFound",
	}, expected...)
	var found []string
	for line := range strings.Lines(process.Log()) {
		isExcused := slices.ContainsFunc(excused, func(text string) bool { return strings.Contains(line, text) })
		if strings.Contains(line, `"level":"error"`) && !isExcused && !isLateEvent(line) {
			found = append(found, line)
		}
	}
	return found
}

// isLateEvent reports whether client-go complains about an event for the namespace of an earlier
// test that is being deleted, or is gone.
func isLateEvent(line string) bool {
	return strings.Contains(line, "Server rejected event") &&
		(strings.Contains(line, "because it is being terminated") ||
			strings.Contains(line, `"error":"namespaces `) && strings.Contains(line, "not found"))
}

// RunToEnd starts an operator that is expected to end by itself, and waits for the end.
func (s *Suite) RunToEnd(t *testing.T, env []string, args ...string) *operator.Process {
	t.Helper()
	o := s.Installed(t)
	o.Env = env
	process, err := o.Run(args...)
	require.NoError(t, err)
	select {
	case <-process.Exited():
	case <-time.After(Limit):
		require.Error(t, process.Stop())
		require.Fail(t, "it did not end", process.Log())
	}
	return process
}

// LeaseHolder returns the holder of a lease in the operator's namespace, "" if the lease is free.
func (s *Suite) LeaseHolder(t *testing.T, lease string) string {
	t.Helper()
	var held coordinationv1.Lease
	key := client.ObjectKey{Namespace: s.Installed(t).Namespace, Name: lease}
	require.NoError(t, s.Admin(t).Get(t.Context(), key, &held))
	return ptr.Deref(held.Spec.HolderIdentity, "")
}

// Requests counts the operator's requests about a namespace since the mark, except events, which
// are sent some time later. See CheckEvents.
func (s *Suite) Requests(t *testing.T, since cluster.Mark, namespace string) map[string]int {
	t.Helper()
	o := s.Installed(t)
	requests, err := (*s.cluster).Requests(since, cluster.ByUser(o.User()), cluster.NoEvents, func(r cluster.Request) bool {
		return r.Namespace == namespace
	})
	require.NoError(t, err)
	return cluster.Counts(requests)
}

// Eventually calls try until try returns nil.
func (s *Suite) Eventually(t *testing.T, try func(context.Context) error) {
	t.Helper()
	require.NoError(t, (*s.cluster).Await(t.Context(), Limit, "", try))
}

// Expect is an error with that text unless ok.
func Expect(ok bool, otherwise string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(otherwise, args...)
}
