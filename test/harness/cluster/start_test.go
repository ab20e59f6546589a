package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/longform"
)

const (
	// limit bounds every wait of a test. It exceeds the minute that components may need to
	// reconnect after an outage of the API server.
	limit = 3 * time.Minute
	// tick is the time between two looks.
	tick = 20 * time.Millisecond
)

// shared is the cluster of all tests that do not need one of their own.
var shared *cluster.Cluster

func TestMain(m *testing.M) {
	if name := os.Getenv(helperVariable); name != "" {
		os.Exit(helpers[name]())
	}
	os.Exit(longform.Main(func() int { return cluster.Main(m, &shared, cluster.AuditDeletions()) }))
}

func TestStartsWithNodesThatTakePods(t *testing.T) {
	nodes, err := clients(t, shared.Config()).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, nodes.Items, 2)
	for _, node := range nodes.Items {
		require.Empty(t, node.Spec.Taints)
		require.True(t, slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}))
	}
}

func TestServerHasThePinnedVersion(t *testing.T) {
	if err := cluster.CheckVersion(t.Context()); errors.Is(err, cluster.ErrOtherVersion) {
		t.Skip(err)
	}
	version, err := clients(t, shared.Config()).Discovery().ServerVersion()
	require.NoError(t, err)
	gomod, err := os.ReadFile("../../../tools/cluster/go.mod")
	require.NoError(t, err)
	require.Contains(t, string(gomod), "k8s.io/kubernetes "+version.GitVersion+" ")
	require.Equal(t, strings.Split(version.GitVersion, ".")[1], version.Minor)
}

func TestDeploymentBecomesAvailable(t *testing.T) {
	requireDeploymentAvailable(t, shared)
}

func TestPodCanBeCreatedInAFreshNamespaceAtOnce(t *testing.T) {
	pod := createPod(t, shared)
	require.Equal(t, "default", pod.Spec.ServiceAccountName)
	require.Len(t, pod.Spec.Volumes, 1, "the ServiceAccount's token")
}

// createPod creates a Pod in a fresh namespace.
func createPod(t *testing.T, c *cluster.Cluster) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Spec: podSpec("example.org/app:1")}
	created, err := clients(t, c.Config()).CoreV1().Pods(c.Namespace(t)).Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	return created
}

// TestClustersSideBySide starts two clusters at once, one of them with its own node count, stages
// and flags, beside the shared one.
func TestClustersSideBySide(t *testing.T) {
	started := make(chan *cluster.Cluster, 2)
	for _, opts := range [][]cluster.Option{nil, {
		cluster.Nodes(1),
		cluster.Stages(oddStage),
		cluster.Flags("kube-apiserver", "--disable-admission-plugins=ServiceAccount"),
	}} {
		go func() {
			c, err := cluster.Start(context.Background(), opts...)
			if err != nil {
				t.Error(err)
			}
			started <- c
		}()
	}
	first, second := <-started, <-started
	require.NotNil(t, first)
	require.NotNil(t, second)
	if nodeCount(t, first) == 1 {
		first, second = second, first
	}
	t.Cleanup(func() { require.NoError(t, second.Stop()) })

	t.Run("first", func(t *testing.T) { requireDeploymentAvailable(t, first) })
	requireApart(t, first, second, shared)
	require.NoError(t, first.Stop())
	require.Equal(t, 1, nodeCount(t, second), "it goes on when another has stopped")
	require.Equal(t, 2, nodeCount(t, shared))
	t.Run("stages", func(t *testing.T) { requireStageTakesPrecedence(t, second) })
	t.Run("flags", func(t *testing.T) { require.Empty(t, createPod(t, second).Spec.Volumes) })
}

// requireApart makes an object in each cluster, which is in that one only.
func requireApart(t *testing.T, clusters ...*cluster.Cluster) {
	t.Helper()
	for i, c := range clusters {
		api := clients(t, c.Config()).CoreV1().ConfigMaps("default")
		_, err := api.Create(t.Context(), configMap(fmt.Sprint("map-of-", i)), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	for i, c := range clusters {
		require.Equal(t, []string{fmt.Sprint("map-of-", i)}, slices.Sorted(maps.Keys(uids(t, c, "default"))))
	}
}

func nodeCount(t *testing.T, c *cluster.Cluster) int {
	t.Helper()
	nodes, err := clients(t, c.Config()).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return len(nodes.Items)
}

// oddStage lets no pod run whose image bears the tag odd.
const oddStage = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: odd
spec:
  weight: 2
  resourceRef:
    apiGroup: v1
    kind: Pod
  selector:
    matchExpressions:
    - key: '.status.phase'
      operator: In
      values: [Pending]
    - key: '.spec.containers.[].image | endswith(":odd") | tostring'
      operator: In
      values: ["true"]
  next:
    statusTemplate: |
      phase: Failed
      reason: Odd
`

func requireStageTakesPrecedence(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	pods := createPods(t, c, map[string]string{"odd": "example.org/app:odd", "good": "example.org/app:1"})
	require.Eventually(t, func() bool {
		odd, good := pods("odd"), pods("good")
		require.NotEqual(t, corev1.PodRunning, odd.Phase)
		return good.Phase == corev1.PodRunning && odd.Phase == corev1.PodFailed && odd.Reason == "Odd"
	}, limit, tick)
}

// TestHeldPods: the tag of an image keeps a pod from becoming ready, for good.
func TestHeldPods(t *testing.T) {
	t.Parallel()
	held := map[string]struct {
		phase  corev1.PodPhase
		reason string
	}{
		"pending":  {corev1.PodPending, "ContainerCreating"},
		"missing":  {corev1.PodPending, "ImagePullBackOff"},
		"crashing": {corev1.PodRunning, "CrashLoopBackOff"},
	}
	images := map[string]string{}
	for tag := range held {
		images[tag] = "example.org/app:" + tag
	}
	pods := createPods(t, shared, images)
	for tag, want := range held {
		require.Eventually(t, func() bool {
			status := pods(tag)
			return status.Phase == want.phase && len(status.ContainerStatuses) == 1 &&
				status.ContainerStatuses[0].State.Waiting.Reason == want.reason
		}, limit, tick, tag)
	}
	// Pods made later become ready, so these had their chance.
	later := createPods(t, shared, map[string]string{"later": "example.org/app:1"})
	require.Eventually(t, func() bool { return later("later").Phase == corev1.PodRunning }, limit, tick)
	for tag, want := range held {
		status := pods(tag)
		require.Equal(t, want.phase, status.Phase, tag)
		require.False(t, status.ContainerStatuses[0].Ready, tag)
		require.True(t, slices.ContainsFunc(status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse && c.Reason == "ContainersNotReady"
		}), tag)
	}
}

// createPods makes pods of these images in a namespace of their own, and returns how to
// look at their status.
func createPods(t *testing.T, c *cluster.Cluster, images map[string]string) func(name string) corev1.PodStatus {
	t.Helper()
	pods := clients(t, c.Config()).CoreV1().Pods(c.Namespace(t))
	for name, image := range images {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: podSpec(image)}
		_, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	return func(name string) corev1.PodStatus {
		pod, err := pods.Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		return pod.Status
	}
}

func requireDeploymentAvailable(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	deployments := clients(t, c.Config()).AppsV1().Deployments(c.Namespace(t))
	created, err := deployments.Create(t.Context(), deployment(3), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		live, err := deployments.Get(t.Context(), created.Name, metav1.GetOptions{})
		require.NoError(t, err)
		return live.Status.AvailableReplicas == 3
	}, limit, tick)
}

func clients(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	api, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return api
}

func deployment(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "app"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "app"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(replicas),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       podSpec("example.org/app:1"),
			},
		},
	}
}

func podSpec(image string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: image}}}
}
