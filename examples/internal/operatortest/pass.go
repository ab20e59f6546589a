package operatortest

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Pass returns a function that reconciles obj once, for ensuretest.Converge.
func Pass[T client.Object](c client.Client, r reconcile.ObjectReconciler[T], obj T) func(context.Context) error {
	reconciler, key := reconcile.AsReconciler(c, r), client.ObjectKeyFromObject(obj)
	return func(ctx context.Context) error {
		_, err := reconciler.Reconcile(ctx, reconcile.Request{NamespacedName: key})
		return err
	}
}
