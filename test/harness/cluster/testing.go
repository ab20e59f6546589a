package cluster

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// namespaceLimit bounds the creation and the deletion of a namespace. They take a fraction of a
// second, and up to a minute more until the controllers notice that an API server is back: see
// [Cluster.Restart].
const namespaceLimit = 3 * time.Minute

// Main runs the tests of a package on one shared cluster: it starts a cluster,
// stores it in c, runs the tests, stops the cluster and returns the exit code.
//
//	func TestMain(m *testing.M) { os.Exit(cluster.Main(m, &shared)) }
func Main(m *testing.M, c **Cluster, opts ...Option) int {
	started, err := Start(context.Background(), opts...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	*c = started
	code := m.Run()
	if err := started.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// Namespace creates a namespace for a test and returns its name. Pods can be created there at once,
// and the default objects exist. With [DeleteNamespaces], the namespace is deleted when the test ends,
// and its content a moment later. Otherwise the namespace stays until the cluster stops.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), namespaceLimit)
	defer cancel()
	namespaces := c.clients.CoreV1().Namespaces()
	created, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("cannot create a namespace: %v", err)
	}
	if c.options.deleteNamespaces {
		t.Cleanup(func() {
			// The test's own context has ended by now.
			ctx, cancel := context.WithTimeout(context.Background(), namespaceLimit)
			defer cancel()
			if err := namespaces.Delete(ctx, created.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				t.Errorf("cannot delete namespace %s: %v", created.Name, err)
			}
		})
	}
	if err := c.Await(ctx, namespaceLimit, created.Name, c.namespaceReady(created.Name)); err != nil {
		t.Fatalf("cannot wait for what is in each namespace: %v", err)
	}
	return created.Name
}
