package finalizer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/finalizer"
)

func noCleanup(context.Context) error { return nil }

// TestWritersLoseNothing has three controllers add their finalizers to each of 167
// objects at once, and take them off at once when the objects go: 1,002 writes to lists,
// beside somebody who writes other fields of the same objects all the time.
func TestWritersLoseNothing(t *testing.T) {
	t.Parallel()
	const objects, workers = 167, 4
	namespace := namespaceOf(t)
	numbers := make(chan int)
	go func() {
		defer close(numbers)
		for n := range objects {
			numbers <- n
		}
	}()
	var (
		group                        sync.WaitGroup
		writes, conflicts, elsewhere atomic.Int64
	)
	for range workers {
		group.Go(func() {
			for n := range numbers {
				obj := configMap(namespace)
				obj.Name = fmt.Sprintf("site-%d", n)
				w := &concurrentWriters{obj: obj, writes: &writes, conflicts: &conflicts, elsewhere: &elsewhere}
				if err := w.run(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 3*2*objects, writes.Load())
	require.Positive(t, elsewhere.Load())
	t.Logf("%d writes to lists, %d conflicts, %d writes to other fields", writes.Load(), conflicts.Load(), elsewhere.Load())
}

// The concurrentWriters are three controllers and the admin, who write to one object at the same time.
type concurrentWriters struct {
	obj                          *corev1.ConfigMap
	writes, conflicts, elsewhere *atomic.Int64
}

var controllers = []string{"one.example.com/cleanup", "two.example.com/cleanup", "three.example.com/cleanup"}

func (w *concurrentWriters) run(ctx context.Context) error {
	w.obj.Finalizers = []string{foreignFinalizer}
	if err := admin.Create(ctx, w.obj); err != nil {
		return err
	}
	if err := w.concurrently(ctx, w.add); err != nil {
		return err
	}
	if err := w.checkFinalizers(ctx, append(slices.Clone(controllers), foreignFinalizer)); err != nil {
		return err
	}
	if err := admin.Delete(ctx, w.obj); err != nil {
		return err
	}
	if err := w.concurrently(ctx, w.remove); err != nil {
		return err
	}
	return errors.Join(w.checkFinalizers(ctx, []string{foreignFinalizer}), release(ctx, w.obj))
}

// concurrently has all controllers do their part at once, beside the writer of other fields.
func (w *concurrentWriters) concurrently(ctx context.Context, part func(context.Context, string) error) error {
	done := make(chan struct{})
	var elsewhere, all sync.WaitGroup
	failures := make([]error, len(controllers)+1)
	elsewhere.Go(func() { failures[len(controllers)] = w.writeElsewhere(ctx, done) })
	for i, name := range controllers {
		all.Go(func() { failures[i] = part(ctx, name) })
	}
	all.Wait()
	close(done)
	elsewhere.Wait()
	return errors.Join(failures...)
}

func (w *concurrentWriters) writeElsewhere(ctx context.Context, done <-chan struct{}) error {
	for n := 0; ; n++ {
		patch := fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}},"data":{"n":"%d"}}`, n, n)
		if err := admin.Patch(ctx, w.obj.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			return err
		}
		w.elsewhere.Add(1)
		select {
		case <-done:
			return nil
		default:
		}
	}
}

func (w *concurrentWriters) add(ctx context.Context, name string) error {
	_, err := w.settle(ctx, finalizer.Step{Name: name, Cleanup: noCleanup})
	return err
}

// remove fails if the finalizer went without a Cleanup.
func (w *concurrentWriters) remove(ctx context.Context, name string) error {
	cleaned := false
	result, err := w.settle(ctx, finalizer.Step{Name: name, Cleanup: func(context.Context) error {
		cleaned = true
		return nil
	}})
	if err == nil && (!cleaned || !result.Done) {
		return fmt.Errorf("%s: cleaned up: %t, done: %t", name, cleaned, result.Done)
	}
	return err
}

// settle retries with a fresh copy until there is no conflict.
func (w *concurrentWriters) settle(ctx context.Context, step finalizer.Step) (finalizer.Result, error) {
	for {
		obj := w.obj.DeepCopy()
		if err := admin.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return finalizer.Result{}, err
		}
		result, err := finalizer.Handle(ctx, admin, obj, step)
		if !apierrors.IsConflict(err) {
			w.writes.Add(1)
			return result, err
		}
		w.conflicts.Add(1)
	}
}

func (w *concurrentWriters) checkFinalizers(ctx context.Context, want []string) error {
	obj := w.obj.DeepCopy()
	if err := admin.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		return err
	}
	got := slices.Sorted(slices.Values(obj.Finalizers))
	if !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		return fmt.Errorf("%s has finalizers %q, want %q", obj.Name, got, want)
	}
	return nil
}

// TestNothingIsAddedToWhatIsGoing, whether or not that was known.
func TestNothingIsAddedToWhatIsGoing(t *testing.T) {
	t.Parallel()
	for name, obj := range map[string]client.Object{"ConfigMap": configMap(namespaceOf(t)), "Widget": widget(namespaceOf(t))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stale := read(t, admin, create(t, obj, foreignFinalizer))
			require.NoError(t, admin.Delete(t.Context(), obj))
			before := live(t, obj)

			_, err := finalizer.Handle(t.Context(), admin, stale, finalizer.Step{Name: rowFinalizer, Cleanup: noCleanup})
			require.True(t, apierrors.IsConflict(err), "%v", err)
			require.ErrorContains(t, err, "Conflict: its deletion began after it was read")
			require.Nil(t, stale.GetDeletionTimestamp(), "it stays as it was read")

			result, err := finalizer.Handle(t.Context(), admin, live(t, obj), finalizer.Step{Name: rowFinalizer, Cleanup: noCleanup})
			require.NoError(t, err)
			require.Equal(t, finalizer.Result{Done: true}, result)
			require.Empty(t, cmp.Diff(before, live(t, obj)), "nothing was written")
		})
	}
}

// TestGoneOrReplaced deletes or replaces the object between a read and the write.
func TestGoneOrReplaced(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"ConfigMap", "Widget"} {
		fresh := func(namespace string) client.Object {
			if kind == "Widget" {
				return widget(namespace)
			}
			return configMap(namespace)
		}
		t.Run(kind+" gone before the addition", func(t *testing.T) {
			t.Parallel()
			stale := create(t, fresh(namespaceOf(t)))
			require.NoError(t, admin.Delete(t.Context(), live(t, stale)))
			result, err := finalizer.Handle(t.Context(), admin, stale, finalizer.Step{Name: rowFinalizer, Cleanup: noCleanup})
			require.NoError(t, err)
			require.Equal(t, finalizer.Result{Done: true}, result)
		})
		t.Run(kind+" replaced before the addition", func(t *testing.T) {
			t.Parallel()
			stale := create(t, fresh(namespaceOf(t)))
			require.NoError(t, admin.Delete(t.Context(), live(t, stale)))
			another := create(t, fresh(stale.GetNamespace()))
			_, err := finalizer.Handle(t.Context(), admin, stale, finalizer.Step{Name: rowFinalizer, Cleanup: noCleanup})
			require.True(t, apierrors.IsConflict(err), "%v", err)
			require.Empty(t, live(t, another).GetFinalizers())
		})
		t.Run(kind+" gone before the removal", func(t *testing.T) {
			t.Parallel()
			obj := createDeleting(t, fresh(namespaceOf(t)), rowFinalizer, bucketFinalizer)
			cleanups := 0
			result, err := finalizer.Handle(t.Context(), admin, obj,
				finalizer.Step{Name: rowFinalizer, Cleanup: func(ctx context.Context) error {
					cleanups++
					return release(ctx, obj) // somebody has lost patience
				}},
				finalizer.Step{Name: bucketFinalizer, Cleanup: func(context.Context) error { cleanups++; return nil }})
			require.NoError(t, err)
			require.Equal(t, finalizer.Result{Done: true}, result)
			require.Equal(t, 1, cleanups)
		})
		t.Run(kind+" replaced before the removal", func(t *testing.T) {
			t.Parallel()
			obj := createDeleting(t, fresh(namespaceOf(t)), rowFinalizer)
			var another client.Object
			_, err := finalizer.Handle(t.Context(), admin, obj, finalizer.Step{Name: rowFinalizer, Cleanup: func(ctx context.Context) error {
				require.NoError(t, release(ctx, obj))
				another = create(t, fresh(obj.GetNamespace()), rowFinalizer)
				return nil
			}})
			require.True(t, apierrors.IsConflict(err), "%v", err)
			require.Equal(t, []string{rowFinalizer}, live(t, another).GetFinalizers(), "it is not cleaned up")
		})
	}
}

// createDeleting creates obj with these finalizers, deletes it, and returns the live object, which the
// finalizers keep.
func createDeleting(t *testing.T, obj client.Object, finalizers ...string) client.Object {
	t.Helper()
	create(t, obj, finalizers...)
	require.NoError(t, admin.Delete(t.Context(), obj))
	return live(t, obj)
}

// A disconnectedClient belongs to a process that is killed before its next patch is sent.
type disconnectedClient struct {
	client.Client

	disconnect context.CancelFunc
}

func (c *disconnectedClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	c.disconnect()
	return c.Client.Patch(ctx, obj, patch, opts...)
}

// TestKilledBetweenCleanupAndRemoval: both are done again, by the next process.
func TestKilledBetweenCleanupAndRemoval(t *testing.T) {
	t.Parallel()
	obj := createDeleting(t, widget(namespaceOf(t)), foreignFinalizer, rowFinalizer, bucketFinalizer)
	var ran []string
	step := func(name string) finalizer.Step {
		return finalizer.Step{Name: name, Cleanup: func(context.Context) error { ran = append(ran, name); return nil }}
	}
	ctx, cancel := context.WithCancel(t.Context())
	read := live(t, obj)
	_, err := finalizer.Handle(ctx, &disconnectedClient{admin, cancel}, read, step(rowFinalizer), step(bucketFinalizer))
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, cmp.Diff(live(t, obj), read), "nothing was written, and obj stays as it was")

	_, err = finalizer.Handle(t.Context(), admin, live(t, obj), step(rowFinalizer))
	require.NoError(t, err)
	require.Equal(t, []string{rowFinalizer, rowFinalizer}, ran, "it cannot know that all is cleaned up")
	require.Equal(t, []string{foreignFinalizer, bucketFinalizer}, live(t, obj).GetFinalizers(), "only its own goes")
}
