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
	wired, filtered := newDiary(), newDiary()
	startControllers(t, namespace, wired, filtered)
	widgets := &family{ctx: ctx, t: t, namespace: namespace}
	shop, marker := widgets.owner("shop"), widgets.owner("marker")
	for _, d := range []*diary{wired, filtered} {
		d.await(ctx, t, "shop", 1)
		d.await(ctx, t, "marker", 1)
	}

	// A marker's event arrives after all earlier events of Widgets, and so does its entry: later
	// entries are not possible.
	web := widgets.child(shop, "web")
	widgets.child(marker, "first")
	before := map[*diary]int{wired: wired.await(ctx, t, "marker", 2), filtered: filtered.await(ctx, t, "marker", 2)}
	status := client.RawPatch(types.MergePatchType, []byte(checked("lastProbeTime", aTime)))
	require.NoError(t, human.Status().Patch(ctx, web, status))
	widgets.child(marker, "second")

	for d, wants := range map[*diary][]string{wired: {"shop", "marker"}, filtered: {"marker"}} {
		d.await(ctx, t, "marker", 3)
		require.Equal(t, wants, d.since(before[d]))
	}
}

func startControllers(t *testing.T, namespace string, wired, filtered *diary) {
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

// A family makes owners and children.
type family struct {
	ctx       context.Context
	t         *testing.T
	namespace string
}

func (f *family) owner(name string) client.Object {
	f.t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: named(name)}
	owner.Namespace = f.namespace
	require.NoError(f.t, human.Create(f.ctx, owner))
	return owner
}

func (f *family) child(owner client.Object, name string) client.Object {
	f.t.Helper()
	child := custom("Widget", name)
	child.SetNamespace(f.namespace)
	require.NoError(f.t, controllerutil.SetControllerReference(owner, child, scheme))
	require.NoError(f.t, human.Create(f.ctx, child))
	return child
}

// A diary is a reconciler that records its requests.
type diary struct {
	mu    sync.Mutex
	names []string
	more  chan struct{} // closed when there are more
}

func newDiary() *diary { return &diary{more: make(chan struct{})} }

func (d *diary) Reconcile(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	// Every namespace has a ConfigMap of Kubernetes' own.
	if request.Name != "kube-root-ca.crt" {
		d.names = append(d.names, request.Name)
		close(d.more)
		d.more = make(chan struct{})
	}
	return reconcile.Result{}, nil
}

// await waits until name is there so many times and returns the number of entries
// up to then.
func (d *diary) await(ctx context.Context, t *testing.T, name string, times int) int {
	t.Helper()
	for {
		d.mu.Lock()
		count, entries, more := 0, 0, d.more
		for i, n := range d.names {
			if n == name && count < times {
				count, entries = count+1, i+1
			}
		}
		d.mu.Unlock()
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

func (d *diary) since(entries int) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.names[entries:])
}
