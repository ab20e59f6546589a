package cluster

import (
	"context"
	"reflect"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimecluster "sigs.k8s.io/controller-runtime/pkg/cluster"
)

// ReadYourWrites returns options of a client whose reads wait until its cache shows its own writes. Before
// controller-runtime v0.25, no client's reads do.
func ReadYourWrites() *client.CacheOptions {
	options := &client.CacheOptions{}
	if field := reflect.ValueOf(options).Elem().FieldByName("EnableReadYourWritesConsistency"); field.IsValid() {
		field.Set(reflect.ValueOf(new(true)))
	}
	return options
}

// Cached returns the clients that a manager gives an operator: a client that reads from informers,
// unstructured objects too, and a reader that reads from the server. The informers run until the
// test ends.
func Cached(t testing.TB, config *rest.Config, opts runtimecluster.Options) runtimecluster.Cluster {
	t.Helper()
	if opts.Client.Cache == nil {
		opts.Client.Cache = &client.CacheOptions{}
	}
	opts.Client.Cache.Unstructured = true
	running, err := runtimecluster.New(config, func(o *runtimecluster.Options) { *o = opts })
	if err != nil {
		t.Fatalf("cannot make a cache: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- running.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the cache failed: %v", err)
		}
	})
	if !running.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the cache did not sync")
	}
	return running
}
