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

// An operator is the client of one operator: it reads from a cache, counts its other requests, and
// can fail at each.
type operator struct {
	client.Client

	requests int
	trouble  map[int]*trouble // by the number of the request

	stale  *unstructured.Unstructured // what a lagging cache shows, if anything
	lags   bool
	lag    int  // for how many reads
	strips bool // managed fields, from what the cache shows
}

// A trouble is a failure of a request.
type trouble struct {
	err    error  // that the operator gets
	done   bool   // though the server does it
	before func() // another program comes first
	met    bool
}

func troubles(rng *rand.Rand) *trouble {
	resource := schema.GroupResource{Resource: "things"}
	out := &trouble{done: rng.IntN(2) == 0}
	switch rng.IntN(4) {
	case 0:
		out.err = apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
	case 1:
		out.err = apierrors.NewServerTimeout(resource, "patch", 1)
	case 2:
		out.err = context.DeadlineExceeded
	default:
		out.err, out.done = apierrors.NewConflict(resource, "it", errors.New("the object has been modified")), false
	}
	return out
}

// ask counts a request and sends it unless the request fails before.
func (o *operator) ask(send func() error) error {
	o.requests++
	t := o.trouble[o.requests]
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
	if t.done {
		_ = send() // nobody hears of it
	}
	return t.err
}

// met reports whether something of a sort went wrong.
func (o *operator) met(isOfSort func(*trouble) bool) bool {
	for _, t := range o.trouble {
		if t.met && isOfSort(t) {
			return true
		}
	}
	return false
}

// Get reads from the cache.
func (o *operator) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if o.lag > 0 {
		o.lag--
		if o.stale == nil {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, key.Name)
		}
		return show(o.stale, obj)
	}
	err := o.Client.Get(ctx, key, obj, opts...)
	if o.strips {
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

func (o *operator) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return o.ask(func() error { return o.Client.Patch(ctx, obj, patch, opts...) })
}

func (o *operator) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	return o.ask(func() error { return o.Client.Create(ctx, obj, opts...) })
}

func (o *operator) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	return o.ask(func() error { return o.Client.Update(ctx, obj, opts...) })
}

func (o *operator) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return o.ask(func() error { return o.Client.Delete(ctx, obj, opts...) })
}

// A server reads past the cache.
type server struct{ *operator }

func (s server) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return s.ask(func() error { return s.Client.Get(ctx, key, obj, opts...) })
}
