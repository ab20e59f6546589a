package cookbook_test

import (
	"context"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
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

const (
	// shopUID labels the children of a shop: a UID fits into a label, a name may be too long.
	shopUID = "shop.example.com/uid"
	// shopKey is an annotation with the namespace and the name of the shop.
	shopKey = "shop.example.com/shop"
)

// A CopyReconciler copies the settings of a shop into other namespaces, and deletes copies that are no longer desired.
type CopyReconciler struct {
	client.Client
	server client.Reader // mgr.GetAPIReader()
	ensure *ensure.Ensurer
}

func (r *CopyReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("copies").
		For(&Shop{}, builder.WithPredicates(predicates.Primary())).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(shopOfCopy), builder.WithPredicates(predicates.Owned())).
		WithOptions(controller.Options{RateLimiter: ensure.RateLimiter()}).
		Complete(reconcile.AsReconciler(r.Client, r))
}

func (r *CopyReconciler) Reconcile(ctx context.Context, shop *Shop) (ctrl.Result, error) {
	deletion, err := finalizer.Handle(ctx, r.Client, shop, finalizer.Step{
		Name: "shop.example.com/copies",
		Cleanup: func(ctx context.Context) error {
			return r.deleteExcept(ctx, r.server, shop, nil) // the cache may not show the last copy yet
		},
	})
	if err != nil || deletion.Done {
		return ensure.Retry(ctx, err)
	}
	var desired []client.ObjectKey
	results := ensure.Results{}
	for _, namespace := range shop.Spec.Copies {
		child := copyOf(shop, namespace)
		result, err := ensure.Object[client.Object](ctx, r.ensure, child) // without ControlledBy
		if err != nil {
			return ensure.Retry(ctx, err)
		}
		desired = append(desired, client.ObjectKeyFromObject(child))
		results.Children = append(results.Children, result)
	}
	return ensure.Retry(ctx, r.deleteExcept(ctx, r.Client, shop, desired), results)
}

func copyOf(shop *Shop, namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   namespace,
			Name:        shop.Namespace + "." + shop.Name,
			Labels:      map[string]string{shopUID: string(shop.UID)},
			Annotations: map[string]string{shopKey: shop.Namespace + "/" + shop.Name},
		},
		Data: shop.Spec.Settings,
	}
}

// deleteExcept deletes all copies of a shop that are not desired.
func (r *CopyReconciler) deleteExcept(ctx context.Context, reader client.Reader, shop *Shop, desired []client.ObjectKey) error {
	var copies corev1.ConfigMapList
	if err := reader.List(ctx, &copies, client.MatchingLabels{shopUID: string(shop.UID)}); err != nil {
		return err
	}
	var errs []error
	for i := range copies.Items {
		if found := &copies.Items[i]; !slices.Contains(desired, client.ObjectKeyFromObject(found)) {
			_, err := ensure.Absent(ctx, r.ensure, found)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// shopOfCopy returns the shop of a copy, and nothing for any other ConfigMap.
func shopOfCopy(_ context.Context, copied client.Object) []reconcile.Request {
	namespace, name, found := strings.Cut(copied.GetAnnotations()[shopKey], "/")
	if !found {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}}
}
