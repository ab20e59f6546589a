package ensure

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trueup-go/trueup/status/readiness"
)

// Readiness returns the readiness of the child, for a condition. r and err are the results of Object,
// or of Set and ResultOf:
//
//	deployment, err := ensure.Object(ctx, e, deploymentFor(site), ensure.ControlledBy(site))
//	set.Child(conditions, "Deployed", deployment.Readiness(err))
//
// The readiness is
//
//   - InProgress, with the Reason and the text of err, if the child was not ensured: a later call may
//     succeed. For Set, err may be about an earlier child.
//   - InProgress if r is Stale, because the status in Live describes an earlier state;
//   - otherwise the result of readiness.WithPods for Live and pods. Without pods, that is the result
//     of readiness.Of.
func (r Result[T]) Readiness(err error, pods ...corev1.Pod) readiness.Readiness {
	switch {
	case r.Operation == "" && err != nil:
		return readiness.Readiness{State: readiness.InProgress, Reason: Reason(err), Message: err.Error()}
	case r.Stale:
		return readiness.Readiness{
			State: readiness.InProgress, Reason: string(readiness.InProgress), Message: "the cache does not show the last write yet",
		}
	}
	return readiness.WithPods(r.Live, pods)
}
