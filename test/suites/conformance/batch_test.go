package conformance_test

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func job() kindCase {
	return kindCase{
		name: "Job",
		desired: func() client.Object {
			template := podTemplate("task")
			template.Spec.RestartPolicy = corev1.RestartPolicyNever
			return &batchv1.Job{
				ObjectMeta: named("task"),
				Spec: batchv1.JobSpec{
					Parallelism: ptr.To[int32](1), ActiveDeadlineSeconds: ptr.To[int64](3600),
					Suspend: new(true), Template: template,
				},
			}
		},
		settled: is(func(j *batchv1.Job) bool { return len(j.Status.Conditions) > 0 }),
		edits: []edit{
			on("parallelism", func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](3) }),
			on("the deadline", func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = ptr.To[int64](7200) }),
		},
		next: then(func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = nil }),
		gone: is(func(j *batchv1.Job) bool { return j.Spec.ActiveDeadlineSeconds == nil }),
	}
}

func autoscaler() kindCase {
	return kindCase{
		name: "HorizontalPodAutoscaler",
		desired: func() client.Object {
			return &autoscalingv2.HorizontalPodAutoscaler{
				ObjectMeta: named("scaler"),
				Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
					ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "none"},
					MinReplicas:    ptr.To[int32](2),
					MaxReplicas:    5,
					Metrics: []autoscalingv2.MetricSpec{{
						Type: autoscalingv2.ResourceMetricSourceType,
						Resource: &autoscalingv2.ResourceMetricSource{
							Name:   corev1.ResourceCPU,
							Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](60)},
						},
					}},
					Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
						ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: ptr.To[int32](60)},
					},
				},
			}
		},
		settled: is(func(h *autoscalingv2.HorizontalPodAutoscaler) bool { return len(h.Status.Conditions) > 0 }),
		edits: []edit{
			on("the maximum", func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.MaxReplicas = 50 }),
			on("a metric's target", func(h *autoscalingv2.HorizontalPodAutoscaler) {
				h.Spec.Metrics[0].Resource.Target.AverageUtilization = ptr.To[int32](10)
			}),
		},
		next: then(func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.MinReplicas = nil }),
		gone: is(func(h *autoscalingv2.HorizontalPodAutoscaler) bool { return *h.Spec.MinReplicas == 1 }),
	}
}

// cronJob runs on the 30th of February.
func cronJob() kindCase {
	template := func(obj client.Object) *corev1.PodTemplateSpec {
		return &obj.(*batchv1.CronJob).Spec.JobTemplate.Spec.Template
	}
	return kindCase{
		name: "CronJob",
		desired: func() client.Object {
			pods := podTemplate("nightly")
			pods.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
			return &batchv1.CronJob{
				ObjectMeta: named("nightly"),
				Spec: batchv1.CronJobSpec{
					Schedule: "0 3 30 2 *", TimeZone: new("Etc/UTC"), StartingDeadlineSeconds: ptr.To[int64](30),
					ConcurrencyPolicy: batchv1.ForbidConcurrent, SuccessfulJobsHistoryLimit: ptr.To[int32](0),
					JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{BackoffLimit: ptr.To[int32](0), Template: pods}},
				},
			}
		},
		edits: append(podEdits(),
			on("the schedule", func(c *batchv1.CronJob) { c.Spec.Schedule = "0 4 30 2 *" }),
			on("the history", func(c *batchv1.CronJob) { c.Spec.SuccessfulJobsHistoryLimit = ptr.To[int32](3) }),
			on("a back-off", func(c *batchv1.CronJob) { c.Spec.JobTemplate.Spec.BackoffLimit = nil }),
		),
		additions: append(podAdditions(),
			on("suspension", func(c *batchv1.CronJob) { c.Spec.Suspend = new(true) }),
		),
		next: then(func(c *batchv1.CronJob) {
			c.Spec.TimeZone = nil
			mainOf(template(c)).Args = nil
		}),
		gone: is(func(c *batchv1.CronJob) bool { return c.Spec.TimeZone == nil && mainOf(template(c)).Args == nil }),
	}
}

func disruptionBudget() kindCase {
	return kindCase{
		name: "PodDisruptionBudget",
		desired: func() client.Object {
			return &policyv1.PodDisruptionBudget{
				ObjectMeta: named("budget"),
				Spec: policyv1.PodDisruptionBudgetSpec{
					MinAvailable: new(intstr.FromString("50%")),
					Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
				},
			}
		},
		settled: is(func(p *policyv1.PodDisruptionBudget) bool {
			return p.Status.ObservedGeneration == p.Generation && len(p.Status.Conditions) > 0
		}),
		edits: []edit{
			on("the minimum", func(p *policyv1.PodDisruptionBudget) { p.Spec.MinAvailable = new(intstr.FromInt32(0)) }),
			on("a selector's value", func(p *policyv1.PodDisruptionBudget) { p.Spec.Selector.MatchLabels["app"] = "other" }),
			on("a selector key more", func(p *policyv1.PodDisruptionBudget) { p.Spec.Selector.MatchLabels["track"] = "canary" }),
			on("everything selected", func(p *policyv1.PodDisruptionBudget) { p.Spec.Selector.MatchLabels = nil }),
		},
		additions: []edit{on("an eviction policy", func(p *policyv1.PodDisruptionBudget) {
			p.Spec.UnhealthyPodEvictionPolicy = new(policyv1.AlwaysAllow)
		})},
		next: then(func(p *policyv1.PodDisruptionBudget) {
			p.Spec.MinAvailable, p.Spec.MaxUnavailable = nil, new(intstr.FromInt32(0))
			p.Spec.Selector = &metav1.LabelSelector{}
		}),
		gone: is(func(p *policyv1.PodDisruptionBudget) bool {
			return p.Spec.MinAvailable == nil && p.Spec.Selector.MatchLabels == nil
		}),
	}
}
