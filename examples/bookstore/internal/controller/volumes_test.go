package controller //nolint:testpackage // whose claims are whose is the package's own affair

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
	Selector: map[string]string{"app": "shop-mongodb"},
}

const (
	firstClaim  = "mongodb-pvc-shop-mongodb-0"
	secondClaim = "mongodb-pvc-shop-mongodb-1"
)

// podOn is a pod that mounts claims and has the labels of the database's, controlled by the
// set of that UID, unless it is empty.
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

// TestSort has one claim, and asks whether it is the database's own and which pod mounts it.
func TestSort(t *testing.T) {
	unlabelledClaim := claimCalled(firstClaim)
	unlabelledClaim.Labels = nil
	for _, test := range []struct {
		name    string
		claim   corev1.PersistentVolumeClaim
		pods    []corev1.Pod
		noSet   bool
		taken   bool
		own     bool
		mounted string
	}{
		{name: "mounted by none", claim: claimCalled(firstClaim), own: true},
		{name: "mounted by the set's pod", claim: claimCalled(firstClaim), pods: []corev1.Pod{podOn("p", "set", firstClaim)}, own: true, mounted: "p"},
		{name: "mounted by a pod that a set left", claim: claimCalled(firstClaim), noSet: true, pods: []corev1.Pod{podOn("shop-mongodb-0", "", firstClaim)}, own: true, mounted: "shop-mongodb-0"},
		{name: "mounted by a labelled stranger", claim: claimCalled(firstClaim), pods: []corev1.Pod{podOn("backup", "", firstClaim)}},
		{name: "another claim is mounted", claim: claimCalled(firstClaim), pods: []corev1.Pod{podOn("p", "set", secondClaim)}, own: true},
		{name: "without labels", claim: unlabelledClaim},
		{name: "without labels, but mounted", claim: unlabelledClaim, pods: []corev1.Pod{podOn("p", "set", firstClaim)}, mounted: "p"},
		{name: "mounted by a stranger", claim: claimCalled(firstClaim), pods: []corev1.Pod{unlabelled(podOn("p", "", firstClaim))}},
		{name: "mounted by another set's pod", claim: claimCalled(firstClaim), pods: []corev1.Pod{podOn("p", "other", firstClaim)}},
		{name: "mounted by a pod of an earlier set", claim: claimCalled(firstClaim), noSet: true, pods: []corev1.Pod{podOn("p", "set", firstClaim)}},
		{name: "mounted by a stranger among its claims", claim: claimCalled(firstClaim), pods: []corev1.Pod{podOn("p", "other", "x", firstClaim)}},
		{
			name: "mounted by its own pod and a stranger", claim: claimCalled(firstClaim), own: true, mounted: "p",
			pods: []corev1.Pod{unlabelled(podOn("backup", "", firstClaim)), podOn("p", "set", firstClaim)},
		},
		{name: "a stranger has succeeded", claim: claimCalled(firstClaim), own: true, pods: []corev1.Pod{ended(podOn("p", "other", firstClaim), corev1.PodSucceeded)}},
		{name: "a stranger has failed", claim: claimCalled(firstClaim), own: true, pods: []corev1.Pod{ended(podOn("p", "other", firstClaim), corev1.PodFailed)}},
		{name: "somebody else's database is called so", claim: claimCalled(firstClaim), noSet: true, taken: true},
		{
			name: "mounted by a pod that somebody else's set left", claim: claimCalled(firstClaim), noSet: true, taken: true,
			pods: []corev1.Pod{podOn("shop-mongodb-0", "", firstClaim)},
		},
		{name: "its own pod has failed", claim: claimCalled(firstClaim), own: true, pods: []corev1.Pod{ended(podOn("p", "set", firstClaim), corev1.PodFailed)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			db := &database{identity: shopDatabase, taken: test.taken}
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

func TestRoom(t *testing.T) {
	stranger := func(ordinal int32, pod *corev1.Pod) volume {
		claim := claimCalled("claim")
		return volume{ordinal: ordinal, claim: &claim, pod: pod}
	}
	for _, test := range []struct {
		name         string
		foreign      []volume
		wanted, room int32
	}{
		{name: "no stranger's claims", wanted: 3, room: 3},
		{name: "one in the way", foreign: []volume{stranger(1, nil)}, wanted: 3, room: 1},
		{name: "the first of two counts", foreign: []volume{stranger(1, nil), stranger(2, nil)}, wanted: 3, room: 1},
		{name: "one of a replica that is not asked for", foreign: []volume{stranger(3, nil)}, wanted: 3, room: 3},
		{name: "one that a pod of the database mounts already", foreign: []volume{stranger(0, &corev1.Pod{}), stranger(2, nil)}, wanted: 3, room: 2},
		{name: "none is asked for", foreign: []volume{stranger(0, nil)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			room, err := (&database{foreign: test.foreign}).room(test.wanted)
			require.Equal(t, test.room, room)
			if room == test.wanted {
				require.NoError(t, err)
				return
			}
			refused := &refusal{}
			require.ErrorAs(t, err, &refused)
			require.Equal(t, v1alpha1.ReasonForeignClaim, refused.reason)
		})
	}
}

// sized is a bound volume that asks for one size and has another.
func sized(asks, has string) volume {
	claim := claimCalled(firstClaim)
	claim.Spec.Resources = requestOf(resource.MustParse(asks))
	claim.Status.Phase = corev1.ClaimBound
	claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(has)}
	return volume{claim: &claim}
}

func TestMayTakeBack(t *testing.T) {
	for _, test := range []struct {
		name, asks, has, wanted, says string
	}{
		{name: "above what it has", asks: "4Gi", has: "2Gi", wanted: "3Gi"},
		{name: "above by a byte", asks: "4Gi", has: "2Gi", wanted: "2147483649"},
		{name: "what it has, while it grows", asks: "4Gi", has: "2Gi", wanted: "2Gi", says: "only what is above that can be taken back"},
		{name: "less than it has, while it grows", asks: "4Gi", has: "2Gi", wanted: "1Gi", says: "no volume can become smaller"},
		{name: "less than it has", asks: "2Gi", has: "2Gi", wanted: "1Gi", says: "no volume can become smaller"},
		{name: "the volume is larger than was asked for", asks: "2Gi", has: "5Gi", wanted: "1Gi", says: "no volume can become smaller"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := mayTakeBack(sized(test.asks, test.has), resource.MustParse(test.wanted))
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
