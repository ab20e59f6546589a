package finalizer_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/trueup-go/trueup/finalizer"
)

// Website is the custom resource of the reconciler on the package page.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec WebsiteSpec `json:"spec,omitempty"`
}

type WebsiteSpec struct {
	Host string `json:"host"`
}

// DeepCopyObject is what controller-gen would generate.
func (w *Website) DeepCopyObject() runtime.Object {
	out := *w
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// Reconciler has what no garbage collector takes along.
type Reconciler struct {
	client.Client

	dns       *records
	databases *databases
}

type records struct{}

func (*records) Delete(_ context.Context, host string) error {
	fmt.Println("record of", host, "deleted")
	return nil
}

type databases struct{ connections int }

func (d *databases) InUse(context.Context, string) bool { return d.connections > 0 }

func (d *databases) Drop(_ context.Context, name string) error {
	fmt.Println("database", name, "dropped")
	return nil
}

func (r *Reconciler) serve(_ context.Context, site *Website) (ctrl.Result, error) {
	fmt.Println("serving, with", site.Finalizers)
	return ctrl.Result{}, nil
}

// The reconciler above serves the website. After the deletion, each reconcile cleans up as much as
// possible, until everything is done.
func Example() {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(schema.GroupVersion{Group: "example.com", Version: "v1"}, &Website{})

	ctx := context.Background()
	site := &Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop"},
		Spec:       WebsiteSpec{Host: "shop.example.com"},
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(site).Build()
	r := &Reconciler{Client: c, dns: &records{}, databases: &databases{connections: 1}}

	reconcile := func() {
		if err := c.Get(ctx, client.ObjectKeyFromObject(site), site); apierrors.IsNotFound(err) {
			fmt.Println("gone")
			return
		}
		result, err := r.Reconcile(ctx, site)
		fmt.Println(site.Finalizers, result.RequeueAfter, err)
	}
	reconcile()

	_ = c.Delete(ctx, site)
	reconcile()
	r.databases.connections = 0
	reconcile()
	reconcile()

	// Output:
	// serving, with [example.com/dns-record example.com/database]
	// [example.com/dns-record example.com/database] 0s <nil>
	// record of shop.example.com deleted
	// [example.com/database] 10s <nil>
	// database shop dropped
	// [] 0s <nil>
	// gone
}

// The first call adds the finalizer. The second call, after the deletion, cleans up and removes it.
func ExampleHandle() {
	ctx := context.Background()
	site := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "site"}}
	c := fake.NewFakeClient(site) // in an operator: mgr.GetClient()
	step := finalizer.Step{Name: "example.com/row", Cleanup: func(context.Context) error {
		fmt.Println("deleting the row")
		return nil
	}}

	_ = c.Get(ctx, client.ObjectKeyFromObject(site), site)
	result, err := finalizer.Handle(ctx, c, site, step)
	fmt.Println(result.Done, site.Finalizers, err)

	_ = c.Delete(ctx, site)
	_ = c.Get(ctx, client.ObjectKeyFromObject(site), site)
	result, err = finalizer.Handle(ctx, c, site, step)
	fmt.Println(result.Done, site.Finalizers, err)

	// Output:
	// false [example.com/row] <nil>
	// deleting the row
	// true [] <nil>
}

// If a Cleanup fails, its finalizer stays. Report the error in a condition, for the person who waits
// for the deletion.
func ExampleStep() {
	ctx := context.Background()
	site := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "site",
		Finalizers: []string{"example.com/row"}, DeletionTimestamp: new(metav1.Now()),
	}}
	c := fake.NewFakeClient(site)

	result, err := finalizer.Handle(ctx, c, site, finalizer.Step{Name: "example.com/row", Cleanup: func(context.Context) error {
		return errors.New("the database is out of reach")
	}})
	fmt.Println(result.Done, site.Finalizers)
	fmt.Println(err)

	// Output:
	// true [example.com/row]
	// cannot clean up for finalizer "example.com/row" of ConfigMap "default/site": the database is out of reach
}

// A Cleanup that waits causes no error.
func ExampleNotDone() {
	ctx := context.Background()
	site := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "site",
		Finalizers: []string{"example.com/database"}, DeletionTimestamp: new(metav1.Now()),
	}}
	c := fake.NewFakeClient(site)

	result, err := finalizer.Handle(ctx, c, site, finalizer.Step{Name: "example.com/database", Cleanup: func(context.Context) error {
		return finalizer.NotDone(10*time.Second, "the database has open connections")
	}})
	fmt.Println(result.Done, result.After, result.Reason, err)

	// Output:
	// true 10s the database has open connections <nil>
}
