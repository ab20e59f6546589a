package readiness

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// unobserved returns InProgress and true if the object's controller has not observed the
// object yet, or only another generation. An observed generation of 0 is never enough, also
// for an object of a fake client, which sets no generation.
func unobserved(obj client.Object, observed int64) (Readiness, bool) {
	if observed == 0 {
		return inProgress("its controller has not looked at it yet"), true
	}
	return outdated(obj, observed)
}

// outdated returns InProgress and true if the observed generation is not the object's.
// A later generation is possible if spec and status were restored from different backups.
func outdated(obj client.Object, observed int64) (Readiness, bool) {
	generation := obj.GetGeneration()
	if generation == 0 || observed == generation {
		return Readiness{}, false
	}
	return inProgress("its controller has looked at generation %d, and not at %d yet", observed, generation), true
}

// observedOf returns the observed generation of a StatefulSet or a DaemonSet, and the generation of
// the object if that is lower. Their controllers may write the status of a deleted object to the one
// that was created in its place, and correct the observed generation only together with other
// fields: then the rest of the status is right, and a later generation stays. Seen on
// kube-controller-manager 1.36; those of Deployments and ReplicaSets correct it.
func observedOf(set client.Object, observed int64) int64 {
	if generation := set.GetGeneration(); generation > 0 {
		return min(observed, generation)
	}
	return observed
}

// A podCount is the number of pods in one state, and the wanted number.
type podCount struct {
	state  string
	have   int32
	wanted int32
}

// shortage returns InProgress and true for the first count that is below the wanted number.
func shortage(counts ...podCount) (Readiness, bool) {
	for _, c := range counts {
		if c.have < c.wanted {
			return inProgress("%d of %d pods are %s", c.have, c.wanted, c.state), true
		}
	}
	return Readiness{}, false
}

// surplus returns InProgress and true if there are more pods than wanted.
func surplus(have, wanted int32) (Readiness, bool) {
	if have > wanted {
		return inProgress("%s too many", plural(have-wanted, "pod")), true
	}
	return Readiness{}, false
}

func wantedReplicas(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

func deployment(d *appsv1.Deployment) Readiness {
	if readiness, ok := unobserved(d, d.Status.ObservedGeneration); ok {
		return readiness
	}
	var late, refusal appsv1.DeploymentCondition // refusal says why pods cannot be created
	for _, c := range d.Status.Conditions {
		switch {
		case c.Type == appsv1.DeploymentProgressing && c.Reason == "ProgressDeadlineExceeded":
			late = c
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			refusal = c
		}
	}
	if late.Reason != "" {
		return failed("the rollout does not end within its deadline").
			because(late.Reason, late.Message).because(refusal.Reason, refusal.Message)
	}
	wanted, status := wantedReplicas(d.Spec.Replicas), d.Status
	if readiness, ok := shortage(
		podCount{"created", status.Replicas, wanted},
		podCount{"updated", status.UpdatedReplicas, wanted},
	); ok {
		return readiness.because(refusal.Reason, refusal.Message)
	}
	if readiness, ok := surplus(status.Replicas, wanted); ok {
		return readiness
	}
	if readiness, ok := shortage(
		podCount{"available", status.AvailableReplicas, wanted},
		podCount{"ready", status.ReadyReplicas, wanted},
	); ok {
		return readiness
	}
	if d.Spec.Paused {
		return inProgress("it is paused")
	}
	return ready("%d of %d pods are available", wanted, wanted)
}

func replicaSet(r *appsv1.ReplicaSet) Readiness {
	if readiness, ok := unobserved(r, r.Status.ObservedGeneration); ok {
		return readiness
	}
	for _, c := range r.Status.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue {
			return inProgress("pods cannot be created or deleted").because(c.Reason, c.Message)
		}
	}
	wanted, status := wantedReplicas(r.Spec.Replicas), r.Status
	if readiness, ok := shortage(
		podCount{"created", status.FullyLabeledReplicas, wanted},
		podCount{"available", status.AvailableReplicas, wanted},
		podCount{"ready", status.ReadyReplicas, wanted},
	); ok {
		return readiness
	}
	if readiness, ok := surplus(status.Replicas, wanted); ok {
		return readiness
	}
	return ready("%d of %d pods are available", wanted, wanted)
}

func statefulSet(s *appsv1.StatefulSet) Readiness {
	if readiness, ok := unobserved(s, observedOf(s, s.Status.ObservedGeneration)); ok {
		return readiness
	}
	wanted, status := wantedReplicas(s.Spec.Replicas), s.Status
	if readiness, ok := shortage(
		podCount{"created", status.Replicas, wanted},
		podCount{"ready", status.ReadyReplicas, wanted},
		podCount{"available", status.AvailableReplicas, wanted},
	); ok {
		return readiness
	}
	if readiness, ok := surplus(status.Replicas, wanted); ok {
		return readiness
	}
	toUpdate := max(wanted-partition(s), 0)
	if readiness, ok := shortage(podCount{"updated", status.UpdatedReplicas, toUpdate}); ok {
		if s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
			readiness.Message += "; the others wait to be deleted, as the update strategy is OnDelete"
		}
		return readiness
	}
	return ready("%d of %d pods are available", wanted, wanted)
}

// partition returns the number of pods that need not be updated.
func partition(s *appsv1.StatefulSet) int32 {
	rolling := s.Spec.UpdateStrategy.RollingUpdate
	if rolling == nil || rolling.Partition == nil {
		return 0
	}
	return *rolling.Partition
}

func daemonSet(d *appsv1.DaemonSet) Readiness {
	if readiness, ok := unobserved(d, observedOf(d, d.Status.ObservedGeneration)); ok {
		return readiness
	}
	status := d.Status
	wanted := status.DesiredNumberScheduled
	if readiness, ok := shortage(
		podCount{"created", status.CurrentNumberScheduled, wanted},
		podCount{"updated", status.UpdatedNumberScheduled, wanted},
		podCount{"available", status.NumberAvailable, wanted},
		podCount{"ready", status.NumberReady, wanted},
	); ok {
		return readiness
	}
	return ready("%d of %d pods are available", wanted, wanted)
}

func plural(count int32, one string) string {
	if count == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", count, one)
}
