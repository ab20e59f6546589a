package storage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPodsThatMountedBefore(t *testing.T) {
	at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "100"}}
	claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{
		Type: corev1.PersistentVolumeClaimFileSystemResizePending, LastTransitionTime: metav1.NewTime(at),
	}}
	pod := func(created time.Time, version string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created), ResourceVersion: version}}
	}
	before, since := pod(at.Add(-time.Second), "200"), pod(at.Add(time.Second), "50")
	for _, test := range []struct {
		name string
		pods []corev1.Pod
		want bool
	}{
		{"an old pod, whatever was written to it later", []corev1.Pod{before}, true},
		{"a new pod", []corev1.Pod{since}, false},
		{"one of two is old", []corev1.Pod{since, before}, true},
		{"of the same second, last written before", []corev1.Pod{pod(at, "99")}, true},
		{"of the same second, written since", []corev1.Pod{pod(at, "101")}, false},
		{"no pods", nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, inUseSince(claim, test.pods))
		})
	}
}
