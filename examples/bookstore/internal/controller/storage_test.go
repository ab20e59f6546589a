package controller //nolint:testpackage // tests unexported functions

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
)

// TestEnsureStorage changes the size, and shows which settings the StatefulSet may have now. The current
// template has 2Gi of the class fast, and the policy to retain claims, unless the test changes that.
func TestEnsureStorage(t *testing.T) {
	const retain, remove = appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	for _, test := range []struct {
		name         string
		size, class  string
		policy       appsv1.PersistentVolumeClaimRetentionPolicyType
		isForeign    bool
		reason       string
		writtenSize  string
		writtenClass string
		whenDeleted  appsv1.PersistentVolumeClaimRetentionPolicyType
		replicas     int32
		claims       []string // what they request
	}{
		{
			name: "unchanged", size: "2Gi", class: "fast", policy: remove,
			writtenSize: "2Gi", writtenClass: "fast", whenDeleted: remove, replicas: 2, claims: []string{"2Gi", "2Gi"},
		},
		{
			name: "larger", size: "3Gi", class: "fast", policy: retain,
			writtenSize: "3Gi", writtenClass: "fast", whenDeleted: remove, replicas: 2, claims: []string{"3Gi", "3Gi"},
		},
		{
			name: "larger, and the set owns claims", size: "3Gi", class: "fast", policy: remove, reason: v1alpha1.ReasonResizing,
			writtenSize: "2Gi", writtenClass: "fast", whenDeleted: retain, replicas: 2, claims: []string{"3Gi", "3Gi"},
		},
		{
			name: "another class, and the set owns claims", size: "2Gi", class: "slow", policy: remove, reason: v1alpha1.ReasonResizing,
			writtenSize: "2Gi", writtenClass: "fast", whenDeleted: retain, replicas: 2, claims: []string{"2Gi", "2Gi"},
		},
		{
			name: "another class", size: "2Gi", class: "slow", policy: retain,
			writtenSize: "2Gi", writtenClass: "slow", whenDeleted: remove, replicas: 2, claims: []string{"2Gi", "2Gi"},
		},
		{
			name: "smaller", size: "1Gi", class: "fast", policy: retain, reason: v1alpha1.ReasonShrinkingRefused,
			writtenSize: "2Gi", writtenClass: "fast", whenDeleted: remove, replicas: 2, claims: []string{"2Gi", "2Gi"},
		},
		{
			name: "a foreign claim", size: "3Gi", class: "fast", policy: retain, isForeign: true, reason: v1alpha1.ReasonForeignClaim,
			writtenSize: "3Gi", writtenClass: "fast", whenDeleted: remove, replicas: 1, claims: []string{"3Gi", "2Gi"},
		},
		{
			name: "a foreign claim, and the set owns claims", size: "3Gi", class: "fast", policy: remove, isForeign: true,
			reason: v1alpha1.ReasonForeignClaim, writtenSize: "2Gi", writtenClass: "fast", whenDeleted: retain, replicas: 1,
			claims: []string{"3Gi", "2Gi"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := shop()
			store.Spec.BookDB.Retain = new(test.policy == retain)
			set := shopSet(t, store)
			objects := []client.Object{
				store, set, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, AllowVolumeExpansion: new(true)},
				boundClaim(firstClaim), boundClaim(secondClaim),
			}
			if test.isForeign {
				objects[4].SetLabels(nil)
			}
			c, r := reconcilerWith(t, defaultNames, objects...)
			store.Spec.BookDB.Retain = new(false)
			store.Spec.BookDB.DBSize, store.Spec.BookDB.StorageClassName = resource.MustParse(test.size), &test.class
			desired, err := r.desired(store)
			require.NoError(t, err)
			db, err := r.observe(t.Context(), store, desired.database, r.client)
			require.NoError(t, err)

			err = r.ensureStorage(t.Context(), db, desired.database)
			if test.reason == "" {
				require.NoError(t, err)
			} else {
				require.Equal(t, test.reason, failed(err).Reason)
			}
			spec := desired.database.Spec
			template := spec.VolumeClaimTemplates[0].Spec
			require.Equal(t, test.writtenSize, template.Resources.Requests.Storage().String())
			require.Equal(t, test.writtenClass, *template.StorageClassName)
			require.Equal(t, test.whenDeleted, spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted)
			require.Equal(t, test.replicas, *spec.Replicas)
			var claims []string
			for _, claim := range []string{firstClaim, secondClaim} {
				live := &corev1.PersistentVolumeClaim{}
				require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "mall", Name: claim}, live))
				claims = append(claims, live.Spec.Resources.Requests.Storage().String())
			}
			require.Empty(t, cmp.Diff(test.claims, claims))
			for _, volume := range db.volumes {
				require.Equal(t, claims[volume.ordinal], volume.requested().String(), "the volume is the live claim")
			}
		})
	}
}

func boundClaim(name string) *corev1.PersistentVolumeClaim {
	claim := sized("2Gi", "2Gi").claim
	claim.Namespace, claim.Name, claim.UID = "mall", name, "claim"
	claim.Spec.StorageClassName = new("fast")
	return claim
}

// TestClassCannotExpand changes no claim if one of them cannot grow.
func TestClassCannotExpand(t *testing.T) {
	for name, test := range map[string]struct{ class, says string }{
		"no class":        {"", "has no StorageClass that would allow it to grow"},
		"no expansion":    {"fixed", `StorageClass "fixed" does not allow claim "mongodb-pvc-shop-mongodb-1" to grow`},
		"a missing class": {"gone", `StorageClass "gone" does not allow claim "mongodb-pvc-shop-mongodb-1" to grow`},
	} {
		t.Run(name, func(t *testing.T) {
			store, second := shop(), boundClaim(secondClaim)
			second.Spec.StorageClassName = &test.class
			c, r := reconcilerWith(t, defaultNames, store, boundClaim(firstClaim), second,
				&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, AllowVolumeExpansion: new(true)},
				&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fixed"}})
			db, err := r.observe(t.Context(), store, nil, r.client)
			require.NoError(t, err)
			err = r.resizeClaims(t.Context(), db, resource.MustParse("2Gi"), resource.MustParse("3Gi"))
			require.Equal(t, v1alpha1.ReasonClassCannotExpand, failed(err).Reason)
			require.ErrorContains(t, err, test.says)
			require.Empty(t, writesOf(c))
		})
	}
}

// TestRestart has two pods, of which the first waits for its file system since a minute.
func TestRestart(t *testing.T) {
	since := metav1.NewTime(time.Now().Add(-time.Minute))
	for _, test := range []struct {
		name   string
		change func(*v1alpha1.BookStore, *database)
		after  time.Duration
		waits  bool
		writes []string
	}{
		{name: "restarted", after: time.Second, writes: []string{"delete Pod mall/shop-mongodb-0: gone"}},
		{name: "too early", after: time.Hour, waits: true},
		{name: "not allowed", change: func(store *v1alpha1.BookStore, _ *database) { store.Spec.BookDB.RestartForResize = false }},
		{name: "nothing waits", change: func(_ *v1alpha1.BookStore, db *database) { db.volumes[0].claim.Status.Conditions = nil }},
		{name: "no pod", change: func(_ *v1alpha1.BookStore, db *database) { db.volumes[0].pod = nil }},
		{name: "the claim is being deleted", change: func(_ *v1alpha1.BookStore, db *database) { db.volumes[0].deleted() }},
		{name: "restarted before", change: func(_ *v1alpha1.BookStore, db *database) { db.pods[0].CreationTimestamp = metav1.Now() }},
		{name: "another pod is not ready", change: func(_ *v1alpha1.BookStore, db *database) { db.pods[1].Status.Conditions = nil }},
		{name: "another pod is missing", change: func(_ *v1alpha1.BookStore, db *database) { db.pods = db.pods[:1] }},
		{name: "another pod is being deleted", change: func(_ *v1alpha1.BookStore, db *database) { db.pods[1].DeletionTimestamp = &since }},
		{
			name: "the pod itself is not ready", change: func(_ *v1alpha1.BookStore, db *database) { db.pods[0].Status.Conditions = nil },
			writes: []string{"delete Pod mall/shop-mongodb-0: gone"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := shop()
			store.Spec.BookDB.RestartForResize = true
			first, second := shopPod("shop-mongodb-0", "set", firstClaim), shopPod("shop-mongodb-1", "set", secondClaim)
			for _, pod := range []*corev1.Pod{first, second} {
				pod.Status = corev1.PodStatus{
					Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
				}
			}
			c, r := reconcilerWith(t, defaultNames, first, second)
			r.restartAfter = test.after
			db := &database{pods: []corev1.Pod{*first, *second}}
			db.volumes = []volume{{claim: boundClaim(firstClaim), pod: &db.pods[0]}, {ordinal: 1, claim: boundClaim(secondClaim), pod: &db.pods[1]}}
			db.volumes[0].claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{
				Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, LastTransitionTime: since,
			}}
			if test.change != nil {
				test.change(store, db)
			}
			set := ensure.Result[*appsv1.StatefulSet]{Live: &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: new(int32(2))}}}
			wait, err := r.restart(t.Context(), store, db, set)
			require.NoError(t, err)
			require.Equal(t, test.waits, wait > 0)
			require.Empty(t, cmp.Diff(test.writes, writesOf(c)))
		})
	}
}
