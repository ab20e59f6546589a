package chain_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/predicates"
	"github.com/trueup-go/trueup/status"
	"github.com/trueup-go/trueup/status/readiness"
	"github.com/trueup-go/trueup/test/suites/e2e/suite"
)

var sites = schema.GroupVersion{Group: "chain.trueup-go.github.io", Version: "v1"}

// A Site is a page with a title. Words are reversed on this page unless the Site is plain.
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SiteSpec   `json:"spec"`
	Status SiteStatus `json:"status,omitzero"`
}

type SiteSpec struct {
	Title      string `json:"title,omitempty"`
	AppVersion string `json:"appVersion,omitempty"`
	Plain      bool   `json:"plain,omitempty"`
}

type SiteStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

func (s *Site) DeepCopyObject() runtime.Object {
	out := *s
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = slices.Clone(s.Status.Conditions)
	return &out
}

type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Site `json:"items"`
}

func (l *SiteList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = make([]Site, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*Site)
	}
	return &out
}

func addSites(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(sites, &Site{}, &SiteList{})
	metav1.AddToGroupVersion(scheme, sites)
}

func siteDefinition() *apiextensionsv1.CustomResourceDefinition {
	type props = map[string]apiextensionsv1.JSONSchemaProps
	conditions := apiextensionsv1.JSONSchemaProps{
		Type: "array", XListType: new("map"), XListMapKeys: []string{"type"},
		Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", XPreserveUnknownFields: new(true), Required: []string{"type"}, Properties: props{"type": {Type: "string"}},
		}},
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "sites." + sites.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: sites.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "sites", Kind: "Site"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: sites.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: props{
						"spec": {Type: "object", Properties: props{
							"title": {Type: "string"}, "appVersion": {Type: "string"}, "plain": {Type: "boolean"},
						}},
						"status": {Type: "object", Properties: props{"conditions": conditions}},
					},
				}},
			}},
		},
	}
}

// name is the site operator's field owner and user agent.
const name = "site-operator"

// touched is an annotation that wakes the site operator.
const touched = "touched"

type siteOperator struct {
	client client.Client
	ensure *ensure.Ensurer
	looked sync.Map // the value of touched that was there when a Site was looked at last, by UID
	stop   func()
}

// startSites runs the site operator until stop is called or the test ends.
func startSites(t *testing.T) *siteOperator {
	t.Helper()
	require.NoError(t, define())
	cfg := shared.Config()
	cfg.UserAgent = name
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:     admin(t).Scheme(),
		Metrics:    server.Options{BindAddress: "0"},
		Client:     client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}},
		Controller: config.Controller{SkipNameValidation: new(true), ReconciliationTimeout: suite.Limit},
	})
	require.NoError(t, err)
	r := &siteOperator{client: mgr.GetClient(), ensure: ensure.New(mgr.GetClient(), mgr.GetAPIReader(), name)}
	owned := builder.WithPredicates(predicates.Owned())
	require.NoError(t, ctrl.NewControllerManagedBy(mgr).
		For(&Site{}, builder.WithPredicates(predicates.Primary())).
		Owns(&corev1.ConfigMap{}, owned).
		Owns(&v1alpha1.ReverseWordsApp{}, owned).
		Owns(&networkingv1.Ingress{}, owned).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r)))

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(r.stop)
	return r
}

// Reconcile ensures the page, the app that reverses words and the route to the app, and reports
// their state. It prunes the parts that a plain Site does not have in the opposite order.
func (r *siteOperator) Reconcile(ctx context.Context, site *Site) (reconcile.Result, error) {
	if site.DeletionTimestamp != nil {
		return reconcile.Result{}, nil // the garbage collector takes the children along
	}
	defer r.looked.Store(site.UID, site.Annotations[touched])
	set := status.For(site)

	app := appFor(site)
	children := []client.Object{pageFor(site)}
	if !site.Spec.Plain {
		children = append(children, app, wayTo(app))
	}
	made, err := ensure.Set(ctx, r.ensure, site, children,
		ensure.Prune(&v1alpha1.ReverseWordsApp{}, &networkingv1.Ingress{}))

	reportErr := status.Patch(ctx, r.client, site, func(site *Site) {
		conditions := &site.Status.Conditions
		switch {
		case err != nil:
			set.False(conditions, status.TypeReady, ensure.Reason(err), err.Error())
		case leaving(made.Pruned) != "":
			set.False(conditions, status.TypeReady, "Pruning", "still there: "+leaving(made.Pruned))
		case site.Spec.Plain:
			set.True(conditions, status.TypeReady, "Plain", "no words are reversed here")
		default:
			set.Child(conditions, status.TypeReady, readinessOf(ensure.ResultOf(made, app)))
		}
	})
	return ensure.Retry(ctx, errors.Join(err, reportErr), made)
}

// readinessOf returns the readiness that the app reports. An app without conditions would otherwise
// count as a kind that never reports, and as ready.
func readinessOf(app ensure.Result[*v1alpha1.ReverseWordsApp]) readiness.Readiness {
	switch {
	case app.Stale:
		return readiness.Readiness{State: readiness.InProgress, Message: "the cache does not show the last write yet"}
	case meta.FindStatusCondition(app.Live.Status.Conditions, v1alpha1.ReadyCondition) == nil:
		return readiness.Readiness{State: readiness.InProgress, Message: "nobody has looked at it yet"}
	}
	return readiness.Of(app.Live)
}

// leaving names the pruned objects that still exist.
func leaving(pruned []ensure.Result[client.Object]) string {
	var names []string
	for _, rest := range pruned {
		if rest.Operation == ensure.Deleting {
			names = append(names, fmt.Sprintf("%s %q", reflect.TypeOf(rest.Live).Elem().Name(), rest.Live.GetName()))
		}
	}
	return strings.Join(names, ", ")
}

func pageFor(site *Site) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: site.Name},
		Data:       map[string]string{"title": site.Spec.Title},
	}
}

// appFor leaves the type of the Service to who defines the kind.
func appFor(site *Site) *v1alpha1.ReverseWordsApp {
	return &v1alpha1.ReverseWordsApp{
		ObjectMeta: metav1.ObjectMeta{Name: site.Name},
		Spec:       v1alpha1.ReverseWordsAppSpec{Replicas: 2, AppVersion: site.Spec.AppVersion},
	}
}

// wayTo leads to the Service that the other operator makes for the app.
func wayTo(app *v1alpha1.ReverseWordsApp) *networkingv1.Ingress {
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: app.Name},
		Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{
				Name: "service-" + app.Name, Port: networkingv1.ServiceBackendPort{Name: "http"},
			},
		}},
	}
}
