package corpus

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// quantitiesPod asks for amounts in every way that they can be written.
func quantitiesPod() *corev1.Pod {
	list := corev1.ResourceList{}
	for name, text := range map[corev1.ResourceName]string{
		"thousandths": "1000m", "half": "0.5", "exponent": "1e3", "exponent-upper": "1E3", "exa": "1E", "binary": "1.5Gi",
		"tiny": "100n", "rounded": "0.0000000001", "zero": "0", "zero-binary": "0Ki", "negative": "-1500m", "fraction": ".25",
		"leading-zeros": "007", "plus": "+5", "trailing": "1.250", "largest": "9223372036854775807", "beyond": "100000E",
		"binary-fraction": "0.1Mi", "odd-binary": "1025Ki", "negative-exponent": "15e-1", "micro": "3u",
	} {
		list[name] = resource.MustParse(text)
	}
	limits := corev1.ResourceList{
		"binary-5000":    *resource.NewQuantity(5000, resource.BinarySI),
		"decimal-5000":   *resource.NewQuantity(5000, resource.DecimalSI),
		"exponent-5000":  *resource.NewQuantity(5000, resource.DecimalExponent),
		"milli":          *resource.NewMilliQuantity(1500, resource.DecimalSI),
		"milli-binary":   *resource.NewMilliQuantity(1024*1000, resource.BinarySI),
		"milli-exponent": *resource.NewMilliQuantity(15, resource.DecimalExponent),
		"scaled":         *resource.NewScaledQuantity(7, resource.Nano),
		"largest":        *resource.NewQuantity(math.MaxInt64, resource.DecimalSI),
		"smallest":       *resource.NewQuantity(math.MinInt64, resource.BinarySI),
		"zero-value":     {},
		"":               resource.MustParse("1"),
	}
	sum := resource.MustParse("1Gi")
	sum.Add(resource.MustParse("512Mi"))
	limits["computed"] = sum
	printed := resource.MustParse("0.5")
	_ = printed.String() // keeps its text from now on
	limits["printed"] = printed
	return &corev1.Pod{ObjectMeta: named("quantities"), Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "app", Image: "app", Resources: corev1.ResourceRequirements{Requests: list, Limits: limits},
	}}}}
}
