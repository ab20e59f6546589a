package status

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// unobserved tells of a status that is of an earlier generation, or was never written.
// The fake client gives no generations; there, observed has to be at least 1, too.
func unobserved(obj client.Object, observed int64) (Readiness, bool) {
	if observed == 0 {
		return inProgress("its controller has not looked at it yet"), true
	}
	return outdated(obj, observed)
}

// outdated tells of a status that is of another generation. It may be a later one, if both
// were restored from copies of different age.
func outdated(obj client.Object, observed int64) (Readiness, bool) {
	generation := obj.GetGeneration()
	if generation == 0 || observed == generation {
		return Readiness{}, false
	}
	return inProgress("its controller has looked at generation %d, and not at %d yet", observed, generation), true
}

// tally is how many pods there are of how many wanted.
type tally struct {
	what  string
	have  int32
	total int32
}

// shortage is the first of the tallies that falls short.
func shortage(tallies ...tally) (Readiness, bool) {
	for _, t := range tallies {
		if t.have < t.total {
			return inProgress("%d of %d pods are %s", t.have, t.total, t.what), true
		}
	}
	return Readiness{}, false
}

// leftover is told of when there are more pods than wanted.
func leftover(have, wanted int32) (Readiness, bool) {
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
	if answer, is := unobserved(d, d.Status.ObservedGeneration); is {
		return answer
	}
	why := ""
	for _, c := range d.Status.Conditions {
		switch {
		case c.Type == appsv1.DeploymentProgressing && c.Reason == "ProgressDeadlineExceeded":
			return failed("%s", because("the rollout does not end within its deadline", c.Reason, c.Message))
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			why = because("", c.Reason, c.Message)
		}
	}
	wanted, status := wantedReplicas(d.Spec.Replicas), d.Status
	if answer, is := shortage(
		tally{"created", status.Replicas, wanted},
		tally{"updated", status.UpdatedReplicas, wanted},
	); is {
		answer.Message += why
		return answer
	}
	if answer, is := leftover(status.Replicas, wanted); is {
		return answer
	}
	if answer, is := shortage(
		tally{"available", status.AvailableReplicas, wanted},
		tally{"ready", status.ReadyReplicas, wanted},
	); is {
		return answer
	}
	if d.Spec.Paused {
		return inProgress("it is paused")
	}
	return ready("%d of %d pods are available", wanted, wanted)
}

func replicaSet(r *appsv1.ReplicaSet) Readiness {
	if answer, is := unobserved(r, r.Status.ObservedGeneration); is {
		return answer
	}
	for _, c := range r.Status.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue {
			return inProgress("%s", because("pods cannot be created or deleted", c.Reason, c.Message))
		}
	}
	wanted, status := wantedReplicas(r.Spec.Replicas), r.Status
	if answer, is := shortage(
		tally{"created", status.FullyLabeledReplicas, wanted},
		tally{"available", status.AvailableReplicas, wanted},
		tally{"ready", status.ReadyReplicas, wanted},
	); is {
		return answer
	}
	if answer, is := leftover(status.Replicas, wanted); is {
		return answer
	}
	return ready("%d of %d pods are available", wanted, wanted)
}

func statefulSet(s *appsv1.StatefulSet) Readiness {
	if answer, is := unobserved(s, s.Status.ObservedGeneration); is {
		return answer
	}
	wanted, status := wantedReplicas(s.Spec.Replicas), s.Status
	if answer, is := shortage(
		tally{"created", status.Replicas, wanted},
		tally{"ready", status.ReadyReplicas, wanted},
		tally{"available", status.AvailableReplicas, wanted},
	); is {
		return answer
	}
	if answer, is := leftover(status.Replicas, wanted); is {
		return answer
	}
	toUpdate := max(wanted-partition(s), 0)
	if answer, is := shortage(tally{"updated", status.UpdatedReplicas, toUpdate}); is {
		if s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
			answer.Message += "; the others wait to be deleted, as the update strategy is OnDelete"
		}
		return answer
	}
	return ready("%d of %d pods are available", wanted, wanted)
}

// partition is how many pods need not be updated.
func partition(s *appsv1.StatefulSet) int32 {
	rolling := s.Spec.UpdateStrategy.RollingUpdate
	if rolling == nil || rolling.Partition == nil {
		return 0
	}
	return *rolling.Partition
}

func daemonSet(d *appsv1.DaemonSet) Readiness {
	if answer, is := unobserved(d, d.Status.ObservedGeneration); is {
		return answer
	}
	status := d.Status
	wanted := status.DesiredNumberScheduled
	if answer, is := shortage(
		tally{"created", status.CurrentNumberScheduled, wanted},
		tally{"updated", status.UpdatedNumberScheduled, wanted},
		tally{"available", status.NumberAvailable, wanted},
		tally{"ready", status.NumberReady, wanted},
	); is {
		return answer
	}
	return ready("%d of %d pods are available", wanted, wanted)
}

// because adds a reason and a message, as far as they are there, to a text.
func because(text, reason, message string) string {
	for _, part := range []string{reason, message} {
		if part != "" {
			text += ": " + part
		}
	}
	return text
}

func plural(count int32, one string) string {
	if count == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", count, one)
}
