package migration_test

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/finalizer"
)

const finalizerName = "shop.example.com/record" // the same name, so that shops with the finalizer keep it

func handle(ctx context.Context, c client.Client, shop *Shop, deleteRecord func(context.Context) error) (finalizer.Result, error) {
	return finalizer.Handle(ctx, c, shop, finalizer.Step{Name: finalizerName, Cleanup: deleteRecord})
}
