//nolint:lll // a case a line, as in the table of a test
package corpus

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func autoscalers() []Entry {
	return []Entry{
		{"autoscaling/v1/HorizontalPodAutoscaler/plain", &autoscalingv1.HorizontalPodAutoscaler{
			ObjectMeta: named("shop"), Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
				ScaleTargetRef: autoscalingv1.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "shop"},
				MinReplicas:    new(int32(0)), MaxReplicas: 10, TargetCPUUtilizationPercentage: new(int32(80)),
			},
		}},
		{"autoscaling/v1/Scale/zero", &autoscalingv1.Scale{ObjectMeta: named("shop")}},
		{"autoscaling/v2/HorizontalPodAutoscaler/metrics", autoscaler(metrics())},
		{"autoscaling/v2/HorizontalPodAutoscaler/empty-metrics", autoscaler([]autoscalingv2.MetricSpec{})},
		{"autoscaling/v2/HorizontalPodAutoscaler/nil-metrics", autoscaler(nil)},
		{"autoscaling/v2/HorizontalPodAutoscaler/behavior", behavedAutoscaler()},
	}
}

func autoscaler(metrics []autoscalingv2.MetricSpec) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: named("shop"), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "shop"},
		MinReplicas:    new(int32(1)), MaxReplicas: 10, Metrics: metrics,
	}}
}

func behavedAutoscaler() *autoscalingv2.HorizontalPodAutoscaler {
	a := autoscaler(nil)
	a.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
		ScaleUp: &autoscalingv2.HPAScalingRules{
			StabilizationWindowSeconds: new(int32(0)), SelectPolicy: new(autoscalingv2.MaxChangePolicySelect),
			Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15}, {}},
		},
		ScaleDown: &autoscalingv2.HPAScalingRules{Policies: []autoscalingv2.HPAScalingPolicy{}},
	}
	return a
}

func metrics() []autoscalingv2.MetricSpec {
	average := func(text string) autoscalingv2.MetricTarget {
		return autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: new(resource.MustParse(text))}
	}
	return []autoscalingv2.MetricSpec{
		{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
			Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(0))},
		}},
		{Type: autoscalingv2.ContainerResourceMetricSourceType, ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
			Name: corev1.ResourceMemory, Container: "app", Target: average("0.5Gi"),
		}},
		{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: "requests", Selector: &metav1.LabelSelector{}}, Target: average("1e3"),
		}},
		{Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{Target: average("1000m")}},
		{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: "queue", Selector: selector()},
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: &resource.Quantity{}},
		}},
		{},
	}
}
