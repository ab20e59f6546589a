// Package readiness computes whether an object is ready, and why not.
//
// Of uses only the object's own metadata, spec and status, and sends no request:
//
//	child := readiness.Of(deployment)
//	if child.State != readiness.Ready {
//		log.Info("waiting for the Deployment", "reason", child.Message)
//	}
//
// The status of a workload does not say that an image is missing, that a container crashes, that no node
// has room for a pod, or that the API server refuses the pods of a StatefulSet. Explain finds this out from
// the pods and the events of the workload:
//
//	child, err := readiness.Explain(ctx, client, deployment) // for example, the reason is ImagePullBackOff
//
// To reconcile when the explanation changes, watch pods, the metadata of ReplicaSets for a Deployment, and
// events for a StatefulSet: OwnerOf finds the owner of the workload. Pods lists the pods of a workload.
//
// The method Child of [github.com/trueup-go/trueup/status.Setter] writes a Readiness into
// a condition.
package readiness
