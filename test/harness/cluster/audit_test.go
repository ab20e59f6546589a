package cluster_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

func TestRequestsAreCountedExactly(t *testing.T) {
	namespace := shared.Namespace(t)
	config := shared.Config()
	config.UserAgent = "counted"
	api := clients(t, config)
	maps := api.CoreV1().ConfigMaps(namespace)
	_, err := maps.Create(t.Context(), configMap("before-the-mark"), metav1.CreateOptions{})
	require.NoError(t, err)

	mark := shared.Mark()
	_, err = maps.Create(t.Context(), configMap("map"), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = maps.Create(t.Context(), configMap("dry"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	_, err = maps.Get(t.Context(), "map", metav1.GetOptions{})
	require.NoError(t, err)
	_, err = maps.Get(t.Context(), "missing", metav1.GetOptions{})
	require.Error(t, err, "a refused request counts like any other")
	_, err = maps.Patch(t.Context(), "map", types.MergePatchType, []byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = api.AppsV1().Deployments(namespace).UpdateStatus(t.Context(), deployment(1), metav1.UpdateOptions{})
	require.Error(t, err)
	require.NoError(t, maps.Delete(t.Context(), "map", metav1.DeleteOptions{}))
	_, err = api.Discovery().ServerVersion()
	require.NoError(t, err)

	requests, err := shared.Requests(mark, cluster.ByUserAgent("counted"))
	require.NoError(t, err)
	require.Equal(t, map[string]int{
		"create configmaps":           1,
		"create configmaps (dry run)": 1,
		"get configmaps":              2,
		"patch configmaps":            1,
		"update deployments/status":   1,
		"delete configmaps":           1,
		"get /version":                1,
	}, cluster.Counts(requests))
	writes, err := shared.Requests(mark, cluster.ByUserAgent("counted"), cluster.Writes)
	require.NoError(t, err)
	require.Len(t, writes, len(requests)-3)
	require.WithinDuration(t, time.Now(), writes[2].Time, time.Minute)
	writes[2].Time = time.Time{}
	require.Equal(t, cluster.Request{
		Verb: "patch", Resource: "configmaps", Namespace: namespace, Name: "map",
		UserAgent: "counted", User: "trueup:admin",
		URI: "/api/v1/namespaces/" + namespace + "/configmaps/map",
	}, writes[2])
}

func TestNoRequestsIsNoCounts(t *testing.T) {
	requests, err := shared.Requests(shared.Mark(), cluster.ByUserAgent("idle"))
	require.NoError(t, err)
	require.Empty(t, cluster.Counts(requests))
}

func TestRequestsByUserAreThatUsers(t *testing.T) {
	namespace := shared.Namespace(t)
	config, err := shared.ServiceAccount(t.Context(), namespace, "robot")
	require.NoError(t, err)
	robot := clients(t, config)
	mark := shared.Mark()
	_, err = robot.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{})
	require.Error(t, err, "it may not")
	requests, err := shared.Requests(mark, cluster.ByUser("system:serviceaccount:"+namespace+":robot"))
	require.NoError(t, err)
	require.Equal(t, map[string]int{"list secrets": 1}, cluster.Counts(requests))
}

// TestRequestsOfManyClientsAreAllThere reads requests while other clients write.
func TestRequestsOfManyClientsAreAllThere(t *testing.T) {
	const clientCount, each = 8, 50
	maps := make([]func(name string) error, clientCount)
	namespace := shared.Namespace(t)
	for i := range maps {
		config := shared.Config()
		config.UserAgent = fmt.Sprint("many-", i)
		api := clients(t, config).CoreV1().ConfigMaps(namespace)
		maps[i] = func(name string) error {
			_, err := api.Create(t.Context(), configMap(name), metav1.CreateOptions{})
			return err
		}
	}
	mark := shared.Mark()
	var group sync.WaitGroup
	for i, create := range maps {
		group.Go(func() {
			for n := 1; n <= each; n++ {
				if err := create(fmt.Sprintf("map-%d-%d", i, n)); err != nil {
					t.Error(err)
				}
				seen, err := shared.Requests(mark, cluster.ByUserAgent(fmt.Sprint("many-", i)))
				if err != nil || len(seen) != n {
					t.Errorf("client %d sees %d of its %d requests: %v", i, len(seen), n, err)
				}
			}
		})
	}
	group.Wait()
}

func TestControlPlaneIsNotRecorded(t *testing.T) {
	namespace := shared.Namespace(t)
	mark := shared.Mark()
	api := clients(t, shared.Config())
	_, err := api.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod"},
		Spec:       podSpec("example.org/app:1"),
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		pod, err := api.CoreV1().Pods(namespace).Get(t.Context(), "pod", metav1.GetOptions{})
		require.NoError(t, err)
		return pod.Status.Phase == corev1.PodRunning
	}, limit, tick, "scheduler and kwok have written to it")
	writes, err := shared.Requests(mark, cluster.Writes, func(r cluster.Request) bool { return r.Namespace == namespace })
	require.NoError(t, err)
	require.Equal(t, map[string]int{"create pods": 1}, cluster.Counts(writes))
}

func TestDeletionsAreThoseThatHappened(t *testing.T) {
	namespace := shared.Namespace(t)
	maps := clients(t, shared.Config()).CoreV1().ConfigMaps(namespace)
	created, err := maps.Create(t.Context(), configMap("map"), metav1.CreateOptions{})
	require.NoError(t, err)
	mark := shared.Mark()
	refused := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("another")}
	require.Error(t, maps.Delete(t.Context(), "map", refused))
	require.NoError(t, maps.Delete(t.Context(), "map", metav1.DeleteOptions{}))

	require.NoError(t, shared.Await(t.Context(), time.Minute, namespace, func(context.Context) error {
		deletions, err := shared.Deletions(mark)
		if err == nil && (len(deletions) != 1 || deletions[0].UID != created.UID || deletions[0].Name != "map") {
			err = fmt.Errorf("deleted were %v", deletions)
		}
		return err
	}))
}
