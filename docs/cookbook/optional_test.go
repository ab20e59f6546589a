package cookbook_test

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/predicates"
)

// monitorKind exists only in clusters with the Prometheus operator.
var monitorKind = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"}

// A MonitoredReconciler ensures the Service of a shop, and a ServiceMonitor where that kind exists.
type MonitoredReconciler struct {
	client.Client
	ensure      *ensure.Ensurer
	hasMonitors bool
}

func (r *MonitoredReconciler) SetupWithManager(mgr ctrl.Manager) error {
	_, err := mgr.GetRESTMapper().RESTMapping(monitorKind.GroupKind(), monitorKind.Version)
	if err != nil && !meta.IsNoMatchError(err) {
		return err
	}
	r.hasMonitors = err == nil

	owned := builder.WithPredicates(predicates.Owned())
	shops := ctrl.NewControllerManagedBy(mgr).
		For(&Shop{}, builder.WithPredicates(predicates.Primary())).
		Owns(&corev1.Service{}, owned).
		WithOptions(controller.Options{RateLimiter: ensure.RateLimiter()})
	if r.hasMonitors {
		shops = shops.Owns(emptyMonitor(), owned)
	}
	return shops.Complete(reconcile.AsReconciler(r.Client, r))
}

func (r *MonitoredReconciler) Reconcile(ctx context.Context, shop *Shop) (ctrl.Result, error) {
	if shop.DeletionTimestamp != nil {
		return ctrl.Result{}, nil // the garbage collector deletes the children
	}
	children, options := []client.Object{serviceFor(shop)}, []ensure.SetOption(nil)
	if r.hasMonitors {
		options = append(options, ensure.Prune(emptyMonitor()))
	}
	if r.hasMonitors && shop.Spec.Metrics {
		children = append(children, monitorFor(shop))
	}
	results, err := ensure.Set(ctx, r.ensure, shop, children, options...)
	return ensure.Retry(ctx, err, results)
}

func emptyMonitor() *unstructured.Unstructured {
	monitor := &unstructured.Unstructured{}
	monitor.SetGroupVersionKind(monitorKind)
	return monitor
}

func monitorFor(shop *Shop) *unstructured.Unstructured {
	monitor := emptyMonitor()
	monitor.SetName(shop.Name)
	monitor.Object["spec"] = map[string]any{
		"selector":  map[string]any{"matchLabels": map[string]any{"shop.example.com/name": shop.Name}},
		"endpoints": []any{map[string]any{"port": "http"}},
	}
	return monitor
}
