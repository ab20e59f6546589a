package storage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestPodsThatMountedBefore(t *testing.T) {
	at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	claim := &corev1.PersistentVolumeClaim{}
	claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{
		Type: corev1.PersistentVolumeClaimFileSystemResizePending, LastTransitionTime: metav1.NewTime(at),
	}}
	pod := func(created time.Time, uid types.UID) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created), UID: uid}}
	}
	before, since := pod(at.Add(-time.Second), "unseen"), pod(at.Add(time.Second), "seen")
	for _, test := range []struct {
		name string
		pods []corev1.Pod
		want bool
	}{
		{"an old pod", []corev1.Pod{before}, true},
		{"a new pod", []corev1.Pod{since}, false},
		{"one of two is old", []corev1.Pod{since, before}, true},
		{"of the same second, seen then", []corev1.Pod{pod(at, "seen")}, true},
		{"of the same second, not seen then", []corev1.Pod{pod(at, "unseen")}, false},
		{"no pods", nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			seen := usersOf([]corev1.Pod{pod(at, "seen")})
			require.Equal(t, test.want, seen.include(claim, test.pods))
		})
	}
}
