package ensuretest_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/ensuretest"
)

// t is what a test is given. It prints instead of failing, as an example has no test to fail.
var t ensuretest.T = printer{}

type printer struct{}

func (printer) Helper() {}

func (printer) Context() context.Context { return context.Background() }

func (printer) Fatalf(format string, args ...any) {
	fmt.Println(strings.ReplaceAll(fmt.Sprintf(format, args...), "\t", "  "))
}

func settings(text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"},
		Data:       map[string]string{"text": text},
	}
}

// The first call of Converge runs the reconcile until it stops writing. The second call causes no
// request. After an edit by hand, the third call causes one.
func ExampleConverge() {
	c := ensuretest.NewClient(scheme.Scheme)
	e := ensure.New(c, c.APIReader(), "web-operator")
	reconcile := func(ctx context.Context) error {
		_, err := ensure.Object(ctx, e, settings("hello"))
		return err
	}

	fmt.Println(ensuretest.Converge(t, c, reconcile))
	fmt.Println(ensuretest.Converge(t, c, reconcile))

	edited := settings("goodbye")
	fmt.Println(c.Update(context.Background(), edited, client.FieldOwner("kubectl-edit")))
	fmt.Println(ensuretest.Converge(t, c, reconcile))

	// Output:
	// [apply ConfigMap default/settings: created]
	// []
	// <nil>
	// [apply ConfigMap default/settings: data[text], metadata.annotations[spec-hash.trueup-go.github.io/web-operator]]
}

// Each pass writes its own time. Passes within a second write the same time, so Converge waits for the
// next second.
func ExampleConverge_time() {
	c := ensuretest.NewClient(scheme.Scheme)
	e := ensure.New(c, c.APIReader(), "web-operator")
	ensuretest.Converge(t, c, func(ctx context.Context) error {
		desired := settings("hello")
		desired.Annotations = map[string]string{"example.com/reconciled-at": time.Now().Format(time.RFC3339)}
		_, err := ensure.Object(ctx, e, desired)
		return err
	})

	// Output:
	// the reconcile wrote again 3 times right after a pass that wrote nothing, in another second than before: does it write a time, or in every second pass?
	// the third-last pass:
	//   apply ConfigMap default/settings: metadata.annotations[example.com/reconciled-at], metadata.annotations[spec-hash.trueup-go.github.io/web-operator]
	// the second-last pass: wrote nothing
	// the last pass:
	//   apply ConfigMap default/settings: metadata.annotations[example.com/reconciled-at], metadata.annotations[spec-hash.trueup-go.github.io/web-operator]
}

// Each pass creates a child with another name, and deletes the child of the previous pass.
func ExampleConverge_names() {
	c := ensuretest.NewClient(scheme.Scheme)
	e := ensure.New(c, c.APIReader(), "web-operator")
	number := 0
	ensuretest.Converge(t, c, func(ctx context.Context) error {
		wanted, leftover := settings("hello"), settings("")
		number++
		wanted.Name, leftover.Name = fmt.Sprintf("settings-%d", number), fmt.Sprintf("settings-%d", number-1)
		if _, err := ensure.Object(ctx, e, wanted); err != nil {
			return err
		}
		_, err := ensure.Absent(ctx, e, leftover)
		return err
	})

	// Output:
	// the reconcile still writes in pass 30
	// the third-last pass:
	//   apply ConfigMap default/settings-28: created
	//   delete ConfigMap default/settings-27: gone
	// the second-last pass:
	//   apply ConfigMap default/settings-29: created
	//   delete ConfigMap default/settings-28: gone
	// the last pass:
	//   apply ConfigMap default/settings-30: created
	//   delete ConfigMap default/settings-29: gone
}

// Objects have a UID and a creationTimestamp. An update that changes nothing returns the same
// resourceVersion.
func ExampleNewClient() {
	c := ensuretest.NewClient(scheme.Scheme, settings("hello"))
	live := &corev1.ConfigMap{}
	err := c.Get(context.Background(), client.ObjectKeyFromObject(settings("")), live)
	fmt.Println(live.UID != "", !live.CreationTimestamp.IsZero(), err)

	version := live.ResourceVersion
	err = c.Update(context.Background(), live) // with nothing that is new
	fmt.Println(live.ResourceVersion == version, err)

	// Output:
	// true true <nil>
	// true <nil>
}

// Count records the requests of any client and reader, such as those of a manager with envtest.
func ExampleCount() {
	cached := fake.NewFakeClient() // in a cluster: mgr.GetClient()
	reader := cached               // and mgr.GetAPIReader()
	c := ensuretest.Count(cached, reader)
	e := ensure.New(c, c.APIReader(), "web-operator")

	_, err := ensure.Object(context.Background(), e, settings("hello"))
	fmt.Println(c.Requests(), err)

	// Output:
	// [apply ConfigMap default/settings: created] <nil>
}

// Writes count as requests, of the status as well. Reads through the Client do not count.
func ExampleClient() {
	ctx := context.Background()
	c := ensuretest.NewClient(scheme.Scheme)
	web := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}

	fmt.Println(c.Create(ctx, web))
	web.Status.Replicas = 1
	fmt.Println(c.Status().Update(ctx, web))
	fmt.Println(c.Get(ctx, client.ObjectKeyFromObject(web), web))
	fmt.Println(c.DeleteAllOf(ctx, web, client.InNamespace("default")))

	for _, request := range c.Requests() {
		fmt.Println(request)
	}
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// <nil>
	// create ReplicaSet default/web: created
	// update status of ReplicaSet default/web: status.replicas 0 -> 1
	// deletecollection ReplicaSet in default
}

// Reads through the APIReader count as requests, and reads through the Client do not.
func ExampleClient_APIReader() {
	ctx := context.Background()
	c := ensuretest.NewClient(scheme.Scheme, settings("hello"))

	fmt.Println(c.Get(ctx, client.ObjectKeyFromObject(settings("")), settings("")))
	fmt.Println(c.Requests())
	fmt.Println(c.APIReader().Get(ctx, client.ObjectKeyFromObject(settings("")), settings("")))
	fmt.Println(c.Requests())

	// Output:
	// <nil>
	// []
	// <nil>
	// [get ConfigMap default/settings]
}

// A test can check each request, including failed requests.
func ExampleClient_Requests() {
	ctx := context.Background()
	c := ensuretest.NewClient(scheme.Scheme, settings("hello"))
	_ = c.Update(ctx, settings("goodbye"))
	_ = c.Delete(ctx, settings(""))
	_ = c.Delete(ctx, settings(""))

	for _, request := range c.Requests() {
		fmt.Println(request.Verb, request.Kind.Kind, request.Key, request.IsWrite(), request.Changes, request.Err)
	}
	// Output:
	// update ConfigMap default/settings true [data[text]] <nil>
	// delete ConfigMap default/settings true [] <nil>
	// delete ConfigMap default/settings true [] configmaps "settings" not found
}

// A test sees each request of an operator on one line. The line shows numbers and booleans only.
func ExampleRequest_String() {
	ctx := context.Background()
	c := ensuretest.NewClient(scheme.Scheme)
	web := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       appsv1.ReplicaSetSpec{Replicas: new(int32(2))},
	}
	_ = c.Create(ctx, web)
	web.Spec.Replicas, web.Labels = new(int32(3)), map[string]string{"app": "web"}
	_ = c.Update(ctx, web)

	for _, request := range c.Requests() {
		fmt.Println(request.String())
	}
	// Output:
	// create ReplicaSet default/web: created
	// update ReplicaSet default/web: metadata.labels[app], spec.replicas 2 -> 3
}

func ExampleRequest_IsWrite() {
	ctx := context.Background()
	c := ensuretest.NewClient(scheme.Scheme)
	_ = c.Create(ctx, settings("hello"), client.DryRunAll)
	_ = c.Create(ctx, settings("hello"))
	_ = c.APIReader().Get(ctx, client.ObjectKeyFromObject(settings("")), settings(""))

	for _, request := range c.Requests() {
		fmt.Println(request.Verb, request.DryRun, request.IsWrite())
	}
	// Output:
	// create true false
	// create false true
	// get false false
}

// A test adds an index to the fake client. Since controller-runtime v0.25, fake.AddIndex takes c, too.
func ExampleClient_Unwrap() {
	c := ensuretest.NewClient(scheme.Scheme, settings("hello"))
	err := fake.AddIndex(c.Unwrap(), &corev1.ConfigMap{}, "metadata.name", func(obj client.Object) []string { return []string{obj.GetName()} })
	fmt.Println(err)

	list := &corev1.ConfigMapList{}
	err = c.List(context.Background(), list, client.MatchingFields{"metadata.name": "settings"})
	fmt.Println(len(list.Items), err)
	// Output:
	// <nil>
	// 1 <nil>
}
