package conformance_test

import (
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func priorityClass() kindCase {
	return kindCase{
		name:   "PriorityClass",
		rename: bySuffix,
		desired: func() client.Object {
			return &schedulingv1.PriorityClass{ObjectMeta: named("priority"), Value: -1, Description: "for what can wait\n"}
		},
		edits: []edit{
			on("the description", func(p *schedulingv1.PriorityClass) { p.Description = "edited" }),
			on("no description", func(p *schedulingv1.PriorityClass) { p.Description = "" }),
		},
		next: then(func(p *schedulingv1.PriorityClass) { p.Description = "" }),
		gone: is(func(p *schedulingv1.PriorityClass) bool { return p.Description == "" }),
	}
}

func runtimeClass() kindCase {
	return kindCase{
		name:   "RuntimeClass",
		rename: bySuffix,
		desired: func() client.Object {
			return &nodev1.RuntimeClass{
				ObjectMeta: named("sandbox"),
				Handler:    "sandbox",
				Overhead:   &nodev1.Overhead{PodFixed: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.25")}},
				Scheduling: &nodev1.Scheduling{
					NodeSelector: map[string]string{"sandboxed": ""},
					Tolerations:  []corev1.Toleration{{Key: "sandboxed"}},
				},
			}
		},
		edits: []edit{
			on("the overhead", func(r *nodev1.RuntimeClass) { r.Overhead.PodFixed[corev1.ResourceCPU] = resource.MustParse("1") }),
			on("a node label", func(r *nodev1.RuntimeClass) { r.Scheduling.NodeSelector["sandboxed"] = "no" }),
			on("a node label more", func(r *nodev1.RuntimeClass) { r.Scheduling.NodeSelector["edited"] = "yes" }),
			on("a toleration more", func(r *nodev1.RuntimeClass) {
				r.Scheduling.Tolerations = append(r.Scheduling.Tolerations, corev1.Toleration{Key: "edited"})
			}),
		},
		additions: []edit{on("memory overhead", func(r *nodev1.RuntimeClass) {
			r.Overhead.PodFixed[corev1.ResourceMemory] = resource.MustParse("1Mi")
		})},
		next: then(func(r *nodev1.RuntimeClass) { r.Scheduling = nil }),
		gone: is(func(r *nodev1.RuntimeClass) bool { return r.Scheduling == nil }),
	}
}

// flowSchema is about a user that there is not.
func flowSchema() kindCase {
	return kindCase{
		name:   "FlowSchema",
		rename: bySuffix,
		desired: func() client.Object {
			return &flowcontrolv1.FlowSchema{
				ObjectMeta: named("flow"),
				Spec: flowcontrolv1.FlowSchemaSpec{
					PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "global-default"},
					DistinguisherMethod:        &flowcontrolv1.FlowDistinguisherMethod{Type: flowcontrolv1.FlowDistinguisherMethodByUserType},
					Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
						Subjects: []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: "nobody"}}},
						ResourceRules: []flowcontrolv1.ResourcePolicyRule{{
							Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"pods"}, ClusterScope: true, Namespaces: []string{},
						}},
					}},
				},
			}
		},
		settled: is(func(f *flowcontrolv1.FlowSchema) bool { return len(f.Status.Conditions) > 0 }),
		edits: []edit{
			on("a user", func(f *flowcontrolv1.FlowSchema) { f.Spec.Rules[0].Subjects[0].User.Name = "no-one" }),
			on("a verb more", func(f *flowcontrolv1.FlowSchema) {
				f.Spec.Rules[0].ResourceRules[0].Verbs = append(f.Spec.Rules[0].ResourceRules[0].Verbs, "watch")
			}),
			on("a precedence", func(f *flowcontrolv1.FlowSchema) { f.Spec.MatchingPrecedence = 9000 }),
			on("no rules", func(f *flowcontrolv1.FlowSchema) { f.Spec.Rules = nil }),
		},
		next: then(func(f *flowcontrolv1.FlowSchema) { f.Spec.DistinguisherMethod = nil }),
		gone: is(func(f *flowcontrolv1.FlowSchema) bool { return f.Spec.DistinguisherMethod == nil }),
		exceptions: map[string]string{
			freeRestart: "Go cannot leave matchingPrecedence out: it says 0, of which the server makes 1000",
		},
	}
}

// priorityLevel has no share of the server's capacity, and no request is assigned to this level.
func priorityLevel() kindCase {
	return kindCase{
		name:   "PriorityLevelConfiguration",
		rename: bySuffix,
		desired: func() client.Object {
			return &flowcontrolv1.PriorityLevelConfiguration{
				ObjectMeta: named("level"),
				Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
					Type: flowcontrolv1.PriorityLevelEnablementLimited,
					Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
						NominalConcurrencyShares: ptr.To[int32](0), BorrowingLimitPercent: ptr.To[int32](0),
						LimitResponse: flowcontrolv1.LimitResponse{
							Type:    flowcontrolv1.LimitResponseTypeQueue,
							Queuing: &flowcontrolv1.QueuingConfiguration{Queues: 16, HandSize: 2},
						},
					},
				},
			}
		},
		edits: []edit{
			on("the shares", func(p *flowcontrolv1.PriorityLevelConfiguration) {
				p.Spec.Limited.NominalConcurrencyShares = ptr.To[int32](1)
			}),
			on("the hand", func(p *flowcontrolv1.PriorityLevelConfiguration) { p.Spec.Limited.LimitResponse.Queuing.HandSize = 1 }),
			on("a queue's length", func(p *flowcontrolv1.PriorityLevelConfiguration) {
				p.Spec.Limited.LimitResponse.Queuing.QueueLengthLimit = 7
			}),
		},
		additions: []edit{on("a share lent", func(p *flowcontrolv1.PriorityLevelConfiguration) {
			p.Spec.Limited.LendablePercent = ptr.To[int32](50)
		})},
		next: then(func(p *flowcontrolv1.PriorityLevelConfiguration) { p.Spec.Limited.BorrowingLimitPercent = nil }),
		gone: is(func(p *flowcontrolv1.PriorityLevelConfiguration) bool {
			return p.Spec.Limited.BorrowingLimitPercent == nil
		}),
		exceptions: map[string]string{
			freeRestart: "Go cannot leave queueLengthLimit out: it says 0, of which the server makes 50",
		},
	}
}
