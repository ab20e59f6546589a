package finalizer_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/finalizer"
	"github.com/trueup-go/trueup/internal/consistency"
	"github.com/trueup-go/trueup/test/harness/cluster"
)

// subjects returns the objects that operators pass to Handle: the same object in a namespace, in
// several types.
func subjects(namespace string) map[string]client.Object {
	named := func(obj client.Object, gvk schema.GroupVersionKind) client.Object {
		obj.GetObjectKind().SetGroupVersionKind(gvk)
		obj.SetNamespace(namespace)
		obj.SetName("site")
		return obj
	}
	configMapGVK := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	return map[string]client.Object{
		"ConfigMap":               configMap(namespace),
		"unstructured ConfigMap":  named(&unstructured.Unstructured{}, configMapGVK),
		"metadata of a ConfigMap": named(&metav1.PartialObjectMetadata{}, configMapGVK),
		"Widget":                  widget(namespace),
		"unstructured Widget":     named(&unstructured.Unstructured{}, widgetGVK),
		"metadata of a Widget":    named(&metav1.PartialObjectMetadata{}, widgetGVK),
	}
}

// access are the sorts of clients that operators have.
func access(t *testing.T) map[string]client.Client {
	t.Helper()
	require.NoError(t, prepare())
	return map[string]client.Client{
		"plain client":                admin,
		"cache":                       cached(t, &client.CacheOptions{}),
		"cache that reads its writes": cached(t, cluster.ReadYourWrites()),
	}
}

// A lifecycle is the life of one object as one reconciler sees it.
type lifecycle struct {
	*testing.T

	client client.Client
	obj    client.Object
	steps  []finalizer.Step
	gone   bool
}

// pass is a reconcile.
func (l *lifecycle) pass() (finalizer.Result, error) {
	l.Helper()
	switch err := l.client.Get(l.Context(), client.ObjectKeyFromObject(l.obj), l.obj); {
	case apierrors.IsNotFound(err):
		l.gone = true
		return finalizer.Result{}, nil
	case err != nil:
		require.NoError(l, err)
	}
	return finalizer.Handle(l.Context(), l.client, l.obj, l.steps...)
}

// until reconciles repeatedly, as a lagging cache may require.
func (l *lifecycle) until(what string, done func(finalizer.Result, error) bool) {
	l.Helper()
	err := wait.PollUntilContextTimeout(l.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		result, err := l.pass()
		if err != nil && !apierrors.IsConflict(err) && !done(result, err) {
			return false, err
		}
		return done(result, err), nil
	})
	require.NoError(l, err, what)
}

// TestLife follows an object from the creation until its end, for each sort of object and client.
func TestLife(t *testing.T) {
	t.Parallel()
	for mode, c := range access(t) {
		namespace := namespaceOf(t)
		for name := range subjects(namespace) {
			t.Run(mode+"/"+name, func(t *testing.T) {
				t.Parallel()
				obj := subjects(shared.Namespace(t))[name]
				made := create(t, dataOf(obj), foreignFinalizer)
				l := &lifecycle{T: t, client: c, obj: obj}
				broken := errors.New("the database is away")
				inUse := finalizer.NotDone(time.Minute, "in use")
				answers, ran := []error{inUse, broken, nil}, []string{}
				l.steps = []finalizer.Step{
					{Name: rowFinalizer, Cleanup: func(context.Context) error {
						ran = append(ran, rowFinalizer)
						answer := answers[0]
						if len(answers) > 1 {
							answers = answers[1:]
						}
						return answer
					}},
					{Name: bucketFinalizer, Cleanup: func(context.Context) error { ran = append(ran, bucketFinalizer); return nil }},
				}

				l.until("added", func(_ finalizer.Result, err error) bool { return err == nil && !l.gone })
				require.Equal(t, []string{foreignFinalizer, rowFinalizer, bucketFinalizer}, live(t, made).GetFinalizers())
				requireSame(t, obj, "what the caller has is what the server answered")

				require.NoError(t, admin.Delete(t.Context(), made))
				waits := finalizer.Result{Done: true, After: time.Minute, Reason: "in use"}
				l.until("waiting", func(r finalizer.Result, _ error) bool { return r == waits })
				l.until("failing", func(_ finalizer.Result, err error) bool { return errors.Is(err, broken) })
				require.Equal(t, []string{foreignFinalizer, rowFinalizer, bucketFinalizer}, live(t, made).GetFinalizers(), "both are kept")
				l.until("done", func(r finalizer.Result, err error) bool { return r == finalizer.Result{Done: true} && err == nil })
				require.Equal(t, []string{foreignFinalizer}, live(t, made).GetFinalizers())
				require.Equal(t, []string{rowFinalizer, rowFinalizer, rowFinalizer, bucketFinalizer}, ran)
				requireSame(t, obj, "what the caller has is what the server answered")

				require.NoError(t, release(t.Context(), made))
				l.until("gone", func(finalizer.Result, error) bool { return l.gone })
			})
		}
	}
}

// dataOf is the object that obj is a view of.
func dataOf(obj client.Object) client.Object {
	switch obj.GetObjectKind().GroupVersionKind() {
	case schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}:
		return configMap(obj.GetNamespace())
	case widgetGVK:
		return widget(obj.GetNamespace())
	}
	out, _ := obj.DeepCopyObject().(client.Object)
	return out
}

// requireSame compares obj with a plain read.
func requireSame(t *testing.T, obj client.Object, why string) {
	t.Helper()
	want := live(t, obj)
	want.GetObjectKind().SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
	require.Empty(t, cmp.Diff(want, obj), why)
}

// TestReadYourWrites: behind a cache that reads its writes, nothing is done twice except for the
// last finalizer. The answer to its removal has the earlier resourceVersion, so that no read waits
// for the deletion; then the Cleanup may run once more.
func TestReadYourWrites(t *testing.T) {
	if !consistency.IsSupported() {
		t.Skip("before controller-runtime v0.25, no read waits for a write")
	}
	t.Parallel()
	c := cached(t, cluster.ReadYourWrites())
	namespace := namespaceOf(t)
	for n := range 20 {
		obj := widget(namespace)
		obj.Name = "site-" + strconv.Itoa(n)
		obj.Finalizers = []string{foreignFinalizer}
		require.NoError(t, c.Create(t.Context(), obj))
		t.Cleanup(func() { require.NoError(t, client.IgnoreNotFound(release(context.Background(), obj))) })
		cleanups := 0
		l := &lifecycle{T: t, client: c, obj: obj, steps: []finalizer.Step{
			{Name: rowFinalizer, Cleanup: func(context.Context) error { cleanups++; return nil }},
		}}
		_, err := l.pass()
		require.NoError(t, err)
		require.Equal(t, []string{foreignFinalizer, rowFinalizer}, read(t, c, obj).Finalizers, "the addition is seen at once")

		require.NoError(t, c.Delete(t.Context(), obj))
		for range 2 {
			result, err := l.pass()
			require.NoError(t, err)
			require.Equal(t, finalizer.Result{Done: true}, result)
		}
		require.Equal(t, 1, cleanups, "the removal is seen at once")

		l.steps = []finalizer.Step{{Name: foreignFinalizer, Cleanup: noCleanup}}
		l.until("gone", func(result finalizer.Result, err error) bool {
			require.NoError(t, err)
			require.True(t, l.gone || result.Done, "an object that is gone is nothing to work for")
			return l.gone
		})
	}
}

// TestAnswersReplaceWhatWasRead: fields removed on the server are removed from the caller's object,
// custom kinds included. Decoding the JSON alone would keep them.
func TestAnswersReplaceWhatWasRead(t *testing.T) {
	t.Parallel()
	obj := create(t, widget(namespaceOf(t)), rowFinalizer)
	require.NoError(t, admin.Delete(t.Context(), obj))
	stale := live(t, obj)
	require.NoError(t, admin.Patch(t.Context(), live(t, obj), client.RawPatch("application/merge-patch+json", []byte(`{"data":{"host":null}}`))))
	_, err := finalizer.Handle(t.Context(), admin, stale, finalizer.Step{Name: rowFinalizer, Cleanup: func(context.Context) error { return nil }})
	require.NoError(t, err)
	require.Empty(t, stale.Finalizers)
	require.Empty(t, stale.Data)
}
