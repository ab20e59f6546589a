package readiness

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func claim(c *corev1.PersistentVolumeClaim) Readiness {
	switch c.Status.Phase {
	case corev1.ClaimBound:
		return boundClaim(c)
	case corev1.ClaimLost:
		return failed("it has lost its volume")
	default:
		return inProgress("it is not bound yet")
	}
}

// boundClaim returns the readiness of a bound claim, which is InProgress until its volume has
// the requested size.
func boundClaim(c *corev1.PersistentVolumeClaim) Readiness {
	wanted, capacity := c.Spec.Resources.Requests.Storage(), c.Status.Capacity.Storage()
	if capacity.Cmp(*wanted) >= 0 {
		return ready("it is bound")
	}
	readiness := inProgress("it has %s of %s", capacity, wanted)
	for _, condition := range c.Status.Conditions {
		if condition.Status == corev1.ConditionTrue {
			readiness.Reason = string(condition.Type)
			readiness.Message += "; " + string(condition.Type)
			readiness = readiness.because(condition.Reason, condition.Message)
		}
	}
	return readiness
}

func service(s *corev1.Service) Readiness {
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.ClusterIP == "" {
		return inProgress("it has no cluster IP yet")
	}
	return ready("it is there")
}

func definition(d *apiextensionsv1.CustomResourceDefinition) Readiness {
	if observed := d.Status.ObservedGeneration; observed != 0 {
		if readiness, ok := outdated(d, observed); ok {
			return readiness
		}
	}
	readiness := inProgress("it is not established yet")
	for _, c := range d.Status.Conditions {
		switch {
		case c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionFalse:
			return failed("its names are not accepted").because(c.Reason, c.Message)
		case c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue:
			readiness = ready("it is established")
		case c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionFalse && c.Reason != "Installing":
			readiness = failed("it is not established").because(c.Reason, c.Message)
		}
	}
	return readiness
}
