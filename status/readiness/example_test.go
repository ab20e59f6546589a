package readiness_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/status/readiness"
)

func ExampleOf() {
	fmt.Println(readiness.Of(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Generation: 4},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1},
	}))
	// Output: {InProgress its controller has looked at generation 3, and not at 4 yet}
}
