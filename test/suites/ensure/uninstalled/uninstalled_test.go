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

// patience is more than ensure waits for a cache that does not answer.
const patience = 20 * time.Second

func (h *house) within(call func(context.Context) (ensure.Operation, error)) (ensure.Operation, error) {
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	return call(ctx)
}

func (h *house) requireGone(why string) {
	h.t.Helper()
	for name, call := range h.calls() {
		operation, err := h.within(call)
		require.NoError(h.t, err, "%s: %s", name, why)
		require.Equal(h.t, ensure.Gone, operation, "%s: %s", name, why)
	}
}

func (h *house) requireFailure(why string) {
	h.t.Helper()
	for name, call := range h.calls() {
		for range 3 {
			_, err := h.within(call)
			require.ErrorIs(h.t, err, ensure.ErrAPI, "%s: %s", name, why)
		}
	}
}

// requireDeletion has the operator create and delete the Ghost.
func (h *house) requireDeletion() {
	h.t.Helper()
	_, err := ensure.Object(h.t.Context(), h.e, h.ghost())
	require.NoError(h.t, err)
	h.await(func(ctx context.Context) error {
		res, err := ensure.Absent(ctx, h.e, h.ghost())
		if err == nil && res.Operation != ensure.Gone {
			err = fmt.Errorf("it is %s", res.Operation)
		}
		return err
	})
	err = h.installer.Get(h.t.Context(), client.ObjectKeyFromObject(h.ghost()), h.untyped())
	require.True(h.t, apierrors.IsNotFound(err), "%v", err)
}

func TestAKindThatIsNotInstalled(t *testing.T) {
	each(t, everyClient, func(t *testing.T, h *house) {
		h.requireGone("there is no such kind")
		_, err := ensure.Object(t.Context(), h.e, h.ghost())
		require.ErrorIs(t, err, ensure.ErrAPI, "its definition may come")
		h.install("v1")
		h.requireDeletion()
	})
}

func TestAKindThatIsRemovedAndComesBack(t *testing.T) {
	each(t, everyClient, func(_ *testing.T, h *house) {
		h.install("v1")
		h.requireDeletion()
		h.uninstall()
		h.requireGone("its definition was deleted")
		h.install("v1")
		h.requireDeletion()
	})
}

// A cache waits for the first list of a kind that it has discovered.
func TestAKindThatIsRemovedBeforeItIsRead(t *testing.T) {
	each(t, []string{"cached"}, func(_ *testing.T, h *house) {
		h.install("v1")
		h.meet()
		h.uninstall()
		h.requireGone("its definition was deleted")
	})
}

func TestAKindOfAnotherVersion(t *testing.T) {
	each(t, everyClient, func(_ *testing.T, h *house) {
		h.install("v2")
		h.requireFailure("it is there in another version")
	})
}

// The group is served, by a server that is down.
func TestAnAPIThatIsDown(t *testing.T) {
	each(t, everyClient, func(t *testing.T, h *house) {
		service := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "v1." + h.gvk.Group},
			"spec": map[string]any{
				"group": h.gvk.Group, "version": "v1", "insecureSkipTLSVerify": true,
				"groupPriorityMinimum": int64(1000), "versionPriority": int64(10),
				"service": map[string]any{"namespace": h.namespace, "name": "missing"},
			},
		}}
		service.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
		require.NoError(t, h.installer.Create(t.Context(), service))
		t.Cleanup(func() { require.NoError(t, h.installer.Delete(context.Background(), service)) })
		h.await(func(ctx context.Context) error {
			err := h.installer.Get(ctx, client.ObjectKeyFromObject(h.ghost()), h.untyped())
			if !apierrors.IsServiceUnavailable(err) {
				return fmt.Errorf("it is not down: %w", err)
			}
			return nil
		})
		h.requireFailure("its server is down")
	})
}
