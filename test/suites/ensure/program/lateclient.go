package program

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A LateClient lets another process go on whenever the server refuses one of its applies.
type LateClient struct {
	client.Client

	Meanwhile func() // what the other process does, or nil
}

// Patch returns the refusal of an apply after Meanwhile.
func (c *LateClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	err := c.Client.Patch(ctx, obj, patch, opts...)
	if c.Meanwhile != nil && patch.Type() == types.ApplyPatchType && apierrors.IsInvalid(err) {
		c.Meanwhile()
	}
	return err
}
