package ensure_test

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/ensuretest"
)

// database returns a StatefulSet with one pod.
func database() *appsv1.StatefulSet {
	labels := map[string]string{"app": "database"}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "database"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "postgres", Image: "postgres:typo"}}},
			},
		},
	}
}

// failToPull acts as the controller of a StatefulSet and as a kubelet that cannot pull the image.
func failToPull(ctx context.Context, c client.Client, set *appsv1.StatefulSet) error {
	set.Status.ObservedGeneration = set.Generation
	owner := *metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: set.Namespace, Name: set.Name + "-0",
		Labels: set.Spec.Template.Labels, OwnerReferences: []metav1.OwnerReference{owner},
	}}
	created := c.Create(ctx, pod)
	pod.Status.Phase = corev1.PodPending
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "postgres", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
	}}
	return errors.Join(created, c.Status().Update(ctx, pod), c.Status().Update(ctx, set))
}

// The pods of a new Deployment do not exist yet. If Object fails, the readiness is about the error.
func ExampleResult_Readiness() {
	ctx := context.Background()
	c := ensuretest.NewClient(clientgoscheme.Scheme)
	e := ensure.New(c, c.APIReader(), "web-operator")

	result, err := ensure.Object(ctx, e, webDeployment())
	child := result.Readiness(err) // for Setter.Child of package status
	fmt.Println(child.State, child.Reason, child.Message)

	nameless := webDeployment()
	nameless.Name = ""
	result, err = ensure.Object(ctx, e, nameless)
	child = result.Readiness(err)
	fmt.Println(child.State, child.Reason, child.Message)

	// Output:
	// InProgress InProgress its controller has not looked at it yet
	// InProgress Refused cannot ensure Deployment in namespace "default": Refused: metadata.name is required
}

// Readiness knows the number of pods, and Explain the reason.
func ExampleResult_Explain() {
	ctx := context.Background()
	c := ensuretest.NewClient(clientgoscheme.Scheme)
	e := ensure.New(c, c.APIReader(), "database-operator")
	created, err := ensure.Object(ctx, e, database())
	fmt.Println(created.Operation, err)
	fmt.Println(failToPull(ctx, c, created.Live)) // creates a pod whose image cannot be pulled

	result, err := ensure.Object(ctx, e, database())
	fmt.Println(result.Readiness(err).Message)

	child, explainErr := result.Explain(ctx, c, err)
	fmt.Println(child.State, child.Reason, explainErr)
	fmt.Println(child.Message)

	// Output:
	// Created <nil>
	// <nil>
	// 0 of 1 pods are created
	// InProgress ImagePullBackOff <nil>
	// pod "database-0": container postgres waits: ImagePullBackOff
}

// The first child that is not ready decides.
func ExampleResults_Readiness() {
	ctx := context.Background()
	c := ensuretest.NewClient(clientgoscheme.Scheme, anOwner())
	e := ensure.New(c, c.APIReader(), "web-operator")

	children, err := ensure.Set(ctx, e, anOwner(), []client.Object{greeting()})
	fmt.Println(children.Readiness(err).State)

	children, err = ensure.Set(ctx, e, anOwner(), []client.Object{greeting(), webDeployment()})
	all := children.Readiness(err) // for Setter.Child of package status
	fmt.Println(all.State)
	fmt.Println(all.Message)

	// Output:
	// Ready
	// InProgress
	// Deployment "web": its controller has not looked at it yet
}

// One condition is about the database, another about all children.
func ExampleResults_Explain() {
	ctx := context.Background()
	c := ensuretest.NewClient(clientgoscheme.Scheme, anOwner())
	e := ensure.New(c, c.APIReader(), "database-operator")
	text, set := greeting(), database()
	children, err := ensure.Set(ctx, e, anOwner(), []client.Object{text, set})
	fmt.Println(err)
	fmt.Println(failToPull(ctx, c, ensure.ResultOf(children, set).Live)) // creates a pod whose image cannot be pulled

	children, err = ensure.Set(ctx, e, anOwner(), []client.Object{text, set})
	settings, _ := children.Explain(ctx, c, err, text)
	all, explainErr := children.Explain(ctx, c, err)
	fmt.Println(settings.State)
	fmt.Println(all.State, all.Reason, explainErr)
	fmt.Println(all.Message)

	// Output:
	// <nil>
	// <nil>
	// Ready
	// InProgress ImagePullBackOff <nil>
	// StatefulSet "database": pod "database-0": container postgres waits: ImagePullBackOff
}

// The result of one child has the Go type of that child.
func ExampleResultOf() {
	c := ensuretest.NewClient(clientgoscheme.Scheme, anOwner())
	e := ensure.New(c, c.APIReader(), "web-operator")

	text, web := greeting(), webDeployment()
	children, err := ensure.Set(context.Background(), e, anOwner(), []client.Object{text, web})
	fmt.Println(*ensure.ResultOf(children, web).Live.Spec.Replicas, "replicas", err)
	fmt.Printf("%q\n", ensure.ResultOf(children, webDeployment()).Operation) // another pointer

	// Output:
	// 2 replicas <nil>
	// ""
}

// Set gives up its fields of an adopted ConfigMap, and deletes the ConfigMap only with DeleteAdopted.
func ExamplePruning_DeleteAdopted() {
	prune := ensure.Prune(&corev1.ConfigMap{})
	for _, prune := range []ensure.Pruning{prune, prune.DeleteAdopted()} {
		ctx := context.Background()
		c := ensuretest.NewClient(clientgoscheme.Scheme, anOwner(), greeting()) // somebody else's
		e := ensure.New(c, c.APIReader(), "web-operator")
		_, err := ensure.Set(ctx, e, anOwner(), []client.Object{greeting()}, ensure.Adopt())
		fmt.Println(err)
		children, err := ensure.Set(ctx, e, anOwner(), nil, prune)
		fmt.Println(children.Pruned[0].Operation, err)
	}

	// Output:
	// <nil>
	// Released <nil>
	// <nil>
	// Deleting <nil>
}

// The API server deletes the ReplicaSets and pods before the Deployment.
func ExamplePruning_Propagation() {
	ctx := context.Background()
	c := ensuretest.NewClient(clientgoscheme.Scheme, anOwner())
	e := ensure.New(c, c.APIReader(), "web-operator")
	prune := ensure.Prune(&appsv1.Deployment{}).Propagation(metav1.DeletePropagationForeground)
	_, err := ensure.Set(ctx, e, anOwner(), []client.Object{webDeployment()}, prune)
	fmt.Println(err)

	children, err := ensure.Set(ctx, e, anOwner(), nil, prune)
	fmt.Println(children.Pruned[0].Operation, err)

	// Output:
	// <nil>
	// Deleting <nil>
}

// The old Deployment serves until the new one is ready.
func ExamplePruning_WhenReady() {
	ctx := context.Background()
	c := ensuretest.NewClient(clientgoscheme.Scheme, anOwner())
	e := ensure.New(c, c.APIReader(), "web-operator")
	oldWeb, newWeb := webDeployment(), webDeployment()
	newWeb.Name = "web-v2"
	prune := ensure.Prune(&appsv1.Deployment{}).WhenReady()
	_, err := ensure.Set(ctx, e, anOwner(), []client.Object{oldWeb}, prune)
	fmt.Println(err)

	children, err := ensure.Set(ctx, e, anOwner(), []client.Object{newWeb}, prune)
	fmt.Println("pruned:", len(children.Pruned), err)

	live := ensure.ResultOf(children, newWeb).Live
	live.Status = appsv1.DeploymentStatus{
		ObservedGeneration: live.Generation, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2,
	}
	fmt.Println(c.Status().Update(ctx, live)) // as the controller of Deployments does

	children, err = ensure.Set(ctx, e, anOwner(), []client.Object{newWeb}, prune)
	fmt.Println("pruned:", children.Pruned[0].Live.GetName(), err)

	// Output:
	// <nil>
	// pruned: 0 <nil>
	// <nil>
	// pruned: web <nil>
}
