package predicates_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/predicates"
)

// TestEventFilterHidesChildren has two controllers of ConfigMaps that own Widgets: one as on the
// package page, and one with Primary in the wrong place.
func TestEventFilterHidesChildren(t *testing.T) {
	require.NoError(t, prepare())
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	namespace := shared.Namespace(t)
	wired, filtered := newRequestRecorder(), newRequestRecorder()
	startControllers(t, namespace, wired, filtered)
	widgets := &objectCreator{ctx: ctx, t: t, namespace: namespace}
	shop, marker := widgets.owner("shop"), widgets.owner("marker")
	for _, d := range []*requestRecorder{wired, filtered} {
		d.await(ctx, t, "shop", 1)
		d.await(ctx, t, "marker", 1)
	}

	// A marker's event arrives after all earlier events of Widgets, and so does its entry: later
	// entries are not possible.
	web := widgets.child(shop, "web")
	widgets.child(marker, "first")
	before := map[*requestRecorder]int{wired: wired.await(ctx, t, "marker", 2), filtered: filtered.await(ctx, t, "marker", 2)}
	status := client.RawPatch(types.MergePatchType, []byte(checked("lastProbeTime", aTime)))
	require.NoError(t, admin.Status().Patch(ctx, web, status))
	widgets.child(marker, "second")

	for d, wants := range map[*requestRecorder][]string{wired: {"shop", "marker"}, filtered: {"marker"}} {
		d.await(ctx, t, "marker", 3)
		require.Equal(t, wants, d.since(before[d]))
	}
}

func startControllers(t *testing.T, namespace string, wired, filtered *requestRecorder) {
	t.Helper()
	mgr, err := ctrl.NewManager(shared.Config(), ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, // the test may run again in one process
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	})
	require.NoError(t, err)
	require.NoError(t, ctrl.NewControllerManagedBy(mgr).Named("wired").
		For(&corev1.ConfigMap{}, builder.WithPredicates(predicates.Primary())).
		Owns(custom("Widget", ""), builder.WithPredicates(predicates.Owned())).
		Complete(wired))
	require.NoError(t, ctrl.NewControllerManagedBy(mgr).Named("filtered").
		For(&corev1.ConfigMap{}).
		Owns(custom("Widget", "")).
		WithEventFilter(predicates.Primary()).
		Complete(filtered))

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
}

// An objectCreator creates owners and children.
type objectCreator struct {
	ctx       context.Context
	t         *testing.T
	namespace string
}

func (c *objectCreator) owner(name string) client.Object {
	c.t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: named(name)}
	owner.Namespace = c.namespace
	require.NoError(c.t, admin.Create(c.ctx, owner))
	return owner
}

func (c *objectCreator) child(owner client.Object, name string) client.Object {
	c.t.Helper()
	child := custom("Widget", name)
	child.SetNamespace(c.namespace)
	require.NoError(c.t, controllerutil.SetControllerReference(owner, child, scheme))
	require.NoError(c.t, admin.Create(c.ctx, child))
	return child
}

// A requestRecorder is a reconciler that records its requests.
type requestRecorder struct {
	mu    sync.Mutex
	names []string
	more  chan struct{} // closed when there are more
}

func newRequestRecorder() *requestRecorder { return &requestRecorder{more: make(chan struct{})} }

func (r *requestRecorder) Reconcile(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Every namespace has a ConfigMap of Kubernetes' own.
	if request.Name != "kube-root-ca.crt" {
		r.names = append(r.names, request.Name)
		close(r.more)
		r.more = make(chan struct{})
	}
	return reconcile.Result{}, nil
}

// await waits until name is there so many times and returns the number of entries
// up to then.
func (r *requestRecorder) await(ctx context.Context, t *testing.T, name string, times int) int {
	t.Helper()
	for {
		r.mu.Lock()
		count, entries, more := 0, 0, r.more
		for i, n := range r.names {
			if n == name && count < times {
				count, entries = count+1, i+1
			}
		}
		r.mu.Unlock()
		if count == times {
			return entries
		}
		select {
		case <-more:
		case <-ctx.Done():
			require.NoError(t, ctx.Err(), "%s was not reconciled", name)
		}
	}
}

func (r *requestRecorder) since(entries int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.names[entries:])
}
