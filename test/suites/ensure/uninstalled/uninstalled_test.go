package uninstalled_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// callTimeout is more than ensure waits for a cache that does not answer.
const callTimeout = 20 * time.Second

func (f *fixture) callWithTimeout(call func(context.Context) (ensure.Operation, error)) (ensure.Operation, error) {
	ctx, cancel := context.WithTimeout(f.t.Context(), callTimeout)
	defer cancel()
	return call(ctx)
}

func (f *fixture) requireGone(why string) {
	f.t.Helper()
	for name, call := range f.calls() {
		operation, err := f.callWithTimeout(call)
		require.NoError(f.t, err, "%s: %s", name, why)
		require.Equal(f.t, ensure.Gone, operation, "%s: %s", name, why)
	}
}

func (f *fixture) requireFailure(why string) {
	f.t.Helper()
	for name, call := range f.calls() {
		for range 3 {
			_, err := f.callWithTimeout(call)
			require.ErrorIs(f.t, err, ensure.ErrAPI, "%s: %s", name, why)
		}
	}
}

// requireDeletion has the operator create and delete the Ghost.
func (f *fixture) requireDeletion() {
	f.t.Helper()
	_, err := ensure.Object(f.t.Context(), f.ensurer, f.ghost())
	require.NoError(f.t, err)
	f.await(func(ctx context.Context) error {
		res, err := ensure.Absent(ctx, f.ensurer, f.ghost())
		if err == nil && res.Operation != ensure.Gone {
			err = fmt.Errorf("it is %s", res.Operation)
		}
		return err
	})
	err = f.installer.Get(f.t.Context(), client.ObjectKeyFromObject(f.ghost()), f.untyped())
	require.True(f.t, apierrors.IsNotFound(err), "%v", err)
}

func TestAKindThatIsNotInstalled(t *testing.T) {
	each(t, clients, func(t *testing.T, f *fixture) {
		f.requireGone("there is no such kind")
		_, err := ensure.Object(t.Context(), f.ensurer, f.ghost())
		require.ErrorIs(t, err, ensure.ErrAPI, "its definition may come")
		f.install("v1")
		f.requireDeletion()
	})
}

func TestAKindThatIsRemovedAndComesBack(t *testing.T) {
	each(t, clients, func(_ *testing.T, f *fixture) {
		f.install("v1")
		f.requireDeletion()
		f.uninstall()
		f.requireGone("its definition was deleted")
		f.install("v1")
		f.requireDeletion()
	})
}

// A cache waits for the first list of a kind that it has discovered.
func TestAKindThatIsRemovedBeforeItIsRead(t *testing.T) {
	each(t, []string{"cached"}, func(_ *testing.T, f *fixture) {
		f.install("v1")
		f.discoverKind()
		f.uninstall()
		f.requireGone("its definition was deleted")
	})
}

func TestAKindOfAnotherVersion(t *testing.T) {
	each(t, clients, func(_ *testing.T, f *fixture) {
		f.install("v2")
		f.requireFailure("it is there in another version")
	})
}

// The group is served, by a server that is down.
func TestAnAPIThatIsDown(t *testing.T) {
	each(t, clients, func(t *testing.T, f *fixture) {
		service := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "v1." + f.gvk.Group},
			"spec": map[string]any{
				"group": f.gvk.Group, "version": "v1", "insecureSkipTLSVerify": true,
				"groupPriorityMinimum": int64(1000), "versionPriority": int64(10),
				"service": map[string]any{"namespace": f.namespace, "name": "missing"},
			},
		}}
		service.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
		require.NoError(t, f.installer.Create(t.Context(), service))
		t.Cleanup(func() { require.NoError(t, f.installer.Delete(context.Background(), service)) })
		f.await(func(ctx context.Context) error {
			err := f.installer.Get(ctx, client.ObjectKeyFromObject(f.ghost()), f.untyped())
			if !apierrors.IsServiceUnavailable(err) {
				return fmt.Errorf("it is not down: %w", err)
			}
			return nil
		})
		f.requireFailure("its server is down")
	})
}
