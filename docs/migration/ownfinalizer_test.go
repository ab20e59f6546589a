package migration_test

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const finalizerName = "shop.example.com/record"

// Before: updates of the whole object.
func handleFinalizer(ctx context.Context, c client.Client, shop *Shop, deleteRecord func(context.Context) error) (done bool, err error) {
	if shop.DeletionTimestamp.IsZero() {
		if controllerutil.AddFinalizer(shop, finalizerName) {
			return false, c.Update(ctx, shop)
		}
		return false, nil
	}
	if controllerutil.ContainsFinalizer(shop, finalizerName) {
		if err := deleteRecord(ctx); err != nil {
			return true, err
		}
		controllerutil.RemoveFinalizer(shop, finalizerName)
		return true, c.Update(ctx, shop)
	}
	return true, nil
}
