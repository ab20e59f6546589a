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
)

// A Client is what a manager's client is to an operator, and remembers the requests that
// it made. Reads through it are a cache's, so that they are no requests; reads through
// APIReader are.
type Client struct {
	client.Client

	reader client.Reader

	mu       sync.Mutex
	requests []Request
}

// Count returns a client that does all through c and reader, which are what a manager's
// GetClient and GetAPIReader return, and remembers the requests. To tell what a write
// changed, it reads the object from reader before and after, which it does not count.
//
// Without a cache c and reader are the same. Then what the reconciler reads through the
// Client is a request that is not counted.
func Count(c client.Client, reader client.Reader) *Client {
	return &Client{Client: c, reader: reader}
}

// APIReader reads from the API server, as a manager's GetAPIReader does: each read is a
// request.
func (c *Client) APIReader() client.Reader { return apiReader{c} }

// Requests are those made so far, in order of their beginning; those that failed and dry
// runs are among them.
func (c *Client) Requests() []Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

// Unwrap is the client that this one counts for, so that controller-runtime's
// fake.AddIndex can be used; nil if that client cannot watch.
func (c *Client) Unwrap() client.WithWatch {
	inner, _ := c.Client.(client.WithWatch)
	return inner
}

// Watch watches through the counted client, if that can; it is not counted. With it a
// Client can be given to controller-runtime's interceptor, which makes requests fail.
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

// Patch counts as patch, or as apply if it is one.
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
	gvk, _ := c.GroupVersionKindFor(obj) // the client itself reports what is in no scheme
	at := c.begin(Request{
		Verb: "deletecollection", Kind: gvk, Key: client.ObjectKey{Namespace: options.Namespace}, DryRun: len(options.DryRun) > 0,
	})
	err := c.Client.DeleteAllOf(ctx, obj, opts...)
	c.end(at, nil, "", err)
	return err
}

// Status counts what is written through it.
func (c *Client) Status() client.SubResourceWriter { return c.SubResource("status") }

// SubResource counts what is written through it, and each read.
func (c *Client) SubResource(name string) client.SubResourceClient {
	return subresource{client: c, name: name, inner: c.Client.SubResource(name)}
}

// write does a write and finds out what it changed.
func (c *Client) write(ctx context.Context, r Request, obj client.Object, do func() error) error {
	r.Kind, _ = c.GroupVersionKindFor(obj) // the client itself reports what is in no scheme
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

// live is obj as the server has it, or nil.
func (c *Client) live(ctx context.Context, obj client.Object) client.Object {
	gvk, err := c.GroupVersionKindFor(obj)
	fresh := emptyLike(obj)
	if err != nil || fresh == nil || obj.GetName() == "" {
		return nil
	}
	fresh.GetObjectKind().SetGroupVersionKind(gvk)
	if err := c.reader.Get(ctx, client.ObjectKeyFromObject(obj), fresh); err != nil {
		return nil
	}
	return fresh
}

// begin remembers a request before it is sent, so that what one waits for comes after it.
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

// appliedBy is the object that an apply configuration is for; empty if it is none.
func appliedBy(config runtime.ApplyConfiguration) client.Object {
	obj := &unstructured.Unstructured{}
	if data, err := json.Marshal(config); err == nil {
		_ = json.Unmarshal(data, obj) // the client itself reports what is no object
	}
	return obj
}
