package property_test

import (
	"context"
	"errors"
	"math/rand/v2"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An operatorClient is the client of one operator. It reads from a cache, counts its other requests, and
// can fail at each.
type operatorClient struct {
	client.Client

	requests int
	faults   map[int]*fault // by the number of the request

	laggingCopy         *unstructured.Unstructured // what a lagging cache shows, nil for nothing
	isLagging           bool
	laggedReads         int  // for so many more reads
	stripsManagedFields bool // the cached copies have no managed fields
}

// A fault is a failure of a request.
type fault struct {
	err       error  // that the operator gets
	delivered bool   // the server carries out the request all the same
	before    func() // another program comes first
	met       bool
}

func randomFault(rng *rand.Rand) *fault {
	resource := schema.GroupResource{Resource: "things"}
	out := &fault{delivered: rng.IntN(2) == 0}
	switch rng.IntN(4) {
	case 0:
		out.err = apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
	case 1:
		out.err = apierrors.NewServerTimeout(resource, "patch", 1)
	case 2:
		out.err = context.DeadlineExceeded
	default:
		out.err, out.delivered = apierrors.NewConflict(resource, "it", errors.New("the object has been modified")), false
	}
	return out
}

// request counts a request and sends it unless the request fails before.
func (c *operatorClient) request(send func() error) error {
	c.requests++
	t := c.faults[c.requests]
	if t == nil {
		return send()
	}
	t.met = true
	if t.before != nil {
		t.before()
	}
	if t.err == nil {
		return send()
	}
	if t.delivered {
		_ = send() // nobody hears of it
	}
	return t.err
}

// met reports whether a fault of a sort has happened.
func (c *operatorClient) met(isOfSort func(*fault) bool) bool {
	for _, t := range c.faults {
		if t.met && isOfSort(t) {
			return true
		}
	}
	return false
}

// Get reads from the cache.
func (c *operatorClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if c.laggedReads > 0 {
		c.laggedReads--
		if c.laggingCopy == nil {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, key.Name)
		}
		return show(c.laggingCopy, obj)
	}
	err := c.Client.Get(ctx, key, obj, opts...)
	if c.stripsManagedFields {
		obj.SetManagedFields(nil)
	}
	return err
}

func show(from *unstructured.Unstructured, to client.Object) error {
	if u, ok := to.(*unstructured.Unstructured); ok {
		from.DeepCopyInto(u)
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(from.DeepCopy().Object, to)
}

func (c *operatorClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return c.request(func() error { return c.Client.Patch(ctx, obj, patch, opts...) })
}

func (c *operatorClient) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	return c.request(func() error { return c.Client.Create(ctx, obj, opts...) })
}

func (c *operatorClient) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	return c.request(func() error { return c.Client.Update(ctx, obj, opts...) })
}

func (c *operatorClient) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return c.request(func() error { return c.Client.Delete(ctx, obj, opts...) })
}

// An apiReader reads from the server instead of the cache.
type apiReader struct{ *operatorClient }

func (s apiReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return s.request(func() error { return s.Client.Get(ctx, key, obj, opts...) })
}
