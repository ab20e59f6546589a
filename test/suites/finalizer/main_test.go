package finalizer_test

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimecluster "sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

const (
	rowFinalizer     = "example.com/row"
	bucketFinalizer  = "example.com/bucket"
	foreignFinalizer = "elsewhere.org/theirs"
)

var (
	shared *cluster.Cluster
	scheme = runtime.NewScheme()
	admin  client.Client // may do everything
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, &shared))
}

// prepare creates the resources that all tests share: a client and a custom kind.
var prepare = sync.OnceValue(func() error {
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := addWidgets(scheme); err != nil {
		return err
	}
	c, err := client.New(shared.Config(), client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	admin = c
	return cluster.Define(context.Background(), c, widgetCRD())
})

// namespaceOf is a test's own.
func namespaceOf(t *testing.T) string {
	t.Helper()
	require.NoError(t, prepare())
	return shared.Namespace(t)
}

// cached returns a manager's client, which reads from informers.
func cached(t *testing.T, reading *client.CacheOptions) client.Client {
	t.Helper()
	require.NoError(t, prepare())
	opts := runtimecluster.Options{Scheme: scheme, Client: client.Options{Cache: reading}}
	return cluster.Cached(t, shared.Config(), opts).GetClient()
}

// create creates an object with these finalizers. They are removed when the test ends, so that the
// namespace can be deleted.
func create[T client.Object](t *testing.T, obj T, finalizers ...string) T {
	t.Helper()
	obj.SetFinalizers(finalizers)
	require.NoError(t, admin.Create(t.Context(), obj))
	t.Cleanup(func() { require.NoError(t, client.IgnoreNotFound(release(context.Background(), obj))) })
	return obj
}

// release removes all finalizers as the admin.
func release(ctx context.Context, obj client.Object) error {
	out, _ := obj.DeepCopyObject().(client.Object)
	return admin.Patch(ctx, out, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
}

// live returns the live version of obj.
func live[T client.Object](t *testing.T, obj T) T {
	t.Helper()
	return read(t, admin, obj)
}

func read[T client.Object](t *testing.T, c client.Reader, obj T) T {
	t.Helper()
	out, _ := obj.DeepCopyObject().(T)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(obj), out))
	return out
}

func configMap(namespace string) *corev1.ConfigMap {
	c := &corev1.ConfigMap{Data: map[string]string{"host": "site.example.com"}}
	c.Namespace, c.Name = namespace, "site"
	return c
}
