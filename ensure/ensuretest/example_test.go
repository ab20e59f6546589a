package ensuretest_test

import (
	"context"
	"fmt"
	"strings"
	"time"

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

// A reconcile is run until it stops writing. Run again, it has nothing to ask; and what a hand
// changes costs one request.
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

// The classic: each pass notes when it was. The time has whole seconds, so that passes that
// follow each other at once write the same; Converge waits for the next second.
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

// Each pass makes a child of another name, and takes that of the pass before for a leftover.
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
	// the reconcile still writes in pass 20
	// the third-last pass:
	//   apply ConfigMap default/settings-18: created
	//   delete ConfigMap default/settings-17: gone
	// the second-last pass:
	//   apply ConfigMap default/settings-19: created
	//   delete ConfigMap default/settings-18: gone
	// the last pass:
	//   apply ConfigMap default/settings-20: created
	//   delete ConfigMap default/settings-19: gone
}

// What a server fills in, the fake client does, too, where operators depend on it.
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

// Around any client and reader; with envtest, around those of a manager.
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

// Reads through the client are its cache's; reads through the APIReader are requests.
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

// Requests are counted one by one, for whoever wants to know more than Converge tells.
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
