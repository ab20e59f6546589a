// Package readiness computes whether an object is ready, from its own metadata, spec
// and status.
//
//	child := readiness.Of(deployment)
//	if child.State != readiness.Ready {
//		log.Info("waiting for the Deployment", "reason", child.Message)
//	}
//
// The method Child of [github.com/trueup-go/trueup/status.Setter] writes a Readiness into
// a condition.
package readiness
