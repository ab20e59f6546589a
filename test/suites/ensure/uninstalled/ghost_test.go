package uninstalled_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimecluster "sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const (
	fieldOwner = "ghost-operator"
	limit      = time.Minute
)

// A Ghost is of a kind that comes and goes.
type Ghost struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (g *Ghost) DeepCopyObject() runtime.Object {
	return &Ghost{TypeMeta: g.TypeMeta, ObjectMeta: *g.ObjectMeta.DeepCopy()}
}

// GhostList is a list of Ghosts, for caches.
type GhostList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Ghost `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *GhostList) DeepCopyObject() runtime.Object {
	out := &GhostList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		out.Items = append(out.Items, Ghost{TypeMeta: l.Items[i].TypeMeta, ObjectMeta: *l.Items[i].ObjectMeta.DeepCopy()})
	}
	return out
}

// clients names the clients that operators use.
var clients = []string{"plain", "cached"}

// A fixture is a namespace with an API group of its own, whose kind Ghost may be installed or not.
type fixture struct {
	t         *testing.T
	gvk       schema.GroupVersionKind
	namespace string
	typed     bool
	installer client.Client
	client    client.Client
	ensurer   *ensure.Ensurer
}

// each runs test with clients that read so, and with and without Go types.
func each(t *testing.T, reads []string, test func(t *testing.T, f *fixture)) {
	t.Helper()
	for _, reads := range reads {
		for _, form := range []string{"typed", "unstructured"} {
			t.Run(reads+" "+form, func(t *testing.T) {
				f := newFixture(t, form == "typed")
				f.start(reads == "cached")
				test(t, f)
			})
		}
	}
}

func newFixture(t *testing.T, typed bool) *fixture {
	t.Helper()
	f := &fixture{t: t, namespace: shared.Namespace(t), typed: typed, installer: program.Client(t, shared, "installer")}
	f.gvk = schema.GroupVersionKind{Group: f.namespace + ".example.com", Version: "v1", Kind: "Ghost"}
	return f
}

// start begins a new process of the operator's.
func (f *fixture) start(cached bool) {
	f.t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(f.t, clientgoscheme.AddToScheme(scheme))
	scheme.AddKnownTypeWithName(f.gvk, &Ghost{})
	scheme.AddKnownTypeWithName(f.gvk.GroupVersion().WithKind("GhostList"), &GhostList{})
	metav1.AddToGroupVersion(scheme, f.gvk.GroupVersion())
	if cached {
		running := cluster.Cached(f.t, shared.Config(), runtimecluster.Options{Scheme: scheme})
		f.client = running.GetClient()
		f.ensurer = ensure.New(f.client, running.GetAPIReader(), fieldOwner)
		return
	}
	c, err := client.New(shared.Config(), client.Options{Scheme: scheme})
	require.NoError(f.t, err)
	f.client, f.ensurer = c, ensure.New(c, c, fieldOwner)
}

// discoverKind has the operator's RESTMapper discover the kind.
func (f *fixture) discoverKind() {
	f.t.Helper()
	_, err := f.client.RESTMapper().RESTMapping(f.gvk.GroupKind(), f.gvk.Version)
	require.NoError(f.t, err)
}

func (f *fixture) ghost() client.Object {
	if f.typed {
		return &Ghost{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "ghost"}}
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(f.gvk)
	u.SetNamespace(f.namespace)
	u.SetName("ghost")
	return u
}

func (f *fixture) crd() *unstructured.Unstructured {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName("ghosts." + f.gvk.Group)
	return crd
}

// install defines the kind, which the server serves in these versions.
func (f *fixture) install(versions ...string) {
	f.t.Helper()
	var served []string
	for i, version := range versions {
		served = append(served, fmt.Sprintf("{name: %s, served: true, storage: %t, schema: {openAPIV3Schema: {type: object}}}", version, i == 0))
	}
	definition := strings.NewReplacer("GROUP", f.gvk.Group, "VERSIONS", strings.Join(served, ", ")).Replace(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ghosts.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {plural: ghosts, kind: Ghost}
  versions: [VERSIONS]
`)
	program.Define(f.t, shared, definition, f.gvk.GroupKind().WithVersion(versions[0]))
}

// uninstall removes the kind and returns when the server no longer serves it.
func (f *fixture) uninstall() {
	f.t.Helper()
	require.NoError(f.t, client.IgnoreNotFound(f.installer.Delete(f.t.Context(), f.crd())))
	f.await(func(ctx context.Context) error {
		if err := f.installer.Get(ctx, client.ObjectKey{Name: f.crd().GetName()}, f.crd()); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the definition is still there: %w", err)
		}
		err := f.installer.Get(ctx, client.ObjectKeyFromObject(f.ghost()), f.untyped())
		if status := apierrors.APIStatus(nil); !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
			return fmt.Errorf("the kind is still served: %w", err)
		}
		return nil
	})
}

func (f *fixture) untyped() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(f.gvk)
	return u
}

func (f *fixture) await(try func(context.Context) error) {
	f.t.Helper()
	require.NoError(f.t, shared.Await(f.t.Context(), limit, "", try))
}

func (f *fixture) owner() client.Object {
	f.t.Helper()
	owner := &unstructured.Unstructured{}
	owner.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	owner.SetNamespace(f.namespace)
	owner.SetName("owner")
	require.NoError(f.t, client.IgnoreAlreadyExists(f.installer.Create(f.t.Context(), owner)))
	require.NoError(f.t, f.installer.Get(f.t.Context(), client.ObjectKeyFromObject(owner), owner))
	return owner
}

// calls returns the calls that do not need an existing object.
func (f *fixture) calls() map[string]func(context.Context) (ensure.Operation, error) {
	owner := f.owner()
	return map[string]func(context.Context) (ensure.Operation, error){
		"Absent": func(ctx context.Context) (ensure.Operation, error) {
			res, err := ensure.Absent(ctx, f.ensurer, f.ghost())
			return res.Operation, err
		},
		"Absent of a child": func(ctx context.Context) (ensure.Operation, error) {
			res, err := ensure.Absent(ctx, f.ensurer, f.ghost(), ensure.ControlledBy(owner))
			return res.Operation, err
		},
		"IfExists": func(ctx context.Context) (ensure.Operation, error) {
			res, err := ensure.Object(ctx, f.ensurer, f.ghost(), ensure.IfExists())
			return res.Operation, err
		},
		"Prune": func(ctx context.Context) (ensure.Operation, error) {
			res, err := ensure.Set(ctx, f.ensurer, owner, nil, ensure.Prune(f.ghost()))
			if len(res.Pruned) > 0 {
				return res.Pruned[0].Operation, err
			}
			return ensure.Gone, err
		},
	}
}
