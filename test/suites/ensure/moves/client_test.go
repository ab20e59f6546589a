package moves_test

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// A faultyClient counts its writes, and fails one of them.
type faultyClient struct {
	client.Client

	writes int
	fault  *fault // nil: none
}

// A fault is what happens to one of the next writes.
type fault struct {
	after     int  // so many writes that succeed
	delivered bool // the server does the write all the same
	met       bool
}

func (c *faultyClient) write(send func() error) error {
	c.writes++
	f := c.fault
	if f == nil || f.met {
		return send()
	}
	if f.after--; f.after >= 0 {
		return send()
	}
	f.met = true
	if f.delivered {
		_ = send() // nobody hears what comes of it
	}
	return program.ErrConnectionLost
}

// Create may fail.
func (c *faultyClient) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	return c.write(func() error { return c.Client.Create(ctx, obj, opts...) })
}

// Patch may fail.
func (c *faultyClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return c.write(func() error { return c.Client.Patch(ctx, obj, patch, opts...) })
}

// Update may fail.
func (c *faultyClient) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	return c.write(func() error { return c.Client.Update(ctx, obj, opts...) })
}

// Delete may fail.
func (c *faultyClient) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return c.write(func() error { return c.Client.Delete(ctx, obj, opts...) })
}
