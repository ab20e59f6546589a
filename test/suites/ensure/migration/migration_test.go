package migration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimecluster "sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const (
	oldName  = "manager" // of a program that kubebuilder laid out
	digest   = "spec-hash.trueup-go.github.io/"
	theirKey = "other-operator.example.com/theirs"
	passes   = 5
)

// An access is how the new operator reaches the server.
type access struct {
	name string
	open func(t *testing.T, name string) (client.Client, client.Reader)
}

var accesses = []access{
	{"a cache that reads its own writes", func(t *testing.T, name string) (client.Client, client.Reader) {
		t.Helper()
		c := program.Cached(t, shared, name)
		return c.GetClient(), c.GetAPIReader()
	}},
	{"no cache", func(t *testing.T, name string) (client.Client, client.Reader) {
		t.Helper()
		c := program.Client(t, shared, name)
		return c, c
	}},
	{"a cache without managed fields", func(t *testing.T, name string) (client.Client, client.Reader) {
		t.Helper()
		scheme, err := program.Scheme()
		require.NoError(t, err)
		c := cluster.Cached(t, program.Config(shared, name), runtimecluster.Options{
			Scheme: scheme,
			Cache:  cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
			Client: client.Options{Cache: cluster.ReadYourWrites()},
		})
		return c.GetClient(), c.GetAPIReader()
	}},
}

// TestMigration moves an operator from controllerutil.CreateOrUpdate to ensure.Object, back,
// and over once more. Nobody notices but the metadata.
func TestMigration(t *testing.T) {
	for i, way := range accesses {
		t.Run(way.name, func(t *testing.T) {
			f := newFixture(t, way, fmt.Sprintf("moved-operator-%d", i))
			f.oldOperator(desiredState{color: "blue", more: true})
			f.writeAsOthers()
			f.awaitPods()

			f.start()
			before := f.pods()
			rows := f.migrate(desiredState{color: "blue", more: true})
			f.logCost(way.name, rows, before)

			f.newOperator(desiredState{color: "blue"})
			f.requireState(desiredState{color: "blue"}) // what was dropped is gone

			f.oldOperator(desiredState{color: "red", more: true})
			f.requireState(desiredState{color: "red", more: true})
			f.oldOperator(desiredState{color: "green"})
			f.requireState(desiredState{color: "green"}) // the old operator can change and drop what the new one wrote
			f.oldOperator(desiredState{color: "green", more: true})
			f.awaitPods()

			f.migrate(desiredState{color: "green", more: true})
			f.newOperator(desiredState{color: "green"})
			f.requireState(desiredState{color: "green"})
			f.requireOthersFieldsKept()
		})
	}
}

// A fixture is a namespace with an operator before and after its migration.
type fixture struct {
	t         *testing.T
	namespace string
	name      string // of the new operator
	owner     *corev1.ConfigMap
	old       client.Client
	admin     client.Client // of the test
	client    client.Client
	reader    client.Reader
	patched   *patchCounter
	ensurer   *ensure.Ensurer
	children  []legacyChild
}

func newFixture(t *testing.T, way access, name string) *fixture {
	t.Helper()
	f := &fixture{t: t, namespace: shared.Namespace(t), name: name, children: legacyChildren()}
	f.old, f.admin = program.Client(t, shared, oldName), program.Client(t, shared, "test")
	f.client, f.reader = way.open(t, name)
	f.owner = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "owner"}}
	require.NoError(t, f.admin.Create(t.Context(), f.owner))
	return f
}

// start starts the new operator, which remembers nothing.
func (f *fixture) start() {
	f.patched = &patchCounter{Client: f.client, stored: map[string]int{}}
	f.ensurer = ensure.New(f.patched, f.reader, "moved-operator")
}

// A patchCounter counts patches of kinds that the server stores. One that fails a test of managed fields is sent again.
type patchCounter struct {
	client.Client

	stored map[string]int
}

func (c *patchCounter) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	kind, _ := c.GroupVersionKindFor(obj)
	err := c.Client.Patch(ctx, obj, patch, opts...)
	if err == nil && len((&client.PatchOptions{}).ApplyOptions(opts).DryRun) == 0 {
		c.stored[kind.Kind]++
	}
	return err
}

// desired is the new operator's desired state: the fields that the old operator sets, in an empty
// object.
func (f *fixture) desired(child legacyChild, a desiredState) client.Object {
	obj := child.named(f.namespace)
	child.set(obj, a)
	return obj
}

// oldOperator is a pass of the old operator and one that finds nothing to do.
func (f *fixture) oldOperator(a desiredState) {
	f.t.Helper()
	scheme, err := program.Scheme()
	require.NoError(f.t, err)
	for _, child := range f.children {
		for pass := range 2 {
			obj := child.named(f.namespace)
			var found controllerutil.OperationResult
			err := retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) { // beside the built-in controllers
				found, err = controllerutil.CreateOrUpdate(f.t.Context(), f.old, obj, func() error {
					child.set(obj, a)
					return controllerutil.SetControllerReference(f.owner, obj, scheme)
				})
				return err
			})
			require.NoError(f.t, err, child.kind)
			if pass == 1 {
				require.Equal(f.t, controllerutil.OperationResultNone, found, child.kind)
			}
		}
		f.awaitCached(child)
	}
}

// newOperator is a pass of the new operator.
func (f *fixture) newOperator(a desiredState) []ensure.Result[client.Object] {
	f.t.Helper()
	var results []ensure.Result[client.Object]
	for _, child := range f.children {
		result, err := ensure.Object(f.t.Context(), f.ensurer, f.desired(child, a),
			ensure.ControlledBy(f.owner), ensure.MigrateFrom(oldName))
		require.NoError(f.t, err, child.kind)
		results = append(results, result)
	}
	return results
}

// A row is the cost of migrating a child.
type row struct {
	kind          string
	writes, later int
	outside       []string
}

// migrate lets the new operator take over and then pass by without work.
func (f *fixture) migrate(a desiredState) []row {
	f.t.Helper()
	var before []*unstructured.Unstructured
	for _, child := range f.children {
		before = append(before, f.live(child))
	}
	pods := f.pods()
	clear(f.patched.stored)
	for i, result := range f.newOperator(a) {
		require.Equal(f.t, ensure.Updated, result.Operation, f.children[i].kind)
		require.Equal(f.t, ensure.Migrated, result.Cause, f.children[i].kind)
		require.Empty(f.t, result.Kept, f.children[i].kind)
	}
	writes := maps.Clone(f.patched.stored)
	for _, child := range f.children {
		f.awaitCached(child)
	}
	f.awaitPods()

	begin := shared.Mark()
	for range passes {
		for i, result := range f.newOperator(a) {
			require.Equal(f.t, ensure.Unchanged, result.Operation, f.children[i].kind)
		}
	}
	later := slices.DeleteFunc(program.Requests(f.t, shared, begin, f.name), func(r cluster.Request) bool {
		return r.Verb == "get" && f.client == f.reader // each read is a request
	})
	var rows []row
	for i, child := range f.children {
		after := f.live(child)
		r := row{kind: child.kind, writes: writes[child.kind], outside: outsideMetadata(before[i], after)}
		r.later = len(ofKind(later, child))
		require.LessOrEqual(f.t, r.writes, 2, child.kind)
		require.Empty(f.t, r.outside, child.kind)
		require.Zero(f.t, r.later, "%s: %v", child.kind, later)
		if child.kind != "Deployment" { // its generation counts annotations, too
			require.Equal(f.t, before[i].GetGeneration(), after.GetGeneration(), child.kind)
		}
		require.Equal(f.t, others(before[i]), others(after), child.kind)
		rows = append(rows, r)
	}
	require.Equal(f.t, pods, f.pods(), "no pod is restarted")
	return rows
}

func ofKind(found []cluster.Request, child legacyChild) []cluster.Request {
	var of []cluster.Request
	for _, r := range found {
		if r.Resource == child.resource {
			of = append(of, r)
		}
	}
	return of
}

// outsideMetadata lists the differences except in metadata and status.
func outsideMetadata(before, after *unstructured.Unstructured) []string {
	content := func(u *unstructured.Unstructured) map[string]any {
		out := u.DeepCopy().Object
		delete(out, "metadata")
		delete(out, "status")
		return out
	}
	if diff := cmp.Diff(content(before), content(after)); diff != "" {
		return strings.Split(diff, "\n")
	}
	return nil
}

// others returns the metadata without the server's counters, the managed fields, and our digest.
func others(u *unstructured.Unstructured) map[string]any {
	metadata, _ := u.DeepCopy().Object["metadata"].(map[string]any)
	for _, name := range []string{"managedFields", "resourceVersion", "generation"} {
		delete(metadata, name)
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	delete(annotations, digest+"moved-operator")
	return metadata
}

// logCost prints the cost of the migration and how many of the earlier pods are left.
func (f *fixture) logCost(way string, rows []row, before map[string]types.UID) {
	f.t.Helper()
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "\nmoved over with %s\nchild\twrites\tchanges outside metadata\trequests of %d later passes\n", way, passes)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", r.kind, r.writes, len(r.outside), r.later)
	}
	require.NoError(f.t, w.Flush())
	restarted, after := 0, f.pods()
	for name, uid := range before {
		if after[name] != uid {
			restarted++
		}
	}
	f.t.Logf("%spods restarted: %d of %d", table.String(), restarted, len(before))
	require.Zero(f.t, restarted)
}

// requireState fails unless every child has the fields of a and none of the fields that a leaves out.
func (f *fixture) requireState(a desiredState) {
	f.t.Helper()
	for _, child := range f.children {
		live := child.named(f.namespace)
		require.NoError(f.t, f.admin.Get(f.t.Context(), client.ObjectKeyFromObject(live), live))
		again, _ := live.DeepCopyObject().(client.Object)
		child.set(again, a)
		require.Empty(f.t, cmp.Diff(live, again), "%s is not as it should be", child.kind)
		live.SetManagedFields(nil)
		text, err := json.Marshal(live)
		require.NoError(f.t, err)
		require.Equal(f.t, a.more, strings.Contains(string(text), "more"), "%s: %s", child.kind, text)
	}
}

func (f *fixture) writeAsOthers() {
	f.t.Helper()
	for _, child := range f.children {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+theirKey+`":"x"}}}`))
		require.NoError(f.t, f.admin.Patch(f.t.Context(), child.named(f.namespace), patch, client.FieldOwner("other-operator")))
	}
}

func (f *fixture) requireOthersFieldsKept() {
	f.t.Helper()
	for _, child := range f.children {
		require.Equal(f.t, "x", f.live(child).GetAnnotations()[theirKey], child.kind)
	}
}

func (f *fixture) live(child legacyChild) *unstructured.Unstructured {
	f.t.Helper()
	live := child.named(f.namespace)
	require.NoError(f.t, f.admin.Get(f.t.Context(), client.ObjectKeyFromObject(live), live))
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	require.NoError(f.t, err)
	return &unstructured.Unstructured{Object: content}
}

// awaitCached waits until the new operator's cache has the live child.
func (f *fixture) awaitCached(child legacyChild) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		cached := child.named(f.namespace)
		err := f.client.Get(f.t.Context(), client.ObjectKeyFromObject(cached), cached)
		return err == nil && cached.GetResourceVersion() == f.live(child).GetResourceVersion()
	}, limit, tick)
}

// awaitPods waits until the Deployment is rolled out and its controllers have observed the last
// write.
func (f *fixture) awaitPods() {
	f.t.Helper()
	key := types.NamespacedName{Namespace: f.namespace, Name: "web"}
	require.Eventually(f.t, func() bool {
		var d appsv1.Deployment
		var s appsv1.StatefulSet
		require.NoError(f.t, f.admin.Get(f.t.Context(), key, &d))
		require.NoError(f.t, f.admin.Get(f.t.Context(), key, &s))
		return d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedReplicas == *d.Spec.Replicas &&
			d.Status.Replicas == *d.Spec.Replicas && d.Status.AvailableReplicas == *d.Spec.Replicas &&
			s.Status.ObservedGeneration == s.Generation && s.Status.UpdateRevision != "" && len(f.pods()) == 4
	}, limit, tick)
	for _, child := range f.children {
		f.awaitCached(child)
	}
}

// pods are the UIDs of the pods that are to stay, by name.
func (f *fixture) pods() map[string]types.UID {
	f.t.Helper()
	var pods corev1.PodList
	require.NoError(f.t, f.admin.List(f.t.Context(), &pods, client.InNamespace(f.namespace)))
	found := map[string]types.UID{}
	for _, pod := range pods.Items {
		found[pod.Name] = pod.UID
	}
	return found
}
