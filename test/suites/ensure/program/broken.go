package program

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrBroken is the error of a Broken client.
var ErrBroken = errors.New("the connection broke")

// A Broken client fails at one of its patches, counted from 0.
type Broken struct {
	client.Client

	At   int
	Done bool // the server does that patch all the same

	patches int
}

// Patch fails if this is the patch to break.
func (b *Broken) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	b.patches++
	if b.patches-1 != b.At {
		return b.Client.Patch(ctx, obj, patch, opts...)
	}
	if b.Done {
		_ = b.Client.Patch(ctx, obj, patch, opts...) // nobody hears what comes of it
	}
	return ErrBroken
}
