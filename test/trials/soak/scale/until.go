package scale

import (
	"context"
	"time"

	"github.com/trueup-go/trueup/test/harness/await"
)

// waitTimeout bounds every wait. This is no target, but turns an endless wait into an error.
const waitTimeout = 10 * time.Minute

func until(ctx context.Context, try func(context.Context) error) error {
	return await.Until(ctx, waitTimeout, try)
}
