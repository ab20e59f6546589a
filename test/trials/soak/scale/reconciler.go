package scale

import (
	"context"
	"sync/atomic"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/trueup-go/trueup/ensure"
)

// fieldOwner is the operator's field owner.
const fieldOwner = "soak"

// A reconciler ensures the parts of each Stack.
type reconciler struct {
	client  client.Client
	ensurer atomic.Pointer[ensure.Ensurer]
	pass    atomic.Pointer[pass]
}

func newReconciler(m manager.Manager) *reconciler {
	r := &reconciler{client: m.GetClient()}
	r.ensurer.Store(ensure.New(m.GetClient(), m.GetAPIReader(), fieldOwner))
	return r
}

// Reconcile reports its result to the current pass.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	current := r.pass.Load()
	taken := current.take(request.NamespacedName)
	err := r.ensureParts(ctx, request)
	if taken {
		current.finish(request.NamespacedName, err)
	}
	return ensure.Retry(ctx, err)
}

func (r *reconciler) ensureParts(ctx context.Context, request ctrl.Request) error {
	var stack Stack
	if err := r.client.Get(ctx, request.NamespacedName, &stack); err != nil {
		return client.IgnoreNotFound(err)
	}
	for _, part := range parts()[:stack.Spec.Parts] {
		if _, err := ensure.Object(ctx, r.ensurer.Load(), part(stack.Name), ensure.ControlledBy(&stack)); err != nil {
			return err
		}
	}
	return nil
}
