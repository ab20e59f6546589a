package status_test

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/trueup-go/trueup/status"
	"github.com/trueup-go/trueup/status/readiness"
)

func ExampleFor() {
	shop := &Shop{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
	set := status.For(shop)

	set.True(&shop.Status.Conditions, "Open", "Opened", "since 8 o'clock")
	set.False(&shop.Status.Conditions, "Stocked", "out of stock", "")

	for _, c := range shop.Status.Conditions {
		fmt.Printf("%s is %s of generation %d: %s (%s)\n", c.Type, c.Status, c.ObservedGeneration, c.Reason, c.Message)
	}
	// Output:
	// Open is True of generation 3: Opened (since 8 o'clock)
	// Stocked is False of generation 3: outOfStock (reason "out of stock")
}

func ExampleSetter_Ready() {
	var conditions []metav1.Condition
	set := status.For(&Shop{})

	set.True(&conditions, "Open", "Opened", "")
	set.False(&conditions, "Stocked", "Empty", "2 of 3 shelves are empty")
	set.Ready(&conditions, "Open", "Stocked", "Staffed")

	ready := conditions[len(conditions)-1]
	fmt.Println(ready.Type, ready.Status, ready.Reason)
	fmt.Println(ready.Message)
	// Output:
	// Ready False Empty
	// Stocked is False (Empty): 2 of 3 shelves are empty; Staffed is Unknown (NotReported)
}

func ExampleSetter_Child() {
	var conditions []metav1.Condition
	set := status.For(&Shop{})

	set.Child(&conditions, "Deployed", readiness.Of(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Generation: 1},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 1},
	}))

	fmt.Println(conditions[0].Status, conditions[0].Reason, conditions[0].Message)
	// Output: False InProgress 0 of 1 pods are created
}

// The second call sends no request.
func ExamplePatch() {
	ctx := context.Background()
	c := fake.NewClientBuilder().WithScheme(newScheme()).WithStatusSubresource(&Shop{}).
		WithObjects(&Shop{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}).Build() // in an operator: mgr.GetClient()
	shop := &Shop{}
	fmt.Println(c.Get(ctx, client.ObjectKey{Name: "shop"}, shop))

	for range 2 {
		err := status.Patch(ctx, c, shop, func(shop *Shop) { shop.Status.Open = true })
		fmt.Println(shop.Status.Open, shop.ResourceVersion, err)
	}
	// Output:
	// <nil>
	// true 1000 <nil>
	// true 1000 <nil>
}

// Without Live, an outdated copy causes a Conflict. With Live, Patch reads the object again.
func ExampleLive() {
	ctx := context.Background()
	c := fake.NewClientBuilder().WithScheme(newScheme()).WithStatusSubresource(&Shop{}).
		WithObjects(&Shop{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}).Build()
	shop := &Shop{}
	fmt.Println(c.Get(ctx, client.ObjectKey{Name: "shop"}, shop))
	overtaken := shop.DeepCopyObject().(*Shop)
	fmt.Println(status.Patch(ctx, c, shop, func(shop *Shop) { shop.Status.Big = 7 }))

	open := func(shop *Shop) { shop.Status.Open = true }
	fmt.Println(apierrors.IsConflict(status.Patch(ctx, c, overtaken, open)))
	fmt.Println(status.Patch(ctx, c, overtaken, open, status.Live(c)), overtaken.Status.Open, overtaken.Status.Big)
	// Output:
	// <nil>
	// <nil>
	// true
	// <nil> true 7
}

// The operator records one event for a container that crashes repeatedly.
func ExampleWarnings() {
	recorder := events.NewFakeRecorder(2) // in an operator: mgr.GetEventRecorder(name)
	warnings := status.NewWarnings(recorder)
	shop := &Shop{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}

	for _, message := range []string{"back-off 10s", "back-off 20s"} {
		warnings.Record(shop, "Deployed", readiness.Readiness{State: readiness.InProgress, Reason: "CrashLoopBackOff", Message: message})
	}

	fmt.Println(len(recorder.Events), <-recorder.Events)
	// Output: 1 Warning CrashLoopBackOff back-off 10s
}

func ExampleSetter_True() {
	var conditions []metav1.Condition
	set := status.For(&Shop{ObjectMeta: metav1.ObjectMeta{Generation: 3}})

	set.True(&conditions, "Open", "Opened", "since 8 o'clock")

	fmt.Println(conditions[0].Type, conditions[0].Status, conditions[0].Reason, conditions[0].ObservedGeneration)
	// Output: Open True Opened 3
}

// The reason is free text, which the API server would refuse.
func ExampleSetter_False() {
	var conditions []metav1.Condition
	set := status.For(&Shop{})

	set.False(&conditions, "Stocked", "out of stock", "no apples")

	fmt.Println(conditions[0].Status, conditions[0].Reason)
	fmt.Println(conditions[0].Message)
	// Output:
	// False outOfStock
	// reason "out of stock": no apples
}

// A later call changes the condition of the type.
func ExampleSetter_Unknown() {
	var conditions []metav1.Condition
	set := status.For(&Shop{})

	set.True(&conditions, "Stocked", "Counted", "")
	set.Unknown(&conditions, "Stocked", "Unavailable", "the depot does not answer")

	fmt.Println(len(conditions), conditions[0].Status, conditions[0].Reason)
	// Output: 1 Unknown Unavailable
}

// The managed fields of the status have this manager.
func ExampleFieldOwner() {
	ctx := context.Background()
	c := fake.NewClientBuilder().WithScheme(newScheme()).WithStatusSubresource(&Shop{}).WithReturnManagedFields().
		WithObjects(&Shop{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}).Build()
	shop := &Shop{}
	fmt.Println(c.Get(ctx, client.ObjectKey{Name: "shop"}, shop))

	open := func(shop *Shop) { shop.Status.Open = true }
	fmt.Println(status.Patch(ctx, c, shop, open, status.FieldOwner("shop-operator")))
	for _, entry := range shop.ManagedFields {
		fmt.Println(entry.Manager)
	}
	// Output:
	// <nil>
	// <nil>
	// shop-operator
}

// One Warnings for all objects of an operator. Without a recorder, nothing is recorded.
func ExampleNewWarnings() {
	recorder := events.NewFakeRecorder(2) // in an operator: mgr.GetEventRecorder(name)
	failed := readiness.Readiness{State: readiness.Failed, Reason: "DeadlineExceeded", Message: "the job took too long"}
	shop := &Shop{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}

	status.NewWarnings(nil).Record(shop, "Migrated", failed)
	status.NewWarnings(recorder).Record(shop, "Migrated", failed)

	fmt.Println(len(recorder.Events), <-recorder.Events)
	// Output: 1 Warning DeadlineExceeded the job took too long
}

// A problem is recorded again only after the child was ready.
func ExampleWarnings_Record() {
	recorder := events.NewFakeRecorder(10)
	warnings := status.NewWarnings(recorder)
	shop := &Shop{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	pulling := readiness.Readiness{State: readiness.InProgress, Reason: "ImagePullBackOff", Message: "nginx:typo"}
	ready := readiness.Readiness{State: readiness.Ready, Reason: "Ready"}

	for _, child := range []readiness.Readiness{pulling, pulling, ready, pulling} {
		warnings.Record(shop, "Deployed", child)
		fmt.Println(child.Reason, len(recorder.Events))
	}
	// Output:
	// ImagePullBackOff 1
	// ImagePullBackOff 1
	// Ready 1
	// ImagePullBackOff 1
}

// Reason is for conditions, and the class for errors.Is. The error wraps the server's response.
func ExampleError() {
	c := fake.NewClientBuilder().WithScheme(newScheme()).Build()
	shop := &Shop{ObjectMeta: metav1.ObjectMeta{Name: "shop", ResourceVersion: "1"}}
	err := status.Patch(context.Background(), c, shop, func(shop *Shop) { shop.Spec.Size = 7 })

	fmt.Println(err)
	fmt.Println(errors.Is(err, status.ErrRefused))
	if failed, ok := errors.AsType[*status.Error](err); ok {
		fmt.Println(failed.Kind.Kind, failed.Key.Name, failed.Reason, failed.Paths)
	}
	// Output:
	// cannot write the status of Shop "shop": Refused: mutate may change only the status, but it changed /spec/size
	// true
	// Shop shop Refused [/spec/size]
}
