package readiness_test

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
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

// The label alone does not make a pod one of the Job's.
func ExamplePods() {
	labels := map[string]string{"job": "import"}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: "import", UID: "1c8e"},
		Spec:       batchv1.JobSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}
	running := corev1.PodStatus{Phase: corev1.PodRunning}
	own := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: "import-x", Labels: labels}, Status: running}
	own.OwnerReferences = []metav1.OwnerReference{{UID: job.UID, Controller: new(true)}}
	stranger := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: "stranger", Labels: labels}, Status: running}
	reader := fake.NewFakeClient(own, stranger) // in an operator: mgr.GetClient()

	pods, err := readiness.Pods(context.Background(), reader, job)
	for _, pod := range pods {
		fmt.Println(pod.Name)
	}
	fmt.Println(err)
	// Output:
	// import-x
	// <nil>
}

// An event of a pod triggers a reconcile of the ConfigMap that controls the StatefulSet. The function is for
// handler.EnqueueRequestsFromMapFunc.
func ExampleOwnerOf() {
	controlledBy := func(apiVersion, kind, name string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(name), Controller: new(true)}}
	}
	c := fake.NewFakeClient(&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "mall", Name: "database", UID: "database", OwnerReferences: controlledBy("v1", "ConfigMap", "shop"),
	}})
	toShop := readiness.OwnerOf(c, &corev1.ConfigMap{}, &appsv1.StatefulSet{})

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "mall", Name: "database-0", OwnerReferences: controlledBy("apps/v1", "StatefulSet", "database"),
	}}
	fmt.Println(toShop(context.Background(), pod))
	// Output: [mall/shop]
}

// In an operator, the transform is in the options of the manager:
//
//	cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {Transform: readiness.TrimPod}}}
func ExampleTrimPod() {
	trimmed, err := readiness.TrimPod(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web-x", Annotations: map[string]string{"note": "long"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:1.29"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	})
	pod := trimmed.(*corev1.Pod)
	fmt.Println(pod.Name, len(pod.Annotations), len(pod.Spec.Containers), pod.Status.Phase, err)
	// Output: web-x 0 0 Running <nil>
}
