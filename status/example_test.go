package status_test

import (
	"context"
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

// The second call finds nothing to write.
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

// A copy that somebody overtook is read again.
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

// The operator records one event for a container that crashes again and again.
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
