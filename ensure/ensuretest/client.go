package ensuretest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/object"
)

// A Client is a client for an operator, like the client of a manager, and records the operator's
// requests. Reads through the Client come from a cache, so they do not count as requests. Reads through
// APIReader do.
type Client struct {
	client.Client

	reader client.Reader
	fake   client.WithWatch // of NewClient

	mu       sync.Mutex
	requests []Request
}

// Count returns a Client that sends everything through c and reader, and records the requests. c and
// reader are the results of GetClient and GetAPIReader of a manager. To find out which fields a write
// changed, the Client reads the object from reader before and after the write. These reads do not
// count.
//
// Without a cache, c and reader are the same. Reads through the Client are then requests, but do not
// count.
func Count(c client.Client, reader client.Reader) *Client {
	return &Client{Client: c, reader: reader}
}

// APIReader returns a reader of the API server, like a manager's GetAPIReader: each read is a request.
func (c *Client) APIReader() client.Reader { return apiReader{c} }

// Requests returns the requests so far, in the order in which they began, including failed requests and
// dry runs.
func (c *Client) Requests() []Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

// Unwrap returns controller-runtime's fake client if NewClient made c, for fake.AddIndex. Otherwise, it
// returns the counted client, or nil if that client cannot watch.
func (c *Client) Unwrap() client.WithWatch {
	if c.fake != nil {
		return c.fake
	}
	inner, _ := c.Client.(client.WithWatch)
	return inner
}

// Watch watches through the counted client, if that client can watch. A watch does not count. With
// Watch, a Client can be given to controller-runtime's interceptor, which makes requests fail.
func (c *Client) Watch(ctx context.Context, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
	if inner := c.Unwrap(); inner != nil {
		return inner.Watch(ctx, list, opts...)
	}
	return nil, errors.New("the counted client cannot watch")
}

// Create counts as create.
func (c *Client) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	options := (&client.CreateOptions{}).ApplyOptions(opts)
	return c.write(ctx, Request{Verb: "create", DryRun: len(options.DryRun) > 0}, obj, func() error {
		return c.Client.Create(ctx, obj, opts...)
	})
}

// Update counts as update.
func (c *Client) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	options := (&client.UpdateOptions{}).ApplyOptions(opts)
	return c.write(ctx, Request{Verb: "update", DryRun: len(options.DryRun) > 0}, obj, func() error {
		return c.Client.Update(ctx, obj, opts...)
	})
}

// Patch counts as apply if the patch is an apply, and otherwise as patch.
func (c *Client) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	options := (&client.PatchOptions{}).ApplyOptions(opts)
	return c.write(ctx, Request{Verb: verbOf(patch), DryRun: len(options.DryRun) > 0}, obj, func() error {
		return c.Client.Patch(ctx, obj, patch, opts...)
	})
}

// Apply counts as apply.
func (c *Client) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	options := (&client.ApplyOptions{}).ApplyOptions(opts)
	return c.write(ctx, Request{Verb: verbApply, DryRun: len(options.DryRun) > 0}, appliedBy(obj), func() error {
		return c.Client.Apply(ctx, obj, opts...)
	})
}

// Delete counts as delete.
func (c *Client) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	options := (&client.DeleteOptions{}).ApplyOptions(opts)
	return c.write(ctx, Request{Verb: "delete", DryRun: len(options.DryRun) > 0}, obj, func() error {
		return c.Client.Delete(ctx, obj, opts...)
	})
}

// DeleteAllOf counts as one deletecollection.
func (c *Client) DeleteAllOf(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	options := (&client.DeleteAllOfOptions{}).ApplyOptions(opts)
	gvk, _ := c.GroupVersionKindFor(obj) // the client itself reports an unknown kind
	at := c.begin(Request{
		Verb: "deletecollection", Kind: gvk, Key: client.ObjectKey{Namespace: options.Namespace}, DryRun: len(options.DryRun) > 0,
	})
	err := c.Client.DeleteAllOf(ctx, obj, opts...)
	c.end(at, nil, "", err)
	return err
}

// Status returns a writer whose writes count as requests.
func (c *Client) Status() client.SubResourceWriter { return c.SubResource("status") }

// SubResource returns a client whose writes and reads count as requests.
func (c *Client) SubResource(name string) client.SubResourceClient {
	return subresource{client: c, name: name, inner: c.Client.SubResource(name)}
}

// write sends a write and finds out which fields it changed.
func (c *Client) write(ctx context.Context, r Request, obj client.Object, do func() error) error {
	r.Kind, _ = c.GroupVersionKindFor(obj) // the client itself reports an unknown kind
	r.Key = client.ObjectKeyFromObject(obj)
	before := c.live(ctx, obj)
	at := c.begin(r)
	err := do()
	if err != nil || r.DryRun {
		c.end(at, nil, "", err)
		return err
	}
	c.name(at, client.ObjectKeyFromObject(obj))
	changes, outcome := compare(before, c.live(ctx, obj))
	c.end(at, changes, outcome, nil)
	return nil
}

// live returns obj from the server, or nil.
func (c *Client) live(ctx context.Context, obj client.Object) client.Object {
	gvk, err := c.GroupVersionKindFor(obj)
	fresh := object.New(obj, gvk.GroupVersion().String(), gvk.Kind)
	if err != nil || fresh == nil || obj.GetName() == "" {
		return nil
	}
	if err := c.reader.Get(ctx, client.ObjectKeyFromObject(obj), fresh); err != nil {
		return nil
	}
	return fresh
}

// begin remembers a request before it is sent, so that requests of a call that waits for this one come
// later.
func (c *Client) begin(r Request) (at int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, r)
	return len(c.requests) - 1
}

// name tells the object's name, which the server may have made.
func (c *Client) name(at int, key client.ObjectKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[at].Key = key
}

func (c *Client) end(at int, changes []ensure.Change, outcome string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.requests[at]
	r.Changes, r.outcome, r.Err = changes, outcome, err
}

func verbOf(patch client.Patch) string {
	if patch.Type() == types.ApplyPatchType {
		return verbApply
	}
	return "patch"
}

// appliedBy returns the object of an apply configuration, or an empty one if config is none.
func appliedBy(config runtime.ApplyConfiguration) client.Object {
	obj := &unstructured.Unstructured{}
	if data, err := json.Marshal(config); err == nil {
		_ = json.Unmarshal(data, obj) // the client itself reports an invalid object
	}
	return obj
}
