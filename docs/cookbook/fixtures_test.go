// Package cookbook_test has the code of docs/cookbook.md, and runs that code on a fake API server.
package cookbook_test

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

// DeepCopy and its like are what controller-gen generates.
func (s *Shop) DeepCopy() *Shop {
	out := *s
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Settings = maps.Clone(s.Spec.Settings)
	out.Spec.Files = maps.Clone(s.Spec.Files)
	out.Spec.Copies = slices.Clone(s.Spec.Copies)
	out.Status.Conditions = slices.Clone(s.Status.Conditions)
	return &out
}

func (s *Shop) DeepCopyObject() runtime.Object { return s.DeepCopy() }

func (l *ShopList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = make([]Shop, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopy()
	}
	return &out
}

var shopVersion = schema.GroupVersion{Group: "shop.example.com", Version: "v1"}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	scheme.AddKnownTypes(shopVersion, &Shop{}, &ShopList{})
	metav1.AddToGroupVersion(scheme, shopVersion)
	return scheme
}

func shop(name string) *Shop {
	return &Shop{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       ShopSpec{Image: "shop:1", Settings: map[string]string{"COLOR": "blue"}},
	}
}

// newFake returns a client of a fake API server with those objects, and an Ensurer on it.
func newFake(t *testing.T, objs ...client.Object) (*ensuretest.Client, *ensure.Ensurer) {
	t.Helper()
	c := ensuretest.NewClient(newScheme(t), objs...)
	return c, ensure.New(c, c.APIReader(), "shop-operator")
}

// get returns the object as the fake API server has it.
func get[T client.Object](t *testing.T, c client.Client, namespace, name string, obj T) T {
	t.Helper()
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, obj))
	return obj
}

// eachPass returns a pass that reads the shop and calls reconcile.
func eachPass[T any](c client.Client, name string, reconcile func(context.Context, *Shop) (T, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		shop := &Shop{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, shop); err != nil {
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

// newManager returns a manager that knows the kinds, and of which no test starts the cache.
func newManager(t *testing.T, kinds ...schema.GroupVersionKind) ctrl.Manager {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range kinds {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	mgr, err := ctrl.NewManager(&rest.Config{}, ctrl.Options{
		Scheme:         newScheme(t),
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil },
		Metrics:        metricsserver.Options{BindAddress: "0"},
		Controller:     config.Controller{SkipNameValidation: new(true)},
	})
	require.NoError(t, err)
	return mgr
}

var shopKind = shopVersion.WithKind("Shop")
