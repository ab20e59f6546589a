// Package controller reconciles Sites.
package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/internal/operator"
	wordsv1alpha1 "github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/site/api/v1"
	"github.com/trueup-go/trueup/predicates"
	"github.com/trueup-go/trueup/status"
	"github.com/trueup-go/trueup/status/readiness"
)

// Name is the operator's field manager, user agent and label of children.
const Name = "site-operator"

// Reconciler reconciles Sites.
type Reconciler struct {
	client client.Client
	ensure *ensure.Ensurer
}

// New returns a Reconciler that adds childLabels to every child.
func New(mgr ctrl.Manager, childLabels map[string]string) (*Reconciler, error) {
	stamp, err := operator.Stamp(Name, childLabels)
	if err != nil {
		return nil, err
	}
	return &Reconciler{
		client: mgr.GetClient(),
		ensure: ensure.New(mgr.GetClient(), mgr.GetAPIReader(), Name,
			ensure.WithLabels(stamp), ensure.WithRecorder(mgr.GetEventRecorder(Name))),
	}, nil
}

// SetupWithManager sets up a controller that reconciles a Site after a change of the Site or of a child,
// and at each resync. A change of the app's status is a change of a child, too.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	owned := builder.WithPredicates(predicates.Owned())
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1.Site{}, builder.WithPredicates(predicate.Or(predicates.Primary(), predicates.Resync()))).
		Owns(&corev1.ConfigMap{}, owned).
		Owns(&wordsv1alpha1.ReverseWordsApp{}, owned).
		Owns(&networkingv1.Ingress{}, owned).
		WithOptions(controller.Options{RateLimiter: ensure.RateLimiter()}).
		Complete(reconcile.AsReconciler(r.client, r))
}

// Cached limits the cache of the manager to children: a cluster has many other ConfigMaps.
func Cached() map[client.Object]cache.ByObject {
	own := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{operator.ManagedByLabel: Name})}
	return map[client.Object]cache.ByObject{
		&corev1.ConfigMap{}: own, &wordsv1alpha1.ReverseWordsApp{}: own, &networkingv1.Ingress{}: own,
	}
}

// Reconcile needs these permissions. Deletions are confirmed by a read of the Site from the server.
//
// +kubebuilder:rbac:groups=web.example.com,resources=sites,verbs=get;list;watch
// +kubebuilder:rbac:groups=web.example.com,resources=sites/status,verbs=patch
// +kubebuilder:rbac:groups=web.example.com,resources=sites/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=apps.linuxera.org,resources=reversewordsapps,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

// Reconcile ensures the page, the app that reverses words and the Ingress of the app, and reports their
// state. A plain Site has only the page: Reconcile deletes the Ingress and then the app.
func (r *Reconciler) Reconcile(ctx context.Context, site *v1.Site) (reconcile.Result, error) {
	if !site.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil // the garbage collector deletes the children
	}
	app := appFor(site)
	children := []client.Object{pageFor(site)}
	if !site.Spec.Plain {
		children = append(children, app, ingressFor(app))
	}
	results, err := ensure.Set(ctx, r.ensure, site, children,
		ensure.Prune(&wordsv1alpha1.ReverseWordsApp{}, &networkingv1.Ingress{}))

	set, remaining := status.For(site), remainingOf(results.Pruned)
	reportErr := status.Patch(ctx, r.client, site, func(site *v1.Site) {
		conditions := &site.Status.Conditions
		switch {
		case err != nil:
			set.False(conditions, status.TypeReady, ensure.Reason(err), err.Error())
		case remaining != "":
			set.False(conditions, status.TypeReady, "Pruning", "still there: "+remaining)
		case site.Spec.Plain:
			set.True(conditions, status.TypeReady, "Plain", "no words are reversed here")
		default:
			set.Child(conditions, status.TypeReady, readinessOf(ensure.ResultOf(results, app)))
		}
	}, status.FieldOwner(Name))
	return ensure.Retry(ctx, errors.Join(err, reportErr), results)
}

// readinessOf returns the readiness that the other operator reports in the app's conditions. Before its
// first report, an app would count as ready: most kinds without conditions have none ever.
func readinessOf(app ensure.Result[*wordsv1alpha1.ReverseWordsApp]) readiness.Readiness {
	if !app.Stale && meta.FindStatusCondition(app.Live.Status.Conditions, wordsv1alpha1.ReadyCondition) == nil {
		return readiness.Readiness{State: readiness.InProgress, Message: "the operator of ReverseWordsApps has not reported yet"}
	}
	return app.Readiness(nil)
}

// remainingOf names the children that are being deleted. The finalizer of the app keeps it until its own
// children are gone.
func remainingOf(pruned []ensure.Result[client.Object]) string {
	var remaining []string
	for _, child := range pruned {
		if child.Operation == ensure.Deleting {
			remaining = append(remaining, fmt.Sprintf("%s %q", operator.Kind(child.Live), child.Live.GetName()))
		}
	}
	return strings.Join(remaining, ", ")
}

func pageFor(site *v1.Site) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: site.Name},
		Data:       map[string]string{"title": site.Spec.Title},
	}
}

// appFor returns the fields of the app that this operator decides. Others keep their default, such as the
// type of the Service, which somebody else may change.
func appFor(site *v1.Site) *wordsv1alpha1.ReverseWordsApp {
	return &wordsv1alpha1.ReverseWordsApp{
		ObjectMeta: metav1.ObjectMeta{Name: site.Name},
		Spec:       wordsv1alpha1.ReverseWordsAppSpec{Replicas: 2, AppVersion: site.Spec.AppVersion},
	}
}

// ingressFor returns the Ingress to the Service that the other operator ensures for the app.
func ingressFor(app *wordsv1alpha1.ReverseWordsApp) *networkingv1.Ingress {
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: app.Name},
		Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{
				Name: "service-" + app.Name,
				Port: networkingv1.ServiceBackendPort{Name: "http"},
			},
		}},
	}
}
