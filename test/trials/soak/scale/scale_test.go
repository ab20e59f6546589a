package scale_test

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/trials/soak/scale"
)

var shared *cluster.Cluster

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, &shared))
}

var trial = sync.OnceValues(func() (*scale.Trial, error) {
	return scale.NewTrial(context.Background(), shared)
})

func TestUntouchedChildrenCostNoRequest(t *testing.T) {
	trial, err := trial()
	require.NoError(t, err)
	before := children(t)

	sizes, err := trial.Grow(t.Context(), 100, 200)
	require.NoError(t, err)
	require.Len(t, sizes, 2)
	for i, want := range []int{100, 200} {
		size := sizes[i]
		require.Equal(t, want, size.Children)
		require.Equal(t, want, size.Converging.Created, "one create each: %v", size.Converging.Kinds)
		require.Zero(t, size.Resyncs.Sent, "in passes: %v", size.Resyncs.Kinds)
		require.Positive(t, size.Passes)
		require.Zero(t, size.Restarts.Sent, "after a restart: %v", size.Restarts.Kinds)
		require.Positive(t, size.Instances)
	}

	made := children(t)
	for kind, n := range made {
		require.Equal(t, 30, n-before[kind], kind)
	}
	require.Len(t, made, 10)
}

// children counts the children of Stacks in all namespaces by kind.
func children(t *testing.T) map[string]int {
	t.Helper()
	c, err := client.New(shared.Config(), client.Options{})
	require.NoError(t, err)
	counts := map[string]int{}
	for _, kind := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "ConfigMap"},
		{Version: "v1", Kind: "Secret"},
		{Version: "v1", Kind: "Service"},
		{Version: "v1", Kind: "ServiceAccount"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "batch", Version: "v1", Kind: "CronJob"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
		{Group: "soak.trueup-go.github.io", Version: "v1", Kind: "Widget"},
	} {
		var list metav1.PartialObjectMetadataList
		list.SetGroupVersionKind(kind)
		require.NoError(t, c.List(t.Context(), &list))
		counts[kind.Kind] = 0
		for i := range list.Items {
			if owner := metav1.GetControllerOfNoCopy(&list.Items[i]); owner != nil && owner.Kind == "Stack" {
				counts[kind.Kind]++
			}
		}
	}
	return counts
}
