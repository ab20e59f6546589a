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
	forEachFixture(t, []kindCase{configMap(), deployment(), clusterRole(), unstructuredGadget()}, everyMode, func(f *fixture) {
		f.oursIsDeleted()
		f.othersAreNotDeleted()
		f.noteShown(unwanted)
	})
}

func (f *fixture) absent(opts ...ensure.AbsentOption) (ensure.Result[client.Object], error) {
	return ensure.Absent(f.ctx, f.ensurer, f.empty(), append(opts, ensure.ControlledBy(f.owner))...)
}

// mustBeAbsent returns the result of one pass and the number of its deletions.
func (f *fixture) mustBeAbsent(opts ...ensure.AbsentOption) (ensure.Operation, int) {
	f.t.Helper()
	mark := shared.Mark()
	res, err := f.absent(opts...)
	require.NoError(f.t, err)
	return res.Operation, deletes(f.requests(mark))
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

func (f *fixture) oursIsDeleted() {
	f.t.Helper()
	operation, sent := f.mustBeAbsent()
	require.Equal(f.t, ensure.Gone, operation, "it never was")
	require.Zero(f.t, sent)

	f.pass()
	f.settle()
	f.edit(foreignFinalizer)
	operation, sent = f.mustBeAbsent()
	require.Equal(f.t, ensure.Deleting, operation)
	require.Equal(f.t, 1, sent)
	f.awaitCached(f.live())
	operation, sent = f.mustBeAbsent()
	require.Equal(f.t, ensure.Deleting, operation, "a finalizer holds it")
	require.Zero(f.t, sent)

	f.delete()
	operation, sent = f.mustBeAbsent()
	require.Equal(f.t, ensure.Gone, operation)
	require.Zero(f.t, sent)
	f.staysAbsent()
}

// staysAbsent requires that only one request confirms the absence.
func (f *fixture) staysAbsent() {
	f.t.Helper()
	mark := shared.Mark()
	operation, _ := f.mustBeAbsent()
	require.Equal(f.t, ensure.Gone, operation)
	f.requireRequests(f.requests(mark), 0, 0)
}

func (f *fixture) othersAreNotDeleted() {
	f.t.Helper()
	f.createForeign(controlledBy(f.t, f.otherOwner)...)
	f.awaitCached(f.live())
	mark := shared.Mark()
	res, err := f.absent()
	require.NoError(f.t, err)
	require.Equal(f.t, ensure.Released, res.Operation)
	require.Empty(f.t, res.Cause)
	f.requireRequests(f.requests(mark), 0, f.asked()+1) // that nothing of ours is in it, the server confirms
	require.Nil(f.t, f.live().GetDeletionTimestamp())
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
	f := newFixture(t, a, configMap())
	f.ensurer = ensure.New(plain(t).client, a.reader, fieldOwner)
	_, err := f.ensure()
	require.NoError(t, err)

	f.ensurer = ensure.New(a.client, a.reader, fieldOwner)
	operation, sent := f.mustBeAbsent()
	require.Equal(t, ensure.Deleting, operation)
	require.Equal(t, 1, sent)
	ctx, cancel := context.WithTimeout(f.ctx, hiddenLimit)
	defer cancel()
	require.NoError(t, a.client.List(ctx, &corev1.ConfigMapList{}), "a read that waits for the deletion has no end")
	operation, _ = f.mustBeAbsent()
	require.Equal(t, ensure.Gone, operation)
}

// TestAbsentIsOfWhatWasLookedAt: the object changes between the read and the delete.
func TestAbsentIsOfWhatWasLookedAt(t *testing.T) {
	t.Parallel()
	for _, k := range []kindCase{configMap(), clusterRole()} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			raced := plain(t)
			race := &racingDeleteClient{Client: raced.client}
			raced.client = race
			f := newFixture(t, raced, k)

			f.pass()
			race.before = func() { f.edit(f.drift()) }
			operation, sent := f.mustBeAbsent()
			require.Equal(t, ensure.Deleting, operation, "edited: it is still ours")
			require.Equal(t, 2, sent)

			f.pass()
			race.before = f.delete
			operation, _ = f.mustBeAbsent()
			require.Equal(t, ensure.Gone, operation, "deleted by somebody else")

			f.pass()
			race.before = func() {
				f.delete()
				f.createForeign(controlledBy(t, f.otherOwner)...)
			}
			operation, _ = f.mustBeAbsent()
			require.Equal(t, ensure.Released, operation, "replaced by a stranger's")
			require.Nil(t, f.live().GetDeletionTimestamp())
		})
	}
}

// racingDeleteClient does something right before the operator's next delete.
type racingDeleteClient struct {
	client.Client
	before func()
}

func (r *racingDeleteClient) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
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
			f := newFixture(t, plain(t), deployment())
			f.pass()
			f.settle()
			uid := f.live().GetUID()

			operation, sent := f.mustBeAbsent(ensure.Propagation(tc.policy))
			require.Equal(t, ensure.Deleting, operation)
			require.Equal(t, 1, sent)
			f.await("the Deployment to be gone", func() bool {
				operation, _ := f.mustBeAbsent(ensure.Propagation(tc.policy))
				return operation == ensure.Gone
			})
			if tc.policy == metav1.DeletePropagationForeground {
				require.Empty(t, f.replicaSets(uid), "they go first")
			}
			if tc.stays {
				require.Len(t, f.replicaSets(""), 1, "orphaned")
				return
			}
			f.await("its ReplicaSets to be gone", func() bool { return len(f.replicaSets(uid)) == 0 })
		})
	}
}

// replicaSets returns the ReplicaSets that a Deployment controls, or with an empty UID those
// without a controller.
func (f *fixture) replicaSets(controller types.UID) []appsv1.ReplicaSet {
	f.t.Helper()
	var list appsv1.ReplicaSetList
	require.NoError(f.t, f.admin.List(f.ctx, &list, client.InNamespace(f.namespace)))
	return slices.DeleteFunc(list.Items, func(rs appsv1.ReplicaSet) bool {
		if ref := metav1.GetControllerOfNoCopy(&rs); ref != nil {
			return ref.UID != controller
		}
		return controller != ""
	})
}
