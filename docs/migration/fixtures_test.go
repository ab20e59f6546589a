// Package migration_test has the code of docs/migration.md, and runs that code on a fake API server.
package migration_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/ensuretest"
)

// A Shop is the custom resource of the operator that is migrated.
type Shop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ShopSpec   `json:"spec,omitempty"`
	Status ShopStatus `json:"status,omitempty"`
}

type ShopSpec struct {
	Image    string            `json:"image"`
	Replicas int32             `json:"replicas"`
	Settings map[string]string `json:"settings,omitempty"`
}

type ShopStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DeepCopy is like the function that controller-gen generates.
func (s *Shop) DeepCopy() *Shop {
	out := *s
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Settings = maps.Clone(s.Spec.Settings)
	out.Status.Conditions = slices.Clone(s.Status.Conditions)
	return &out
}

func (s *Shop) DeepCopyObject() runtime.Object { return s.DeepCopy() }

func labelsOf(shop *Shop) map[string]string {
	return map[string]string{"shop.example.com/name": shop.Name}
}

func web() *Shop {
	return &Shop{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       ShopSpec{Image: "shop:1", Replicas: 3},
	}
}

var shopKind = schema.GroupVersionKind{Group: "shop.example.com", Version: "v1", Kind: "Shop"}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	scheme.AddKnownTypes(shopKind.GroupVersion(), &Shop{})
	return scheme
}

// newFake returns a client of a fake API server with the shop, and an Ensurer on it.
func newFake(t *testing.T) (*ensuretest.Client, *ensure.Ensurer) {
	t.Helper()
	c := ensuretest.NewClient(newScheme(t), web())
	return c, ensure.New(c, c.APIReader(), "shop-operator")
}

// get returns the object of the shop's name as the fake API server has it.
func get[T client.Object](t *testing.T, c client.Client, obj T) T {
	t.Helper()
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(web()), obj))
	return obj
}

// eachPass returns a pass that reads the shop and calls reconcile.
func eachPass[T any](c client.Client, reconcile func(context.Context, *Shop) (T, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		shop := &Shop{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(web()), shop); err != nil {
			return client.IgnoreNotFound(err)
		}
		_, err := reconcile(ctx, shop)
		return err
	}
}

// shown returns the requests, one a line.
func shown(requests []ensuretest.Request) (lines []string) {
	for _, request := range requests {
		lines = append(lines, request.String())
	}
	return lines
}

// newManager returns a manager of which no test starts the cache.
func newManager(t *testing.T) ctrl.Manager {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(shopKind, meta.RESTScopeNamespace)
	mgr, err := ctrl.NewManager(&rest.Config{}, ctrl.Options{
		Scheme:         newScheme(t),
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil },
		Metrics:        metricsserver.Options{BindAddress: "0"},
		Controller:     config.Controller{SkipNameValidation: new(true)},
	})
	require.NoError(t, err)
	return mgr
}
