package controller //nolint:testpackage // tests unexported functions

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/ensuretest"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/finalizer"
)

const defaultNames = `{{define "database"}}{{.Name}}-mongodb{{end}}{{define "app"}}{{.Name}}-app{{end}}`

// shop returns a BookStore whose status has the identity of its database.
func shop() *v1alpha1.BookStore {
	store := storeCalled("shop")
	store.UID, store.Finalizers = "shop", []string{v1alpha1.Finalizer}
	store.Status.Database = &shopDatabase
	return store
}

// shopSet returns the live set of store.
func shopSet(t *testing.T, store *v1alpha1.BookStore) *appsv1.StatefulSet {
	t.Helper()
	made, err := childrenFor(store, overridden(nil))
	require.NoError(t, err)
	set := made.database
	set.UID, set.Generation, set.Status.ObservedGeneration = "set", 1, 1
	set.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(store, v1alpha1.GroupVersion.WithKind("BookStore"))}
	return set
}

func shopClaim(name string) *corev1.PersistentVolumeClaim {
	claim := claimCalled(name)
	claim.Namespace, claim.UID = "mall", types.UID(name)
	return &claim
}

// shopPod returns a pod that mounts the claim. If controller is not empty, it is the UID of the set that
// controls the pod.
func shopPod(name, controller, claim string) *corev1.Pod {
	pod := podOn(name, controller, claim)
	pod.Namespace, pod.UID = "mall", types.UID(name)
	for i := range pod.OwnerReferences {
		pod.OwnerReferences[i].Kind, pod.OwnerReferences[i].Name = "StatefulSet", "shop-mongodb"
	}
	return &pod
}

// TestCleanUp deletes what the garbage collector would not delete, or waits.
func TestCleanUp(t *testing.T) {
	const firstPod = "shop-mongodb-0"
	for _, test := range []struct {
		name   string
		set    func(*appsv1.StatefulSet) // nil if there is no set
		pod    *corev1.Pod
		retain bool
		waits  string
		writes []string
	}{
		{name: "nothing to do", set: func(*appsv1.StatefulSet) {}, retain: true, pod: shopPod(firstPod, "set", firstClaim)},
		{
			name: "claims go", set: func(*appsv1.StatefulSet) {}, pod: shopPod(firstPod, "set", firstClaim),
			writes: []string{"delete PersistentVolumeClaim mall/" + firstClaim + ": gone"},
		},
		{
			name: "the set adopts the orphaned pod", set: func(*appsv1.StatefulSet) {}, pod: shopPod(firstPod, "", firstClaim),
			writes: []string{"delete PersistentVolumeClaim mall/" + firstClaim + ": gone"},
		},
		{
			name: "an orphaned pod", pod: shopPod(firstPod, "", firstClaim), retain: true,
			writes: []string{"delete Pod mall/" + firstPod + ": gone"},
		},
		{
			name: "an orphaned pod, and claims go", pod: shopPod(firstPod, "", firstClaim),
			writes: []string{"delete Pod mall/" + firstPod + ": gone", "delete PersistentVolumeClaim mall/" + firstClaim + ": gone"},
		},
		{
			name: "the set may not know yet that it must not own claims", pod: shopPod(firstPod, "set", firstClaim), retain: true,
			waits: `StatefulSet "shop-mongodb" still owns claims that must be retained`,
			set:   func(set *appsv1.StatefulSet) { set.Status.ObservedGeneration = 0 },
		},
		{name: "a leftover pod", pod: shopPod(firstPod, "old", firstClaim), waits: `pod "shop-mongodb-0" still belongs to a deleted StatefulSet`},
		{
			name: "the set is being deleted", pod: shopPod(firstPod, "set", firstClaim), waits: `StatefulSet "shop-mongodb" still exists`,
			set: func(set *appsv1.StatefulSet) {
				set.DeletionTimestamp, set.Finalizers = new(metav1.Now()), []string{"example.org/hold"}
			},
		},
		{
			name: "the set must not own claims", pod: shopPod(firstPod, "set", firstClaim), retain: true,
			waits: `StatefulSet "shop-mongodb" still owns claims that must be retained`,
			set: func(set *appsv1.StatefulSet) {
				set.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
			},
			writes: []string{"patch StatefulSet mall/shop-mongodb: spec.persistentVolumeClaimRetentionPolicy.whenDeleted"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := shop()
			store.Spec.BookDB.Retain = new(true)
			objects := []client.Object{store, shopClaim(firstClaim), test.pod}
			if test.set != nil {
				set := shopSet(t, store)
				test.set(set)
				objects = append(objects, set)
			}
			store.Spec.BookDB.Retain = &test.retain
			c, r := reconcilerWith(t, defaultNames, objects...)
			err := r.cleanUp(t.Context(), store)
			if test.waits == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, finalizer.NotDone(deletionPollInterval, test.waits).Error())
			}
			require.Empty(t, cmp.Diff(test.writes, writesOf(c)))
		})
	}
}

func writesOf(c *ensuretest.Client) []string {
	var writes []string
	for _, request := range c.Requests() {
		if request.Verb != "get" && request.Verb != "list" {
			writes = append(writes, request.String())
		}
	}
	return writes
}

// TestFinish reports why a BookStore is not deleted yet.
func TestFinish(t *testing.T) {
	for _, test := range []struct {
		name            string
		deletion        finalizer.Result
		err             error
		reason, message string
	}{
		{
			name: "waiting", deletion: finalizer.Result{Done: true, After: time.Minute, Reason: "a pod is left"},
			reason: "Terminating", message: "a pod is left",
		},
		{
			name: "another finalizer", deletion: finalizer.Result{Done: true, After: time.Minute},
			reason: "Terminating", message: "cleanup is complete; somebody else's finalizer is left",
		},
		{name: "a failure", err: errors.New("down"), reason: "Unavailable", message: "down"},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := shop()
			c, r := reconcilerWith(t, defaultNames, store)
			require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(store), store))
			result, err := r.finish(t.Context(), store, test.deletion, test.err)
			require.ErrorIs(t, err, test.err)
			require.Equal(t, test.deletion.After, result.RequeueAfter)
			ready := meta.FindStatusCondition(store.Status.Conditions, v1alpha1.ReadyCondition)
			require.NotNil(t, ready)
			require.Equal(t, []string{"False", test.reason, test.message}, []string{string(ready.Status), ready.Reason, ready.Message})
		})
	}
}
