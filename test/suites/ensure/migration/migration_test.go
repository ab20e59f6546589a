package migration_test

import (
	"encoding/json"
	"fmt"
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
			Client: client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}},
		})
		return c.GetClient(), c.GetAPIReader()
	}},
}

// TestMigration moves an operator from controllerutil.CreateOrUpdate to ensure.Object, back,
// and over once more. Nobody notices but the metadata.
func TestMigration(t *testing.T) {
	for i, way := range accesses {
		t.Run(way.name, func(t *testing.T) {
			m := newMove(t, way, fmt.Sprintf("moved-operator-%d", i))
			m.oldOperator(as{color: "blue", more: true})
			m.othersWrite()
			m.awaitPods()

			m.start()
			before := m.pods()
			rows := m.moveOver(as{color: "blue", more: true})
			m.report(way.name, rows, before)

			m.newOperator(as{color: "blue"})
			m.hold(as{color: "blue"}) // what was dropped is gone

			m.oldOperator(as{color: "red", more: true})
			m.hold(as{color: "red", more: true})
			m.oldOperator(as{color: "green"})
			m.hold(as{color: "green"}) // the old operator can change and drop what the new one wrote
			m.oldOperator(as{color: "green", more: true})
			m.awaitPods()

			m.moveOver(as{color: "green", more: true})
			m.newOperator(as{color: "green"})
			m.hold(as{color: "green"})
			m.othersKeepTheirs()
		})
	}
}

// A move is one operator before and after.
type move struct {
	t         *testing.T
	namespace string
	name      string // of the new operator
	owner     *corev1.ConfigMap
	old       client.Client
	plain     client.Client // of the test
	client    client.Client
	reader    client.Reader
	ensurer   *ensure.Ensurer
	children  []legacy
}

func newMove(t *testing.T, way access, name string) *move {
	t.Helper()
	m := &move{t: t, namespace: shared.Namespace(t), name: name, children: legacies()}
	m.old, m.plain = program.Client(t, shared, oldName), program.Client(t, shared, "test")
	m.client, m.reader = way.open(t, name)
	m.owner = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "owner"}}
	require.NoError(t, m.plain.Create(t.Context(), m.owner))
	return m
}

// start starts the new operator, which remembers nothing.
func (m *move) start() { m.ensurer = ensure.New(m.client, m.reader, "moved-operator") }

// desired is the new operator's desired state: the fields that the old operator sets, in an empty
// object.
func (m *move) desired(child legacy, a as) client.Object {
	obj := child.named(m.namespace)
	child.set(obj, a)
	return obj
}

// oldOperator is a pass of the old operator and one that finds nothing to do.
func (m *move) oldOperator(a as) {
	m.t.Helper()
	scheme, err := program.Scheme()
	require.NoError(m.t, err)
	for _, child := range m.children {
		for pass := range 2 {
			obj := child.named(m.namespace)
			var found controllerutil.OperationResult
			err := retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) { // beside the built-in controllers
				found, err = controllerutil.CreateOrUpdate(m.t.Context(), m.old, obj, func() error {
					child.set(obj, a)
					return controllerutil.SetControllerReference(m.owner, obj, scheme)
				})
				return err
			})
			require.NoError(m.t, err, child.kind)
			if pass == 1 {
				require.Equal(m.t, controllerutil.OperationResultNone, found, child.kind)
			}
		}
		m.awaitCached(child)
	}
}

// newOperator is a pass of the new operator.
func (m *move) newOperator(a as) []ensure.Result[client.Object] {
	m.t.Helper()
	var results []ensure.Result[client.Object]
	for _, child := range m.children {
		result, err := ensure.Object(m.t.Context(), m.ensurer, m.desired(child, a),
			ensure.ControlledBy(m.owner), ensure.MigrateFrom(oldName))
		require.NoError(m.t, err, child.kind)
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

// moveOver lets the new operator take over and then pass by without work.
func (m *move) moveOver(a as) []row {
	m.t.Helper()
	var before []*unstructured.Unstructured
	for _, child := range m.children {
		before = append(before, m.live(child))
	}
	pods := m.pods()
	begin := shared.Mark()
	for i, result := range m.newOperator(a) {
		require.Equal(m.t, ensure.Updated, result.Operation, m.children[i].kind)
		require.Equal(m.t, ensure.Migrated, result.Cause, m.children[i].kind)
	}
	moved := program.Requests(m.t, shared, begin, m.name)
	for _, child := range m.children {
		m.awaitCached(child)
	}
	m.awaitPods()

	begin = shared.Mark()
	for range passes {
		for i, result := range m.newOperator(a) {
			require.Equal(m.t, ensure.Unchanged, result.Operation, m.children[i].kind)
		}
	}
	later := slices.DeleteFunc(program.Requests(m.t, shared, begin, m.name), func(r cluster.Request) bool {
		return r.Verb == "get" && m.client == m.reader // each read is a request
	})
	var rows []row
	for i, child := range m.children {
		after := m.live(child)
		r := row{kind: child.kind, outside: outsideMetadata(before[i], after)}
		writes := ofKind(slices.DeleteFunc(slices.Clone(moved), func(r cluster.Request) bool { return !cluster.Writes(r) }), child)
		r.writes = len(stored(writes))
		require.LessOrEqual(m.t, len(writes)-r.writes, 1, "whether pods would restart is asked once, by a dry run")
		r.later = len(ofKind(later, child))
		require.LessOrEqual(m.t, r.writes, 2, child.kind)
		require.Empty(m.t, r.outside, child.kind)
		require.Zero(m.t, r.later, child.kind)
		if child.kind != "Deployment" { // its generation counts annotations, too
			require.Equal(m.t, before[i].GetGeneration(), after.GetGeneration(), child.kind)
		}
		require.Equal(m.t, others(before[i]), others(after), child.kind)
		rows = append(rows, r)
	}
	require.Equal(m.t, pods, m.pods(), "no pod is restarted")
	return rows
}

// stored leaves out dry runs.
func stored(found []cluster.Request) []cluster.Request {
	return slices.DeleteFunc(slices.Clone(found), func(r cluster.Request) bool { return r.DryRun })
}

func ofKind(found []cluster.Request, child legacy) []cluster.Request {
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

// report prints the cost of the migration and how many of the earlier pods are left.
func (m *move) report(way string, rows []row, before map[string]types.UID) {
	m.t.Helper()
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "\nmoved over with %s\nchild\twrites\tchanges outside metadata\trequests of %d later passes\n", way, passes)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", r.kind, r.writes, len(r.outside), r.later)
	}
	require.NoError(m.t, w.Flush())
	restarted, after := 0, m.pods()
	for name, uid := range before {
		if after[name] != uid {
			restarted++
		}
	}
	m.t.Logf("%spods restarted: %d of %d", table.String(), restarted, len(before))
	require.Zero(m.t, restarted)
}

// hold fails unless every child has the fields of a and none of the fields that a leaves out.
func (m *move) hold(a as) {
	m.t.Helper()
	for _, child := range m.children {
		live := child.named(m.namespace)
		require.NoError(m.t, m.plain.Get(m.t.Context(), client.ObjectKeyFromObject(live), live))
		again, _ := live.DeepCopyObject().(client.Object)
		child.set(again, a)
		require.Empty(m.t, cmp.Diff(live, again), "%s is not as it should be", child.kind)
		live.SetManagedFields(nil)
		text, err := json.Marshal(live)
		require.NoError(m.t, err)
		require.Equal(m.t, a.more, strings.Contains(string(text), "more"), "%s: %s", child.kind, text)
	}
}

func (m *move) othersWrite() {
	m.t.Helper()
	for _, child := range m.children {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+theirKey+`":"x"}}}`))
		require.NoError(m.t, m.plain.Patch(m.t.Context(), child.named(m.namespace), patch, client.FieldOwner("other-operator")))
	}
}

func (m *move) othersKeepTheirs() {
	m.t.Helper()
	for _, child := range m.children {
		require.Equal(m.t, "x", m.live(child).GetAnnotations()[theirKey], child.kind)
	}
}

func (m *move) live(child legacy) *unstructured.Unstructured {
	m.t.Helper()
	live := child.named(m.namespace)
	require.NoError(m.t, m.plain.Get(m.t.Context(), client.ObjectKeyFromObject(live), live))
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	require.NoError(m.t, err)
	return &unstructured.Unstructured{Object: content}
}

// awaitCached waits until the new operator's cache has the live child.
func (m *move) awaitCached(child legacy) {
	m.t.Helper()
	require.Eventually(m.t, func() bool {
		cached := child.named(m.namespace)
		err := m.client.Get(m.t.Context(), client.ObjectKeyFromObject(cached), cached)
		return err == nil && cached.GetResourceVersion() == m.live(child).GetResourceVersion()
	}, limit, tick)
}

// awaitPods waits until the Deployment is rolled out and its controllers have observed the last
// write.
func (m *move) awaitPods() {
	m.t.Helper()
	key := types.NamespacedName{Namespace: m.namespace, Name: "web"}
	require.Eventually(m.t, func() bool {
		var d appsv1.Deployment
		var s appsv1.StatefulSet
		require.NoError(m.t, m.plain.Get(m.t.Context(), key, &d))
		require.NoError(m.t, m.plain.Get(m.t.Context(), key, &s))
		return d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedReplicas == *d.Spec.Replicas &&
			d.Status.Replicas == *d.Spec.Replicas && d.Status.AvailableReplicas == *d.Spec.Replicas &&
			s.Status.ObservedGeneration == s.Generation && s.Status.UpdateRevision != "" && len(m.pods()) == 4
	}, limit, tick)
	for _, child := range m.children {
		m.awaitCached(child)
	}
}

// pods are the UIDs of the pods that are to stay, by name.
func (m *move) pods() map[string]types.UID {
	m.t.Helper()
	var pods corev1.PodList
	require.NoError(m.t, m.plain.List(m.t.Context(), &pods, client.InNamespace(m.namespace)))
	found := map[string]types.UID{}
	for _, pod := range pods.Items {
		found[pod.Name] = pod.UID
	}
	return found
}
