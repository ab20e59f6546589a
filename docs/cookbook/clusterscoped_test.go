package cookbook_test

import (
	"context"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/finalizer"
	"github.com/trueup-go/trueup/predicates"
)

// A ViewerReconciler ensures a ClusterRole for each shop, whose members may read the shop.
type ViewerReconciler struct {
	client.Client
	ensure *ensure.Ensurer
}

func (r *ViewerReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&Shop{}, builder.WithPredicates(predicates.Primary())).
		Watches(&rbacv1.ClusterRole{}, handler.EnqueueRequestsFromMapFunc(shopOfViewer), builder.WithPredicates(predicates.Owned())).
		WithOptions(controller.Options{RateLimiter: ensure.RateLimiter()}).
		Complete(reconcile.AsReconciler(r.Client, r))
}

func (r *ViewerReconciler) Reconcile(ctx context.Context, shop *Shop) (ctrl.Result, error) {
	deletion, err := finalizer.Handle(ctx, r.Client, shop, finalizer.Step{
		Name: "shop.example.com/viewer",
		Cleanup: func(ctx context.Context) error {
			role, err := ensure.Absent(ctx, r.ensure, viewerOf(shop))
			if err == nil && role.Operation == ensure.Deleting {
				return finalizer.NotDone(0, "the ClusterRole still exists")
			}
			return err
		},
	})
	if err != nil {
		return ensure.Retry(ctx, err)
	}
	if deletion.Done {
		return ctrl.Result{RequeueAfter: deletion.After}, nil
	}
	role, err := ensure.Object(ctx, r.ensure, viewerOf(shop)) // without ControlledBy
	return ensure.Retry(ctx, err, role)
}

const viewerPrefix = "shop-viewer"

// viewerOf returns the ClusterRole of a shop. No namespace and no shop has a colon in its name, so no two shops have
// the same ClusterRole.
func viewerOf(shop *Shop) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: viewerPrefix + ":" + shop.Namespace + ":" + shop.Name},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"shop.example.com"}, Resources: []string{"shops"}, ResourceNames: []string{shop.Name}, Verbs: []string{"get"},
		}},
	}
}

// shopOfViewer returns the shop of a ClusterRole, and nothing for any other ClusterRole.
func shopOfViewer(_ context.Context, role client.Object) []reconcile.Request {
	parts := strings.Split(role.GetName(), ":")
	if len(parts) != 3 || parts[0] != viewerPrefix {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: parts[1], Name: parts[2]}}}
}
