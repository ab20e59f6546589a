package pacing_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/testclock"
	"github.com/trueup-go/trueup/predicates"
	"github.com/trueup-go/trueup/status"
	"github.com/trueup-go/trueup/status/readiness"
	"github.com/trueup-go/trueup/test/harness/offset"
)

// An operator is the README's, but for a second child, a ConfigMap, that never meets an obstacle.
type operator struct {
	client.Client
	ensure *ensure.Ensurer

	// desired changes the Deployment, and options holds the options of the calls.
	desired atomic.Pointer[func(*appsv1.Deployment)]
	options func(site *Website) []ensure.Option
	// ignoresOwnerDeletion leaves out the check for an owner that is being deleted.
	ignoresOwnerDeletion bool
	clock                *offset.Clock

	passes atomic.Int64
	last   atomic.Pointer[error]
}

func (o *operator) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&Website{}, builder.WithPredicates(predicates.Primary())).
		Owns(&appsv1.Deployment{}, builder.WithPredicates(predicates.Owned())).
		Owns(&corev1.ConfigMap{}, builder.WithPredicates(predicates.Owned())).
		WithOptions(controller.Options{RateLimiter: ensure.RateLimiter()}).
		Complete(reconcile.AsReconciler(o.Client, o))
}

func (o *operator) Reconcile(ctx context.Context, site *Website) (ctrl.Result, error) {
	o.passes.Add(1)
	if site.DeletionTimestamp != nil && !o.ignoresOwnerDeletion {
		return ctrl.Result{}, nil // the garbage collector takes the children along
	}
	set := status.For(site)

	var settings ensure.Result[*corev1.ConfigMap]
	var settingsErr error
	if site.DeletionTimestamp == nil {
		settings, settingsErr = ensure.Object(ctx, o.ensure, settingsFor(site), ensure.ControlledBy(site))
	}
	desired := deploymentFor(site)
	if change := o.desired.Load(); change != nil {
		(*change)(desired)
	}
	options := []ensure.Option{ensure.ControlledBy(site)}
	if o.options != nil {
		options = o.options(site)
	}
	deployment, err := ensure.Object(ctx, o.ensure, desired, options...)

	reportErr := status.Patch(ctx, o.Client, site, func(site *Website) {
		conditions := &site.Status.Conditions
		switch {
		case err != nil:
			set.False(conditions, "Ready", ensure.Reason(err), err.Error())
		case deployment.Stale:
			set.False(conditions, "Ready", "InProgress", "the cache does not show the last write yet")
		default:
			set.Child(conditions, "Ready", readiness.Of(deployment.Live))
		}
	})
	joined := errors.Join(err, settingsErr, reportErr)
	o.last.Store(&joined)
	return ensure.Retry(ctx, joined, deployment, settings)
}

func settingsFor(site *Website) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: site.Name}, Data: map[string]string{"color": "blue"}}
}

func deploymentFor(site *Website) *appsv1.Deployment {
	labels := map[string]string{"app": site.Name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: site.Name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &site.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Name: "web", Image: site.Spec.Image}},
				},
			},
		},
	}
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	scheme.AddKnownTypeWithName(websiteKind, &Website{})
	scheme.AddKnownTypeWithName(websiteKind.GroupVersion().WithKind("WebsiteList"), &WebsiteList{})
	metav1.AddToGroupVersion(scheme, websiteKind.GroupVersion())
	return scheme
}

// start runs the operator until the test ends, and returns once the operator watches.
func (o *operator) start(t *testing.T, cluster *rest.Config, caching cache.Options, isReader bool) {
	t.Helper()
	mgr, err := ctrl.NewManager(cluster, ctrl.Options{
		Scheme:     newScheme(t),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Cache:      caching,
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	require.NoError(t, err)
	reader := mgr.GetAPIReader()
	if isReader {
		reader = mgr.GetClient()
	}
	o.ensure = ensure.New(mgr.GetClient(), reader, "website-operator", testclock.With[ensure.Setting](o.clock))
	// Otherwise a cache that is behind would cost requests: a status that an outdated Website gets is refused.
	o.Client, err = client.New(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		Cache: &client.CacheOptions{Reader: mgr.GetCache(), EnableReadYourWritesConsistency: new(true)},
	})
	require.NoError(t, err)
	require.NoError(t, o.SetupWithManager(mgr))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	require.True(t, mgr.GetCache().WaitForCacheSync(t.Context()))
	_, err = mgr.GetClient().IsObjectNamespaced(&appsv1.Deployment{}) // asks once what kinds there are
	require.NoError(t, err)
}
