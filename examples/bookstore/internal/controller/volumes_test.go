package controller //nolint:testpackage // tests unexported functions

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
)

var shopDatabase = v1alpha1.Database{
	StatefulSet: "shop-mongodb", Service: "shop-mongodb", ClaimTemplate: "mongodb-pvc",
	Selector: map[string]string{
		"app.kubernetes.io/name": "bookstore", "app.kubernetes.io/instance": "shop", "app.kubernetes.io/component": "database",
	},
}

const (
	firstClaim  = "mongodb-pvc-shop-mongodb-0"
	secondClaim = "mongodb-pvc-shop-mongodb-1"
)

// podOn returns a pod with the labels of the database that mounts claims. If set is not empty, it is the
// UID of the pod's controller.
func podOn(name, set string, claims ...string) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: shopDatabase.Selector}}
	if set != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(set), Controller: new(true)}}
	}
	for _, claim := range claims {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
	}
	return pod
}

func unlabelled(pod corev1.Pod) corev1.Pod {
	pod.Labels = nil
	return pod
}

func ended(pod corev1.Pod, phase corev1.PodPhase) corev1.Pod {
	pod.Status.Phase = phase
	return pod
}

func claimCalled(name string) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: shopDatabase.Selector}}
}

// TestClassify checks for one claim whether it belongs to the database, and which pod mounts it.
func TestClassify(t *testing.T) {
	unlabelledClaim := claimCalled(firstClaim)
	unlabelledClaim.Labels = nil
	for _, test := range []struct {
		name      string
		claim     corev1.PersistentVolumeClaim
		pods      []corev1.Pod
		noSet     bool
		nameTaken bool
		own       bool
		mounted   string
	}{
		{name: "not mounted", claim: claimCalled(firstClaim), own: true},
		{name: "mounted by the set's pod", claim: claimCalled(firstClaim), pods: []corev1.Pod{podOn("p", "set", firstClaim)}, own: true, mounted: "p"},
		{
			name: "mounted by an orphaned pod of the set", claim: claimCalled(firstClaim), noSet: true,
			pods: []corev1.Pod{podOn("shop-mongodb-0", "", firstClaim)}, own: true, mounted: "shop-mongodb-0",
		},
		{name: "mounted by another pod with the labels", claim: claimCalled(firstClaim), pods: []corev1.Pod{podOn("backup", "", firstClaim)}},
		{name: "another claim is mounted", claim: claimCalled(firstClaim), pods: []corev1.Pod{podOn("p", "set", secondClaim)}, own: true},
		{name: "without labels", claim: unlabelledClaim},
		{name: "without labels, but mounted", claim: unlabelledClaim, pods: []corev1.Pod{podOn("p", "set", firstClaim)}, mounted: "p"},
		{name: "mounted by another pod", claim: claimCalled(firstClaim), pods: []corev1.Pod{unlabelled(podOn("p", "", firstClaim))}},
		{name: "mounted by another set's pod", claim: claimCalled(firstClaim), pods: []corev1.Pod{podOn("p", "other", firstClaim)}},
		{name: "mounted by a pod of an earlier set", claim: claimCalled(firstClaim), noSet: true, pods: []corev1.Pod{podOn("p", "set", firstClaim)}},
		{
			name: "mounted by a leftover pod", claim: claimCalled(firstClaim), noSet: true, pods: []corev1.Pod{*shopPod("p", "old", firstClaim)},
			mounted: "p",
		},
		{
			name: "mounted by a leftover pod of another database", claim: claimCalled(firstClaim), noSet: true, nameTaken: true,
			pods: []corev1.Pod{*shopPod("p", "old", firstClaim)},
		},
		{name: "mounted by another pod with two claims", claim: claimCalled(firstClaim), pods: []corev1.Pod{podOn("p", "other", "x", firstClaim)}},
		{
			name: "mounted by its own pod and by another pod", claim: claimCalled(firstClaim), own: true, mounted: "p",
			pods: []corev1.Pod{unlabelled(podOn("backup", "", firstClaim)), podOn("p", "set", firstClaim)},
		},
		{name: "another pod has succeeded", claim: claimCalled(firstClaim), own: true, pods: []corev1.Pod{ended(podOn("p", "other", firstClaim), corev1.PodSucceeded)}},
		{name: "another pod has failed", claim: claimCalled(firstClaim), own: true, pods: []corev1.Pod{ended(podOn("p", "other", firstClaim), corev1.PodFailed)}},
		{name: "another database has the name", claim: claimCalled(firstClaim), noSet: true, nameTaken: true},
		{
			name: "mounted by an orphaned pod of another database", claim: claimCalled(firstClaim), noSet: true, nameTaken: true,
			pods: []corev1.Pod{podOn("shop-mongodb-0", "", firstClaim)},
		},
		{name: "its own pod has failed", claim: claimCalled(firstClaim), own: true, pods: []corev1.Pod{ended(podOn("p", "set", firstClaim), corev1.PodFailed)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			db := &database{identity: shopDatabase, nameTaken: test.nameTaken}
			if !test.noSet {
				db.set = &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{UID: "set"}}
			}
			db.classify(test.pods, []corev1.PersistentVolumeClaim{test.claim})
			found, other := db.foreign, db.volumes
			if test.own {
				found, other = other, found
			}
			require.Len(t, found, 1)
			require.Empty(t, other)
			mounted := ""
			if found[0].pod != nil {
				mounted = found[0].pod.Name
			}
			require.Equal(t, test.mounted, mounted)
		})
	}
}

func TestSortByOrdinal(t *testing.T) {
	db := &database{identity: shopDatabase}
	var claims []corev1.PersistentVolumeClaim
	for _, ordinal := range []string{"10", "2", "0"} {
		claims = append(claims, claimCalled("mongodb-pvc-shop-mongodb-"+ordinal))
	}
	db.classify(nil, claims)
	var ordinals []int32
	for _, volume := range db.volumes {
		ordinals = append(ordinals, volume.ordinal)
	}
	require.Empty(t, cmp.Diff([]int32{0, 2, 10}, ordinals))
}

func TestLimitReplicas(t *testing.T) {
	foreignVolume := func(ordinal int32, pod *corev1.Pod) volume {
		claim := claimCalled("claim")
		return volume{ordinal: ordinal, claim: &claim, pod: pod}
	}
	for _, test := range []struct {
		name              string
		foreign           []volume
		desired, replicas int32
	}{
		{name: "no foreign claims", desired: 3, replicas: 3},
		{name: "a foreign claim", foreign: []volume{foreignVolume(1, nil)}, desired: 3, replicas: 1},
		{name: "two foreign claims", foreign: []volume{foreignVolume(1, nil), foreignVolume(2, nil)}, desired: 3, replicas: 1},
		{name: "a foreign claim beyond the replicas", foreign: []volume{foreignVolume(3, nil)}, desired: 3, replicas: 3},
		{name: "a foreign claim that a pod of the database mounts", foreign: []volume{foreignVolume(0, &corev1.Pod{}), foreignVolume(2, nil)}, desired: 3, replicas: 2},
		{name: "no replicas", foreign: []volume{foreignVolume(0, nil)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: &test.desired}}
			err := (&database{foreign: test.foreign}).limitReplicas(set)
			require.Equal(t, test.replicas, *set.Spec.Replicas)
			if test.replicas == test.desired {
				require.NoError(t, err)
				return
			}
			refused := &refusal{}
			require.ErrorAs(t, err, &refused)
			require.Equal(t, v1alpha1.ReasonForeignClaim, refused.reason)
		})
	}
}

// sized returns a bound volume with this request and this capacity.
func sized(asks, has string) volume {
	claim := claimCalled(firstClaim)
	claim.Spec.Resources = requestOf(resource.MustParse(asks))
	claim.Status.Phase = corev1.ClaimBound
	claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(has)}
	return volume{claim: &claim}
}

func TestCheckReduction(t *testing.T) {
	for _, test := range []struct {
		name, asks, has, desired, says string
	}{
		{name: "above the capacity", asks: "4Gi", has: "2Gi", desired: "3Gi"},
		{name: "a byte above the capacity", asks: "4Gi", has: "2Gi", desired: "2147483649"},
		{name: "the capacity, while it grows", asks: "4Gi", has: "2Gi", desired: "2Gi", says: "the request can only be reduced to more than that"},
		{name: "below the capacity, while it grows", asks: "4Gi", has: "2Gi", desired: "1Gi", says: "no volume can become smaller"},
		{name: "below the capacity", asks: "2Gi", has: "2Gi", desired: "1Gi", says: "no volume can become smaller"},
		{name: "a volume larger than requested", asks: "2Gi", has: "5Gi", desired: "1Gi", says: "no volume can become smaller"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := checkReduction(sized(test.asks, test.has), resource.MustParse(test.desired))
			if test.says == "" {
				require.NoError(t, err)
				return
			}
			refused := &refusal{}
			require.ErrorAs(t, err, &refused)
			require.Equal(t, v1alpha1.ReasonShrinkingRefused, refused.reason)
			require.ErrorContains(t, err, test.says)
		})
	}
}
