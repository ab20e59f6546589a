//nolint:lll // a case a line, as in the table of a test
package corpus

import (
	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

func cluster() []Entry {
	return []Entry{
		{"coordination/v1/Lease/held", &coordinationv1.Lease{ObjectMeta: named("leader"), Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("shop-0_1f0c"), LeaseDurationSeconds: new(int32(15)), LeaseTransitions: new(int32(0)),
			AcquireTime: new(microMoment()), RenewTime: new(microMoment()),
		}}},
		{"coordination/v1/Lease/free", &coordinationv1.Lease{ObjectMeta: named("leader"), Spec: coordinationv1.LeaseSpec{HolderIdentity: new("")}}},
		{"scheduling/v1/PriorityClass/lowest", &schedulingv1.PriorityClass{
			ObjectMeta: global("lowest"), Value: -1 << 31, PreemptionPolicy: new(corev1.PreemptNever), Description: "may wait\n",
		}},
		{"scheduling/v1/PriorityClass/zero", &schedulingv1.PriorityClass{ObjectMeta: global("zero"), GlobalDefault: true}},
		{"node/v1/RuntimeClass/plain", &nodev1.RuntimeClass{
			ObjectMeta: global("gvisor"), Handler: "runsc", Overhead: &nodev1.Overhead{
				PodFixed: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.25"), corev1.ResourceMemory: {}},
			},
			Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{}, Tolerations: []corev1.Toleration{}},
		}},
		{"node/v1/RuntimeClass/empty-overhead", &nodev1.RuntimeClass{
			ObjectMeta: global("runc"), Handler: "runc", Overhead: &nodev1.Overhead{}, Scheduling: &nodev1.Scheduling{},
		}},
		{"events/v1/Event/plain", &eventsv1.Event{
			ObjectMeta: named("shop.18"), EventTime: microMoment(), Series: &eventsv1.EventSeries{Count: 2, LastObservedTime: microMoment()},
			ReportingController: "example.org/shop", ReportingInstance: "shop-0", Action: "Scaled", Reason: "Load", Note: "CPU > 80%\r\n",
			Regarding: corev1.ObjectReference{Kind: "Deployment", Name: "shop"}, Type: corev1.EventTypeNormal,
			DeprecatedFirstTimestamp: moment(), DeprecatedCount: -1,
		}},
		{"events/v1/Event/no-time", &eventsv1.Event{ObjectMeta: named("shop.19"), Related: &corev1.ObjectReference{}}},
		{"certificates/v1/CertificateSigningRequest/plain", &certificatesv1.CertificateSigningRequest{
			ObjectMeta: global("shop"), Spec: certificatesv1.CertificateSigningRequestSpec{
				Request: []byte("-----BEGIN CERTIFICATE REQUEST-----\n"), SignerName: "example.org/signer", ExpirationSeconds: new(int32(600)),
				Usages: []certificatesv1.KeyUsage{certificatesv1.UsageServerAuth}, Groups: []string{},
				Extra: map[string]certificatesv1.ExtraValue{"nil": nil, "empty": {}, "one": {""}},
			},
		}},
		{"certificates/v1/CertificateSigningRequest/nil-request", &certificatesv1.CertificateSigningRequest{ObjectMeta: global("nil")}},
		{"certificates/v1beta1/CertificateSigningRequest/plain", &certificatesv1beta1.CertificateSigningRequest{
			ObjectMeta: global("old"), Spec: certificatesv1beta1.CertificateSigningRequestSpec{Request: []byte{}, SignerName: new("")},
		}},
		{"apiserverinternal/v1alpha1/StorageVersion/plain", &apiserverinternalv1alpha1.StorageVersion{ObjectMeta: global("apps.deployments")}},
		{"flowcontrol/v1/FlowSchema/plain", flowSchema()},
		{"flowcontrol/v1/PriorityLevelConfiguration/limited", priorityLevel()},
		{"flowcontrol/v1/PriorityLevelConfiguration/exempt", &flowcontrolv1.PriorityLevelConfiguration{
			ObjectMeta: global("exempt"), Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
				Type: flowcontrolv1.PriorityLevelEnablementExempt, Exempt: &flowcontrolv1.ExemptPriorityLevelConfiguration{},
			},
		}},
		{"runtime/Unknown/raw", &runtime.Unknown{Raw: []byte(`{"b":1,"a":[ ]}`), ContentType: runtime.ContentTypeJSON}},
	}
}

func flowSchema() *flowcontrolv1.FlowSchema {
	return &flowcontrolv1.FlowSchema{ObjectMeta: global("shop"), Spec: flowcontrolv1.FlowSchemaSpec{
		PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "shop"},
		DistinguisherMethod:        &flowcontrolv1.FlowDistinguisherMethod{Type: flowcontrolv1.FlowDistinguisherMethodByUserType},
		Rules: []flowcontrolv1.PolicyRulesWithSubjects{
			{
				Subjects: []flowcontrolv1.Subject{{
					Kind: flowcontrolv1.SubjectKindServiceAccount, ServiceAccount: &flowcontrolv1.ServiceAccountSubject{Namespace: "shop", Name: "*"},
				}},
				ResourceRules:    []flowcontrolv1.ResourcePolicyRule{{Verbs: []string{"*"}, APIGroups: []string{""}, ClusterScope: true, Namespaces: []string{}}},
				NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{},
			},
			{Subjects: []flowcontrolv1.Subject{}},
		},
	}}
}

func priorityLevel() *flowcontrolv1.PriorityLevelConfiguration {
	return &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: global("shop"), Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
		Type: flowcontrolv1.PriorityLevelEnablementLimited,
		Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
			NominalConcurrencyShares: new(int32(0)), LendablePercent: new(int32(0)),
			LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeQueue, Queuing: &flowcontrolv1.QueuingConfiguration{}},
		},
	}}
}
