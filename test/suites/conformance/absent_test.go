package conformance_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/harness/cluster"
)

const unwanted = "what is no longer wanted is deleted, and nothing else"

// TestAbsent deletes our own objects, and no others.
func TestAbsent(t *testing.T) {
	t.Parallel()
	benches(t, []subject{configMap(), deployment(), clusterRole(), unstructuredGadget()}, everyMode, func(b *bench) {
		b.oursIsDeleted()
		b.othersAreNotDeleted()
		b.shows(unwanted)
	})
}

func (b *bench) absent(opts ...ensure.Option) (ensure.Result[client.Object], error) {
	return ensure.Absent(b.ctx, b.ensurer, b.empty(), append(opts, ensure.ControlledBy(b.owner))...)
}

// mustBeAbsent returns the result of one pass and the number of its deletions.
func (b *bench) mustBeAbsent(opts ...ensure.Option) (ensure.Operation, int) {
	b.t.Helper()
	mark := shared.Mark()
	res, err := b.absent(opts...)
	require.NoError(b.t, err)
	return res.Operation, deletes(b.requests(mark))
}

func deletes(requests []cluster.Request) int {
	n := 0
	for _, r := range requests {
		if r.Verb == "delete" {
			n++
		}
	}
	return n
}

func (b *bench) oursIsDeleted() {
	b.t.Helper()
	operation, sent := b.mustBeAbsent()
	require.Equal(b.t, ensure.Gone, operation, "it never was")
	require.Zero(b.t, sent)

	b.pass()
	b.settle()
	b.edit(foreignFinalizer)
	operation, sent = b.mustBeAbsent()
	require.Equal(b.t, ensure.Deleting, operation)
	require.Equal(b.t, 1, sent)
	b.awaitCached(b.live())
	operation, sent = b.mustBeAbsent()
	require.Equal(b.t, ensure.Deleting, operation, "a finalizer holds it")
	require.Zero(b.t, sent)

	b.delete()
	operation, sent = b.mustBeAbsent()
	require.Equal(b.t, ensure.Gone, operation)
	require.Zero(b.t, sent)
	b.staysAbsent()
}

// staysAbsent requires that only one request confirms the absence.
func (b *bench) staysAbsent() {
	b.t.Helper()
	mark := shared.Mark()
	operation, _ := b.mustBeAbsent()
	require.Equal(b.t, ensure.Gone, operation)
	b.requireRequests(b.requests(mark), 0, 0)
}

func (b *bench) othersAreNotDeleted() {
	b.t.Helper()
	b.createStrangers(controlledBy(b.t, b.stranger)...)
	b.awaitCached(b.live())
	mark := shared.Mark()
	res, err := b.absent()
	require.NoError(b.t, err)
	require.Equal(b.t, ensure.Released, res.Operation)
	require.Empty(b.t, res.Cause)
	b.requireRequests(b.requests(mark), 0, b.asked()+1) // that nothing of ours is in it, the server confirms
	require.Nil(b.t, b.live().GetDeletionTimestamp())
}

// TestHiddenIsDeleted: a cache that does not show the child does not show its deletion either. A
// client that reads its own writes still does not wait.
func TestHiddenIsDeleted(t *testing.T) {
	t.Parallel()
	opts := readingItsWrites()
	opts.Cache.ByObject = map[client.Object]cache.ByObject{
		&corev1.ConfigMap{}: {Label: labels.SelectorFromSet(labels.Set{"stamp": "missing"})},
	}
	a := cached(t, opts)
	b := newBench(t, a, configMap())
	b.ensurer = ensure.New(plain(t).client, a.reader, fieldOwner)
	_, err := b.ensure()
	require.NoError(t, err)

	b.ensurer = ensure.New(a.client, a.reader, fieldOwner)
	operation, sent := b.mustBeAbsent()
	require.Equal(t, ensure.Deleting, operation)
	require.Equal(t, 1, sent)
	ctx, cancel := context.WithTimeout(b.ctx, hiddenLimit)
	defer cancel()
	require.NoError(t, a.client.List(ctx, &corev1.ConfigMapList{}), "a read that waits for the deletion has no end")
	operation, _ = b.mustBeAbsent()
	require.Equal(t, ensure.Gone, operation)
}

// TestAbsentIsOfWhatWasLookedAt: the object changes between the read and the delete.
func TestAbsentIsOfWhatWasLookedAt(t *testing.T) {
	t.Parallel()
	for _, s := range []subject{configMap(), clusterRole()} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			raced := plain(t)
			race := &racingDelete{Client: raced.client}
			raced.client = race
			b := newBench(t, raced, s)

			b.pass()
			race.before = func() { b.edit(b.drift()) }
			operation, sent := b.mustBeAbsent()
			require.Equal(t, ensure.Deleting, operation, "edited: it is still ours")
			require.Equal(t, 2, sent)

			b.pass()
			race.before = b.delete
			operation, _ = b.mustBeAbsent()
			require.Equal(t, ensure.Gone, operation, "deleted by somebody else")

			b.pass()
			race.before = func() {
				b.delete()
				b.createStrangers(controlledBy(t, b.stranger)...)
			}
			operation, _ = b.mustBeAbsent()
			require.Equal(t, ensure.Released, operation, "replaced by a stranger's")
			require.Nil(t, b.live().GetDeletionTimestamp())
		})
	}
}

// racingDelete does something right before the operator's next delete.
type racingDelete struct {
	client.Client
	before func()
}

func (r *racingDelete) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if before := r.before; before != nil {
		r.before = nil
		before()
	}
	return r.Client.Delete(ctx, obj, opts...)
}

// TestPropagation: a Deployment's ReplicaSet is the dependent.
func TestPropagation(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		policy metav1.DeletionPropagation
		stays  bool
	}{
		"background": {metav1.DeletePropagationBackground, false},
		"foreground": {metav1.DeletePropagationForeground, false},
		"orphan":     {metav1.DeletePropagationOrphan, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, plain(t), deployment())
			b.pass()
			b.settle()
			uid := b.live().GetUID()

			operation, sent := b.mustBeAbsent(ensure.Propagation(tc.policy))
			require.Equal(t, ensure.Deleting, operation)
			require.Equal(t, 1, sent)
			b.await("the Deployment to be gone", func() bool {
				operation, _ := b.mustBeAbsent(ensure.Propagation(tc.policy))
				return operation == ensure.Gone
			})
			if tc.policy == metav1.DeletePropagationForeground {
				require.Empty(t, b.replicaSets(uid), "they go first")
			}
			if tc.stays {
				require.Len(t, b.replicaSets(""), 1, "orphaned")
				return
			}
			b.await("its ReplicaSets to be gone", func() bool { return len(b.replicaSets(uid)) == 0 })
		})
	}
}

// replicaSets returns the ReplicaSets that a Deployment controls, or with an empty UID those
// without a controller.
func (b *bench) replicaSets(controller types.UID) []appsv1.ReplicaSet {
	b.t.Helper()
	var list appsv1.ReplicaSetList
	require.NoError(b.t, b.human.List(b.ctx, &list, client.InNamespace(b.namespace)))
	return slices.DeleteFunc(list.Items, func(rs appsv1.ReplicaSet) bool {
		if ref := metav1.GetControllerOfNoCopy(&rs); ref != nil {
			return ref.UID != controller
		}
		return controller != ""
	})
}
