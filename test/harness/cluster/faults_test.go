package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

var components = []cluster.Component{
	cluster.Etcd, cluster.APIServer, cluster.ControllerManager, cluster.Scheduler, cluster.Kwok,
}

// TestFaults does harm to one cluster.
func TestFaults(t *testing.T) {
	c, err := cluster.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Stop() }) // if it has not come to that
	run := func(name string, test func(*testing.T, *cluster.Cluster)) {
		require.True(t, t.Run(name, func(t *testing.T) { test(t, c) }), "the cluster is not what the next need")
	}
	for _, component := range components {
		run("killed "+string(component), func(t *testing.T, c *cluster.Cluster) { requireRecovery(t, c, component) })
	}
	run("what outlives the API server", requireServerForgetsNothing)
	run("frozen API server", requireServerMakesWait)
	run("frozen components", requireFrozen)
	// All but one are frozen now, and that one is dead.
	require.NoError(t, c.Stop(), "ends that were asked for are no error")
	requireNothingLeft(t, c.Dir())
	require.Error(t, c.Freeze(cluster.Kwok), "there is nobody to ask")
}

// requireRecovery kills and restarts a component. All acknowledged writes are present, and all
// components work.
func requireRecovery(t *testing.T, c *cluster.Cluster, component cluster.Component) {
	t.Helper()
	namespace := c.Namespace(t)
	before := processOf(t, c, string(component))
	acknowledged := createMaps(t, c, namespace)

	require.NoError(t, c.Kill(component))
	require.Len(t, processesIn(t, c.Dir()), 5)
	for verb, fault := range map[string]func(cluster.Component) error{"kill": c.Kill, "freeze": c.Freeze, "resume": c.Resume} {
		require.EqualError(t, fault(component), fmt.Sprintf("cannot %s %s: not running", verb, component))
	}
	require.NoError(t, c.Restart(t.Context(), component))
	require.NotEqual(t, before, processOf(t, c, string(component)))
	require.Len(t, processesIn(t, c.Dir()), 6)
	require.Empty(t, cmp.Diff(acknowledged, uids(t, c, namespace)))
	requireDeploymentAvailable(t, c)
}

// createMaps creates some ConfigMaps and returns their UIDs by name.
func createMaps(t *testing.T, c *cluster.Cluster, namespace string) map[string]types.UID {
	t.Helper()
	api := clients(t, c.Config()).CoreV1().ConfigMaps(namespace)
	created := map[string]types.UID{}
	for i := range 20 {
		answer, err := api.Create(t.Context(), configMap(fmt.Sprint("map-", i)), metav1.CreateOptions{})
		require.NoError(t, err)
		created[answer.Name] = answer.UID
	}
	return created
}

func uids(t *testing.T, c *cluster.Cluster, namespace string) map[string]types.UID {
	t.Helper()
	list, err := clients(t, c.Config()).CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	found := map[string]types.UID{}
	for _, item := range list.Items {
		if strings.HasPrefix(item.Name, "map-") { // the others are the cluster's own
			found[item.Name] = item.UID
		}
	}
	return found
}

// requireServerForgetsNothing restarts an API server that was killed while writing its audit log
// and that calls a webhook. Marks, including one taken while the server was dead, stay valid.
func requireServerForgetsNothing(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	config := c.Config()
	config.UserAgent = "counted"
	api := clients(t, config).CoreV1().ConfigMaps(c.Namespace(t))
	stop, err := c.MutatingWebhook(t.Context(), "marker", configMapCreates(), marker(func() {}))
	require.NoError(t, err)
	create := func(name string) {
		created, err := api.Create(t.Context(), configMap(name), metav1.CreateOptions{})
		require.NoError(t, err)
		require.Equal(t, "yes", created.Data["mutated"], name)
	}

	first := c.Mark()
	create("before-the-second-mark")
	second := c.Mark()
	create("before-the-end")
	require.NoError(t, c.Kill(cluster.APIServer))
	_, err = api.Get(t.Context(), "refused", metav1.GetOptions{})
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	_, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", strings.TrimPrefix(config.Host, "https://"))
	require.ErrorIs(t, err, syscall.EADDRINUSE, "its port is kept for it")
	third := c.Mark()
	tearAuditLog(t, c)
	fourth := c.Mark()
	require.NoError(t, c.Restart(t.Context(), cluster.APIServer))
	create("after-the-end")

	for since, want := range map[cluster.Mark]int{first: 3, second: 2, third: 1, fourth: 1} {
		requests, err := c.Requests(since, cluster.ByUserAgent("counted"))
		require.NoError(t, err)
		require.Equal(t, map[string]int{"create configmaps": want}, cluster.Counts(requests))
	}
	require.NoError(t, stop())
}

// tearAuditLog makes the audit log end as if the API server had been killed during a write: it
// appends the first half of the last line.
func tearAuditLog(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	path := filepath.Join(c.Dir(), "audit.log")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	last := content[bytes.LastIndexByte(content[:len(content)-1], '\n')+1:]
	log, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = log.Write(last[:len(last)/2])
	require.NoError(t, err)
	require.NoError(t, log.Close())
}

// requireServerMakesWait freezes an API server. Requests sent meanwhile are answered after Resume.
func requireServerMakesWait(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	api := clients(t, c.Config()).CoreV1().ConfigMaps(c.Namespace(t))
	create := func(ctx context.Context, name string) error {
		_, err := api.Create(ctx, configMap(name), metav1.CreateOptions{})
		return err
	}
	require.NoError(t, create(t.Context(), "before"), "and a connection is open")

	require.NoError(t, c.Freeze(cluster.APIServer))
	t.Cleanup(func() { require.NoError(t, c.Resume(cluster.APIServer)) })
	short, cancel := context.WithTimeout(t.Context(), 10*tick)
	defer cancel()
	require.ErrorIs(t, create(short, "given-up"), context.DeadlineExceeded)
	sent, answered := make(chan struct{}), make(chan error, 1)
	traced := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { close(sent) },
	})
	go func() { answered <- create(traced, "waited-for") }()
	<-sent
	require.Empty(t, answered)
	require.NoError(t, c.Resume(cluster.APIServer))
	require.NoError(t, <-answered)
}

// requireFrozen freezes all components, and leaves all but one so: that is dead.
func requireFrozen(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	require.NoError(t, c.Freeze(cluster.Scheduler))
	require.NoError(t, c.Restart(t.Context(), cluster.Scheduler), "it is killed first")
	for _, component := range components {
		require.NoError(t, c.Resume(component), "it need not be frozen")
		for range 2 {
			require.NoError(t, c.Freeze(component), "it may be frozen")
			require.Equal(t, []string{"T"}, threadStates(t, c, component))
		}
		require.NoError(t, c.Resume(component))
		require.NotContains(t, threadStates(t, c, component), "T")
		require.NoError(t, c.Freeze(component))
	}
	require.NoError(t, c.Kill(cluster.Kwok), "frozen as it is")
}

// threadStates returns the distinct kernel states of a component's threads; T is stopped.
func threadStates(t *testing.T, c *cluster.Cluster, component cluster.Component) []string {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", processOf(t, c, string(component))))
	require.NoError(t, err)
	var states []string
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		_, afterName, _ := strings.Cut(string(stat), ") ")
		states = append(states, afterName[:1])
	}
	slices.Sort(states)
	return slices.Compact(states)
}

func TestRestartOfNoComponent(t *testing.T) {
	require.EqualError(t, shared.Restart(t.Context(), "etcetera"), `cannot restart etcetera: there is no component "etcetera"`)
}
