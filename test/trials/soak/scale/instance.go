package scale

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/trueup-go/trueup/ensure"
)

// An instance is a new operator: a manager with a cache, and a controller of the Stacks in one
// namespace. It runs until stop.
type instance struct {
	manager    manager.Manager
	reconciler *reconciler
	counter    *counter
	started    mark
	queue      workqueue.TypedRateLimitingInterface[reconcile.Request]
	workers    int

	cancel context.CancelFunc
	ended  chan struct{}
	err    error // what the manager returned; to be read when it has ended
}

// start starts a manager and returns when its informers are synced. The controller does nothing
// before begin.
func (t *Trial) start(ctx context.Context, namespace string) (*instance, error) {
	counter, config := t.newCounter()
	started := counter.now()
	m, err := ctrl.NewManager(config, t.managerOptions(namespace))
	if err != nil {
		return nil, fmt.Errorf("cannot make a manager: %w", err)
	}
	o := &instance{
		manager: m, reconciler: newReconciler(m), counter: counter, started: started, workers: t.Workers,
		ended: make(chan struct{}),
	}
	for _, kind := range append(o.children(), &Stack{}) {
		if _, err := m.GetCache().GetInformer(ctx, kind); err != nil {
			return nil, fmt.Errorf("cannot watch %T: %w", kind, err)
		}
	}
	ctx, o.cancel = context.WithCancel(ctx)
	go func() {
		o.err = m.Start(ctx)
		close(o.ended)
	}()
	if !m.GetCache().WaitForCacheSync(ctx) {
		return nil, errors.Join(errors.New("the cache did not sync"), o.stop())
	}
	return o, nil
}

// managerOptions select the namespace by field, which costs a cache nothing: that of
// several namespaces asks for a kind's scope at each read.
func (t *Trial) managerOptions(namespace string) manager.Options {
	return manager.Options{
		Scheme:     t.scheme,
		Cache:      cache.Options{DefaultFieldSelector: fields.OneTermEqualSelector("metadata.namespace", namespace)},
		Client:     client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: &t.ReadYourWrites}},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, // one operator after another
	}
}

// children has an object of each kind.
func (o *instance) children() []client.Object {
	children := make([]client.Object, 0, kinds)
	for _, part := range parts() {
		children = append(children, part(""))
	}
	return children
}

// begin starts the controller, waits until it has reconciled every owner, and returns the elapsed
// time.
func (o *instance) begin(ctx context.Context) (time.Duration, error) {
	return o.reconcileAll(ctx, func([]types.NamespacedName) error {
		builder := ctrl.NewControllerManagedBy(o.manager).
			For(&Stack{}).
			WithOptions(controller.Options{MaxConcurrentReconciles: o.workers}).
			WatchesRawSource(source.Func(o.keepQueue))
		for _, child := range o.children() {
			builder.Owns(child)
		}
		return builder.Complete(o.reconciler)
	})
}

// keepQueue is a source of requests: resync makes them.
func (o *instance) keepQueue(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	o.queue = queue
	return nil
}

// resync has the controller reconcile every owner once more, as informers do now and
// then, and returns how long that took.
func (o *instance) resync(ctx context.Context) (time.Duration, error) {
	return o.reconcileAll(ctx, func(owners []types.NamespacedName) error {
		for _, owner := range owners {
			o.queue.Add(reconcile.Request{NamespacedName: owner})
		}
		return nil
	})
}

// reconcileAll waits for the pass that trigger brings about.
func (o *instance) reconcileAll(ctx context.Context, trigger func([]types.NamespacedName) error) (time.Duration, error) {
	owners, err := o.owners(ctx)
	if err != nil {
		return 0, err
	}
	current := newPass(owners)
	o.reconciler.pass.Store(current)
	began := time.Now()
	if err := trigger(owners); err != nil {
		return 0, err
	}
	if err := o.await(ctx, current); err != nil {
		return 0, err
	}
	return time.Since(began), current.err
}

// await waits until a pass is over.
func (o *instance) await(ctx context.Context, current *pass) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	select {
	case <-current.done:
		return nil
	case <-o.ended:
		return errors.New("the manager ended before every owner was reconciled")
	case <-ctx.Done():
		return fmt.Errorf("cannot wait for every owner to be reconciled: %w", ctx.Err())
	}
}

func (o *instance) owners(ctx context.Context) ([]types.NamespacedName, error) {
	var stacks StackList
	if err := o.manager.GetClient().List(ctx, &stacks, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("cannot list the owners: %w", err)
	}
	keys := make([]types.NamespacedName, 0, len(stacks.Items))
	for i := range stacks.Items {
		keys = append(keys, client.ObjectKeyFromObject(&stacks.Items[i]))
	}
	return keys, nil
}

// forget takes the Ensurer's memory away.
func (o *instance) forget() {
	o.reconciler.ensurer.Store(ensure.New(o.manager.GetClient(), o.manager.GetAPIReader(), fieldOwner))
}

// stop returns when the manager has ended.
func (o *instance) stop() error {
	o.cancel()
	<-o.ended
	if o.err != nil {
		return fmt.Errorf("the manager failed: %w", o.err)
	}
	return nil
}
