package program

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrConnectionLost is the error of a FailingClient.
var ErrConnectionLost = errors.New("the connection broke")

// A FailingClient fails one of its patches, counted from 0.
type FailingClient struct {
	client.Client

	FailAt    int
	Delivered bool // the server does that patch all the same

	patches int
}

// Patch fails if this is the patch to fail.
func (c *FailingClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	c.patches++
	if c.patches-1 != c.FailAt {
		return c.Client.Patch(ctx, obj, patch, opts...)
	}
	if c.Delivered {
		_ = c.Client.Patch(ctx, obj, patch, opts...) // nobody hears what comes of it
	}
	return ErrConnectionLost
}
