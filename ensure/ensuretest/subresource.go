package ensuretest

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// subresource counts what goes through a client of a subresource.
type subresource struct {
	client *Client
	name   string
	inner  client.SubResourceClient
}

// Get is a request: no cache holds subresources.
func (s subresource) Get(ctx context.Context, obj, body client.Object, opts ...client.SubResourceGetOption) error {
	gvk, _ := s.client.GroupVersionKindFor(obj) // the client itself reports what is in no scheme
	at := s.client.begin(Request{Verb: verbGet, Kind: gvk, Key: client.ObjectKeyFromObject(obj), Subresource: s.name})
	err := s.inner.Get(ctx, obj, body, opts...)
	s.client.end(at, nil, "", err)
	return err
}

func (s subresource) Create(ctx context.Context, obj, body client.Object, opts ...client.SubResourceCreateOption) error {
	options := (&client.SubResourceCreateOptions{}).ApplyOptions(opts)
	return s.client.write(ctx, s.request("create", options.DryRun), obj, func() error {
		return s.inner.Create(ctx, obj, body, opts...)
	})
}

func (s subresource) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	options := (&client.SubResourceUpdateOptions{}).ApplyOptions(opts)
	return s.client.write(ctx, s.request("update", options.DryRun), obj, func() error {
		return s.inner.Update(ctx, obj, opts...)
	})
}

func (s subresource) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	options := (&client.SubResourcePatchOptions{}).ApplyOptions(opts)
	return s.client.write(ctx, s.request(verbOf(patch), options.DryRun), obj, func() error {
		return s.inner.Patch(ctx, obj, patch, opts...)
	})
}

func (s subresource) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	options := (&client.SubResourceApplyOptions{}).ApplyOpts(opts)
	return s.client.write(ctx, s.request(verbApply, options.DryRun), appliedBy(obj), func() error {
		return s.inner.Apply(ctx, obj, opts...)
	})
}

func (s subresource) request(verb string, dryRun []string) Request {
	return Request{Verb: verb, Subresource: s.name, DryRun: len(dryRun) > 0}
}
