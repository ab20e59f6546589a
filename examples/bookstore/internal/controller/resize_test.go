package controller //nolint:testpackage // tests unexported functions

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/status/readiness"
)

// with returns the volume with these conditions of the claim.
func (v volume) with(conditions ...corev1.PersistentVolumeClaimConditionType) volume {
	for _, condition := range conditions {
		v.claim.Status.Conditions = append(v.claim.Status.Conditions,
			corev1.PersistentVolumeClaimCondition{Type: condition, Status: corev1.ConditionTrue})
	}
	return v
}

func (v volume) at(progress corev1.ClaimResourceStatus) volume {
	v.claim.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: progress}
	return v
}

func (v volume) deleted() volume {
	v.claim.DeletionTimestamp = new(metav1.Now())
	return v
}

func (v volume) unbound() volume {
	v.claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
	return v
}

// inClass returns a copy of the volume with that StorageClass; "" means none.
func (v volume) inClass(name string) volume {
	v.claim = v.claim.DeepCopy()
	if v.claim.Spec.StorageClassName = &name; name == "" {
		v.claim.Spec.StorageClassName = nil
	}
	return v
}

func (v volume) lacking(class string) volume {
	v = v.inClass(class)
	v.lacksClass = true
	return v
}

func (v volume) lost() volume {
	v.claim.Status.Phase = corev1.ClaimLost
	return v
}

func (v volume) mountedBy(pod string) volume {
	v.pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod}}
	return v
}

func (v volume) of(ordinal int32) volume {
	v.ordinal = ordinal
	return v
}

func TestJudgeVolumes(t *testing.T) {
	done, growing := sized("3Gi", "3Gi"), func() volume { return sized("3Gi", "2Gi") }
	const (
		pendingFileSystem = corev1.PersistentVolumeClaimFileSystemResizePending
		controllerError   = corev1.PersistentVolumeClaimControllerResizeError
		nodeError         = corev1.PersistentVolumeClaimNodeResizeError
	)
	for _, test := range []struct {
		name     string
		volumes  []volume
		replicas int32
		class    string // of the template
		err      error
		reason   string
		says     string
	}{
		{name: "no database", reason: v1alpha1.ReasonDone},
		{name: "the requested size", volumes: []volume{done}, replicas: 1, reason: v1alpha1.ReasonDone},
		{name: "larger than requested", volumes: []volume{sized("3Gi", "4Gi")}, replicas: 1, reason: v1alpha1.ReasonDone},
		{name: "no claim yet", volumes: []volume{done}, replicas: 3, reason: v1alpha1.ReasonProvisioning, says: "2 of 3 claims"},
		{name: "no volume yet", volumes: []volume{growing().unbound()}, replicas: 1, reason: v1alpha1.ReasonProvisioning, says: "has no volume yet"},
		{
			name: "no class", volumes: []volume{growing().unbound().inClass("")}, replicas: 1, reason: v1alpha1.ReasonProvisioning,
			says: "names no StorageClass, and the cluster has no default",
		},
		{
			name: "a class that does not exist", volumes: []volume{growing().unbound().lacking("fsat")}, replicas: 1, class: "fsat",
			reason: v1alpha1.ReasonClassMissing, says: `StorageClass "fsat" does not exist`,
		},
		{
			name: "another class", volumes: []volume{done.inClass("slow"), done.inClass("fast").of(1)}, replicas: 2, class: "fast",
			reason: v1alpha1.ReasonDone, says: `; claim "mongodb-pvc-shop-mongodb-0" keeps StorageClass "slow"`,
		},
		{name: "the default class", volumes: []volume{done.inClass("slow")}, replicas: 1, reason: v1alpha1.ReasonDone},
		{name: "growing", volumes: []volume{growing()}, replicas: 1, reason: v1alpha1.ReasonResizing, says: "has 2Gi and grows to 3Gi"},
		{
			name: "file system, with a pod", volumes: []volume{growing().with(pendingFileSystem).mountedBy("shop-mongodb-0")}, replicas: 1,
			reason: v1alpha1.ReasonFileSystemResizePending, says: `restart pod "shop-mongodb-0" to finish`,
		},
		{
			name: "file system, without a pod", volumes: []volume{growing().with(pendingFileSystem)}, replicas: 1,
			reason: v1alpha1.ReasonFileSystemResizePending, says: "when its pod starts",
		},
		{
			name: "an old error while the file system waits", volumes: []volume{growing().with(controllerError, pendingFileSystem)}, replicas: 1,
			reason: v1alpha1.ReasonFileSystemResizePending,
		},
		{name: "an old error after success", volumes: []volume{sized("3Gi", "3Gi").with(controllerError)}, replicas: 1, reason: v1alpha1.ReasonDone},
		{name: "the resizer fails", volumes: []volume{growing().with(controllerError)}, replicas: 1, reason: v1alpha1.ReasonResizeFailed, says: "tried again"},
		{name: "the kubelet fails", volumes: []volume{growing().with(nodeError)}, replicas: 1, reason: v1alpha1.ReasonResizeFailed, says: "tried again"},
		{
			name: "the resizer cannot", volumes: []volume{growing().at(corev1.PersistentVolumeClaimControllerResizeInfeasible)}, replicas: 1,
			reason: v1alpha1.ReasonResizeFailed, says: "request less, but more than 2Gi",
		},
		{
			name: "the kubelet cannot", volumes: []volume{growing().at(corev1.PersistentVolumeClaimNodeResizeInfeasible)}, replicas: 1,
			reason: v1alpha1.ReasonResizeFailed, says: "request less, but more than 2Gi",
		},
		{
			name: "deleted, with a pod", volumes: []volume{sized("3Gi", "3Gi").deleted().mountedBy("shop-mongodb-0")}, replicas: 1,
			reason: v1alpha1.ReasonClaimTerminating, says: `the data is lost when pod "shop-mongodb-0" is deleted`,
		},
		{
			name: "deleted, without a pod", volumes: []volume{sized("3Gi", "3Gi").deleted()}, replicas: 1,
			reason: v1alpha1.ReasonClaimTerminating, says: "is being deleted",
		},
		{
			name: "lost", volumes: []volume{sized("3Gi", "2Gi").lost()}, replicas: 1,
			reason: v1alpha1.ReasonProvisioning, says: "has lost its volume",
		},
		{
			name: "two volumes with a reason", volumes: []volume{growing(), done.of(1), growing().of(2)}, replicas: 3,
			reason: v1alpha1.ReasonResizing, says: "has 2Gi and grows to 3Gi; claim ",
		},
		{
			name: "the most urgent reason", replicas: 3, reason: v1alpha1.ReasonFileSystemResizePending,
			volumes: []volume{growing().unbound(), growing().of(1), growing().with(pendingFileSystem).of(2)},
		},
		{name: "a former replica", volumes: []volume{done, growing().of(1)}, replicas: 1, reason: v1alpha1.ReasonDone},
		{name: "a former replica whose pod still runs", volumes: []volume{done, growing().of(1).mountedBy("p")}, replicas: 1, reason: v1alpha1.ReasonResizing},
		{
			name: "a former replica whose pod still runs does not replace a missing claim", volumes: []volume{done.of(1).mountedBy("p")},
			replicas: 1, reason: v1alpha1.ReasonProvisioning, says: "1 of 1 claims do not exist yet",
		},
		{name: "a former replica does not replace a missing claim", volumes: []volume{done.of(5)}, replicas: 1, reason: v1alpha1.ReasonProvisioning},
		{
			name: "a refusal", volumes: []volume{done}, replicas: 1, err: refuse(v1alpha1.ReasonShrinkingRefused, "no"),
			reason: v1alpha1.ReasonShrinkingRefused, says: "no",
		},
		{name: "a request that failed", volumes: []volume{done}, replicas: 1, err: errors.New("down"), reason: "Unavailable", says: "down"},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{
				Replicas: &test.replicas, VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{}},
			}}
			if test.class != "" {
				set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = &test.class
			}
			is := judgeVolumes(&database{volumes: test.volumes}, set, test.err)
			require.Contains(t, is.Message, test.says)
			require.Equal(t, test.reason == v1alpha1.ReasonDone, is.State == readiness.Ready)
			require.Equal(t, test.reason, is.Reason)
		})
	}
}
