package readiness_test

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/trueup-go/trueup/status/readiness"
)

func ExampleOf() {
	child := readiness.Of(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Generation: 4},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1},
	})
	fmt.Println(child.State)
	fmt.Println(child.Message)
	// Output:
	// InProgress
	// its controller has looked at generation 3, and not at 4 yet
}

// In an operator, reader is the manager's client, and the Deployment is the live one.
func ExampleExplain() {
	controlledBy := func(owner string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{UID: types.UID(owner), Controller: new(true)}}
	}
	shop := map[string]string{"app": "shop"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: "shop", UID: "deployment", Generation: 1},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: shop}},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1},
	}
	reader := fake.NewFakeClient(
		&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
			Namespace: "mall", Name: "shop-7d", UID: "replicaset", Labels: shop, OwnerReferences: controlledBy("deployment"),
		}},
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: "shop-7d-x", Labels: shop, OwnerReferences: controlledBy("replicaset")},
			Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
				Name: "web", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
			}}},
		},
	)

	child, err := readiness.Explain(context.Background(), reader, deployment)
	fmt.Println(child.State, child.Reason, err)
	fmt.Println(child.Message)
	// Output:
	// InProgress ImagePullBackOff <nil>
	// pod "shop-7d-x": container web waits: ImagePullBackOff
}
