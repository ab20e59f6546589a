// Package readiness computes whether an object is ready, and why not.
//
// Of uses only the object's own metadata, spec and status, and sends no request:
//
//	child := readiness.Of(deployment)
//	if child.State != readiness.Ready {
//		log.Info("waiting for the Deployment", "reason", child.Message)
//	}
//
// The status of a workload does not say that an image is missing, that a container crashes, or that
// no node has room for a pod. Pods lists the pods of a workload, and WithPods takes the reason from
// them:
//
//	pods, err := readiness.Pods(ctx, client, deployment)
//	if err != nil {
//		return err
//	}
//	child := readiness.WithPods(deployment, pods) // such as ImagePullBackOff
//
// If the API server refuses pods, a Deployment has a condition with the message. For a StatefulSet,
// Refusal finds the message in events.
//
// The method Child of [github.com/trueup-go/trueup/status.Setter] writes a Readiness into
// a condition.
package readiness
