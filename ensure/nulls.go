package ensure

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/canon"
)

// applyBody sends an apply, and sends it again without the nulls that the schema of a custom
// kind does not allow: a create leaves those out by itself, an apply is refused. In a list,
// which may be merged with live's, they go from every item: all have the same schema.
func (c *child) applyBody(
	ctx context.Context, operation string, body []byte, opts ...client.PatchOption,
) (client.Object, error) {
	opts = append(opts, client.ForceOwnership)
	applied, err := c.patch(ctx, operation, types.ApplyPatchType, body, opts...)
	refused := answer.Nulls(err)
	if len(refused) == 0 {
		return applied, err
	}
	rest := canon.WithoutNulls(body, withoutIndexes(refused))
	if rest == nil {
		return nil, err
	}
	return c.patch(ctx, operation, types.ApplyPatchType, rest, opts...)
}
