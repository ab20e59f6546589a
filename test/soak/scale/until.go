package scale

import (
	"context"
	"time"

	"github.com/trueup-go/trueup/test/internal/await"
)

// patience is how long anything may take. Nothing is judged by it: it turns what
// never comes into an error.
const patience = 10 * time.Minute

func until(ctx context.Context, try func(context.Context) error) error {
	return await.Until(ctx, patience, try)
}
