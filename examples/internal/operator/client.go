package operator

import (
	"context"
	"slices"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// readWait is how long a read waits for the cache to show the operator's own writes.
//
// The cache may never show one. If an object was written, and is gone when the cache lists its kind again after an interrupted watch,
// a client of controller-runtime v0.25 waits until another object of this kind changes: it knows how new the cached objects are, but
// not how new the list is.
const readWait = 5 * time.Second

// A boundedClient ends a wait for the cache after readWait. The read then answers what the cache has.
type boundedClient struct{ client.Client }

func newClient(config *rest.Config, options client.Options) (client.Client, error) {
	c, err := client.New(config, options)
	if err != nil {
		return nil, err
	}
	return boundedClient{c}, nil
}

// Get implements [client.Reader].
func (c boundedClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	once := func(ctx context.Context, opts ...client.GetOption) error { return c.Client.Get(ctx, key, obj, opts...) }
	return read[client.GetOption](ctx, once, opts, client.DisableReadYourWritesConsistency)
}

// List implements [client.Reader].
func (c boundedClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	once := func(ctx context.Context, opts ...client.ListOption) error { return c.Client.List(ctx, list, opts...) }
	return read[client.ListOption](ctx, once, opts, client.DisableReadYourWritesConsistency)
}

// read calls once, and again with the option notToWait if readWait is over. The first call has no deadline, for which the rate limiter
// of a client would refuse to wait.
func read[Option any](
	ctx context.Context, once func(ctx context.Context, opts ...Option) error, opts []Option, notToWait Option,
) error {
	bounded, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(readWait, cancel).Stop()
	err := once(bounded, opts...)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = once(ctx, slices.Concat(opts, []Option{notToWait})...)
	}
	return err
}
