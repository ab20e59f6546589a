//nolint:lll // a case a line, as in the table of a test
package corpus

import (
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	authenticationv1beta1 "k8s.io/api/authentication/v1beta1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"
	batchv1beta1 "k8s.io/api/batch/v1beta1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	discoveryv1beta1 "k8s.io/api/discovery/v1beta1"
	eventsv1beta1 "k8s.io/api/events/v1beta1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
	nodev1beta1 "k8s.io/api/node/v1beta1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// old are versions of groups that no server serves any more, and whose types
// operators' code still has.
func old() []Entry {
	return []Entry{
		{"admission/v1beta1/AdmissionReview/plain", &admissionv1beta1.AdmissionReview{Request: &admissionv1beta1.AdmissionRequest{}}},
		{"apps/v1beta1/Deployment/plain", &appsv1beta1.Deployment{ObjectMeta: named("old"), Spec: appsv1beta1.DeploymentSpec{
			Template: template(), RollbackTo: &appsv1beta1.RollbackConfig{},
		}}},
		{"apps/v1beta2/StatefulSet/plain", &appsv1beta2.StatefulSet{ObjectMeta: named("old"), Spec: appsv1beta2.StatefulSetSpec{
			Template: template(), ServiceName: "old", Selector: selector(),
		}}},
		{"authentication/v1beta1/TokenReview/plain", &authenticationv1beta1.TokenReview{}},
		{"authorization/v1beta1/SelfSubjectAccessReview/plain", &authorizationv1beta1.SelfSubjectAccessReview{}},
		{"batch/v1beta1/CronJob/plain", &batchv1beta1.CronJob{ObjectMeta: named("old"), Spec: batchv1beta1.CronJobSpec{
			Schedule: "@daily", JobTemplate: batchv1beta1.JobTemplateSpec{Spec: migrationJob().Spec},
		}}},
		{"coordination/v1beta1/Lease/plain", &coordinationv1beta1.Lease{ObjectMeta: named("old"), Spec: coordinationv1beta1.LeaseSpec{
			RenewTime: new(microMoment()),
		}}},
		{"discovery/v1beta1/EndpointSlice/plain", &discoveryv1beta1.EndpointSlice{
			ObjectMeta: named("old"), Endpoints: []discoveryv1beta1.Endpoint{{Topology: map[string]string{}}},
		}},
		{"events/v1beta1/Event/plain", &eventsv1beta1.Event{ObjectMeta: named("old"), EventTime: microMoment(), Note: "é"}},
		{"extensions/v1beta1/Ingress/plain", &extensionsv1beta1.Ingress{ObjectMeta: named("old"), Spec: extensionsv1beta1.IngressSpec{
			Backend: &extensionsv1beta1.IngressBackend{ServiceName: "shop", ServicePort: intstr.FromInt32(80)},
		}}},
		{"extensions/v1beta1/NetworkPolicy/closed", &extensionsv1beta1.NetworkPolicy{
			ObjectMeta: named("old"), Spec: extensionsv1beta1.NetworkPolicySpec{Ingress: []extensionsv1beta1.NetworkPolicyIngressRule{}},
		}},
		{"flowcontrol/v1beta3/FlowSchema/plain", &flowcontrolv1beta3.FlowSchema{ObjectMeta: global("old"), Spec: flowcontrolv1beta3.FlowSchemaSpec{
			Rules: []flowcontrolv1beta3.PolicyRulesWithSubjects{},
		}}},
		{"node/v1beta1/RuntimeClass/plain", &nodev1beta1.RuntimeClass{ObjectMeta: global("old"), Handler: "runc"}},
		{"scheduling/v1beta1/PriorityClass/plain", &schedulingv1beta1.PriorityClass{ObjectMeta: global("old"), Value: 1<<31 - 1}},
	}
}
