package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimecluster "sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/trueup-go/trueup/test/harness/await"
)

// settleTimeout limits the wait for built-in controllers and for the cache.
const settleTimeout = 10 * time.Minute

var conflictBackoff = wait.Backoff{Steps: 12, Duration: 10 * time.Millisecond, Factor: 1.5}

// An operator is a new process of a contestant, as far as that matters: it has no memory, and its cache has
// just been filled.
type operator struct {
	clients

	write writer
	bytes *byteCounter
	stop  func() error
}

// start starts an operator for the owners in a namespace.
func (e *environment) start(ctx context.Context, c contestant, namespace string) (*operator, error) {
	counter, config := &byteCounter{}, e.cluster.Config()
	config.UserAgent = namespace // is unique
	config.Wrap(counter.wrap)
	running, err := runtimecluster.New(config, func(o *runtimecluster.Options) {
		o.Scheme = e.scheme
		o.Cache = cache.Options{DefaultFieldSelector: fields.OneTermEqualSelector("metadata.namespace", namespace)}
		o.Client.Cache = &client.CacheOptions{Unstructured: true}
	})
	if err != nil {
		return nil, fmt.Errorf("cannot make a cache: %w", err)
	}
	for _, child := range children() {
		if _, err := running.GetCache().GetInformer(ctx, child.Empty()); err != nil {
			return nil, fmt.Errorf("cannot watch %s: %w", child.Kind.Kind, err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- running.Start(ctx) }()
	o := &operator{
		clients: clients{Client: running.GetClient(), server: running.GetAPIReader(), fieldOwner: namespace},
		bytes:   counter,
		stop:    func() error { cancel(); return <-ended },
	}
	if !running.GetCache().WaitForCacheSync(ctx) {
		return nil, errors.Join(errors.New("the cache did not sync"), o.stop())
	}
	o.write = c.start(o.clients)
	return o, nil
}

// pass reconciles all owners once, and returns how long each took.
func (o *operator) pass(ctx context.Context, owners []*corev1.ConfigMap, revision int) ([]time.Duration, error) {
	times := make([]time.Duration, len(owners))
	err := eachOf(ctx, owners, func(ctx context.Context, i int) error {
		began := time.Now()
		err := o.reconcile(ctx, owners[i], revision)
		times[i] = time.Since(began)
		return err
	})
	return times, err
}

// reconcile writes the children of an owner, and again after a conflict: the cache was not up to date.
func (o *operator) reconcile(ctx context.Context, owner *corev1.ConfigMap, revision int) error {
	isBehind := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	return retry.OnError(conflictBackoff, isBehind, func() error { return o.write(ctx, owner, revision) })
}

// settle waits until the built-in controllers have nothing left to do, and the operator's cache shows that.
func (e *environment) settle(ctx context.Context, o *operator) error {
	return await.Until(ctx, settleTimeout, func(ctx context.Context) error {
		for _, child := range children() {
			stored, err := child.versions(ctx, e.admin, o.fieldOwner)
			if err != nil {
				return err
			}
			cached, err := child.versions(ctx, o, o.fieldOwner)
			if err != nil {
				return err
			}
			for key, version := range stored {
				if cached[key] != version {
					return fmt.Errorf("the cache does not show %s %s as it is", child.Kind.Kind, key)
				}
			}
		}
		return nil
	})
}

// versions returns the resource versions of the children of a kind. An error means that a built-in controller
// has not observed one of them yet.
func (c child) versions(ctx context.Context, reader client.Reader, namespace string) (map[types.NamespacedName]string, error) {
	list, err := c.list(ctx, reader, namespace)
	versions := map[types.NamespacedName]string{}
	for _, object := range list {
		versions[client.ObjectKeyFromObject(object)] = object.GetResourceVersion()
		err = errors.Join(err, checkObserved(object))
	}
	return versions, err
}
