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

// everyClient names the clients that operators use.
var everyClient = []string{"plain", "cached"}

// A house has Ghosts of a group of its own, if the kind is installed.
type house struct {
	t         *testing.T
	gvk       schema.GroupVersionKind
	namespace string
	typed     bool
	installer client.Client
	client    client.Client
	e         *ensure.Ensurer
}

// each runs test with clients that read so, and with and without Go types.
func each(t *testing.T, reads []string, test func(t *testing.T, h *house)) {
	t.Helper()
	for _, reads := range reads {
		for _, form := range []string{"typed", "unstructured"} {
			t.Run(reads+" "+form, func(t *testing.T) {
				h := newHouse(t, form == "typed")
				h.start(reads == "cached")
				test(t, h)
			})
		}
	}
}

func newHouse(t *testing.T, typed bool) *house {
	t.Helper()
	h := &house{t: t, namespace: shared.Namespace(t), typed: typed, installer: program.Client(t, shared, "installer")}
	h.gvk = schema.GroupVersionKind{Group: h.namespace + ".example.com", Version: "v1", Kind: "Ghost"}
	return h
}

// start begins a new process of the operator's.
func (h *house) start(cached bool) {
	h.t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(h.t, clientgoscheme.AddToScheme(scheme))
	scheme.AddKnownTypeWithName(h.gvk, &Ghost{})
	scheme.AddKnownTypeWithName(h.gvk.GroupVersion().WithKind("GhostList"), &GhostList{})
	metav1.AddToGroupVersion(scheme, h.gvk.GroupVersion())
	if cached {
		running := cluster.Cached(h.t, shared.Config(), runtimecluster.Options{Scheme: scheme})
		h.client = running.GetClient()
		h.e = ensure.New(h.client, running.GetAPIReader(), fieldOwner)
		return
	}
	c, err := client.New(shared.Config(), client.Options{Scheme: scheme})
	require.NoError(h.t, err)
	h.client, h.e = c, ensure.New(c, c, fieldOwner)
}

// meet has the operator's RESTMapper learn of the kind.
func (h *house) meet() {
	h.t.Helper()
	_, err := h.client.RESTMapper().RESTMapping(h.gvk.GroupKind(), h.gvk.Version)
	require.NoError(h.t, err)
}

func (h *house) ghost() client.Object {
	if h.typed {
		return &Ghost{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: "ghost"}}
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(h.gvk)
	u.SetNamespace(h.namespace)
	u.SetName("ghost")
	return u
}

func (h *house) crd() *unstructured.Unstructured {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName("ghosts." + h.gvk.Group)
	return crd
}

// install defines the kind, which the server serves in these versions.
func (h *house) install(versions ...string) {
	h.t.Helper()
	var served []string
	for i, version := range versions {
		served = append(served, fmt.Sprintf("{name: %s, served: true, storage: %t, schema: {openAPIV3Schema: {type: object}}}", version, i == 0))
	}
	definition := strings.NewReplacer("GROUP", h.gvk.Group, "VERSIONS", strings.Join(served, ", ")).Replace(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ghosts.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {plural: ghosts, kind: Ghost}
  versions: [VERSIONS]
`)
	program.Define(h.t, shared, definition, h.gvk.GroupKind().WithVersion(versions[0]))
}

// uninstall removes the kind and returns when the server no longer serves it.
func (h *house) uninstall() {
	h.t.Helper()
	require.NoError(h.t, client.IgnoreNotFound(h.installer.Delete(h.t.Context(), h.crd())))
	h.await(func(ctx context.Context) error {
		if err := h.installer.Get(ctx, client.ObjectKey{Name: h.crd().GetName()}, h.crd()); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the definition is still there: %w", err)
		}
		err := h.installer.Get(ctx, client.ObjectKeyFromObject(h.ghost()), h.untyped())
		if status := apierrors.APIStatus(nil); !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
			return fmt.Errorf("the kind is still served: %w", err)
		}
		return nil
	})
}

func (h *house) untyped() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(h.gvk)
	return u
}

func (h *house) await(try func(context.Context) error) {
	h.t.Helper()
	require.NoError(h.t, shared.Await(h.t.Context(), limit, "", try))
}

func (h *house) owner() client.Object {
	h.t.Helper()
	owner := &unstructured.Unstructured{}
	owner.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	owner.SetNamespace(h.namespace)
	owner.SetName("owner")
	require.NoError(h.t, client.IgnoreAlreadyExists(h.installer.Create(h.t.Context(), owner)))
	require.NoError(h.t, h.installer.Get(h.t.Context(), client.ObjectKeyFromObject(owner), owner))
	return owner
}

// calls returns the calls that do not need an existing object.
func (h *house) calls() map[string]func(context.Context) (ensure.Operation, error) {
	owner := h.owner()
	return map[string]func(context.Context) (ensure.Operation, error){
		"Absent": func(ctx context.Context) (ensure.Operation, error) {
			res, err := ensure.Absent(ctx, h.e, h.ghost())
			return res.Operation, err
		},
		"Absent of a child": func(ctx context.Context) (ensure.Operation, error) {
			res, err := ensure.Absent(ctx, h.e, h.ghost(), ensure.ControlledBy(owner))
			return res.Operation, err
		},
		"IfExists": func(ctx context.Context) (ensure.Operation, error) {
			res, err := ensure.Object(ctx, h.e, h.ghost(), ensure.IfExists())
			return res.Operation, err
		},
		"Prune": func(ctx context.Context) (ensure.Operation, error) {
			res, err := ensure.Set(ctx, h.e, owner, nil, ensure.Prune(h.ghost()))
			if len(res.Pruned) > 0 {
				return res.Pruned[0].Operation, err
			}
			return ensure.Gone, err
		},
	}
}
