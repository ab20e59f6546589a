package readiness

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

func pod(p *corev1.Pod) Readiness {
	if observed := p.Status.ObservedGeneration; observed != 0 {
		if readiness, ok := outdated(p, observed); ok {
			return readiness
		}
	}
	switch phase := p.Status.Phase; {
	case phase == corev1.PodSucceeded:
		return ready("it has completed")
	case phase == corev1.PodFailed:
		return failed("it has failed").because(p.Status.Reason, p.Status.Message)
	case phase == corev1.PodRunning && isPodReady(p):
		return ready("it is ready")
	}
	return unreadyPod(p)
}

func isPodReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// unreadyPod returns the readiness of a pod that is not ready, with the most telling reason:
// a crashing container, else the first waiting container, else the pod's phase. A crash makes
// only a running pod Failed: the init containers of a pending pod may wait for an object that
// does not exist yet.
func unreadyPod(p *corev1.Pod) Readiness {
	if readiness, ok := waits(p, isCrash); ok {
		if p.Status.Phase == corev1.PodRunning {
			readiness.State = Failed
		}
		return readiness
	}
	if readiness, ok := waits(p, isNotEmpty); ok {
		return readiness
	}
	if readiness, ok := unscheduled(p); ok {
		return readiness
	}
	if p.Status.Phase == corev1.PodRunning {
		return inProgress("it runs and is not ready")
	}
	return inProgress("it does not run yet")
}

// waits returns the readiness of a pod with a container that waits for a reason with the property
// has, and false if there is no such container. The first such container decides.
func waits(p *corev1.Pod, has func(reason string) bool) (Readiness, bool) {
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if waiting := c.State.Waiting; waiting != nil && has(waiting.Reason) {
			return inProgress("container %s waits", c.Name).because(waiting.Reason, waiting.Message), true
		}
	}
	return Readiness{}, false
}

func isCrash(reason string) bool { return reason == "CrashLoopBackOff" }

func isNotEmpty(reason string) bool { return reason != "" }

// unscheduled returns the readiness of a pod that the scheduler has no node for, and false for
// another pod.
func unscheduled(p *corev1.Pod) (Readiness, bool) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return inProgress("it is not scheduled").because(c.Reason, c.Message), true
		}
	}
	return Readiness{}, false
}

func job(j *batchv1.Job) Readiness {
	suspended := false
	for _, c := range j.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			return ready("it is complete")
		case batchv1.JobFailed:
			return failed("it has failed").because(c.Reason, c.Message)
		case batchv1.JobSuspended:
			suspended = true
		default: // SuccessCriteriaMet or FailureTarget: Complete or Failed will follow
		}
	}
	switch {
	case suspended:
		return inProgress("it is suspended")
	case j.Status.StartTime == nil:
		return inProgress("it has not started yet")
	}
	return inProgress("it is under way: %s active, %d succeeded, %d failed",
		plural(j.Status.Active, "pod"), j.Status.Succeeded, j.Status.Failed)
}
