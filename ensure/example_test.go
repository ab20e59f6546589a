package ensure_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ripemd160" //nolint:staticcheck // the algorithm that some operators' stored digests have
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/hash"
)

// webDeployment says what matters and nothing else.
func webDeployment() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:1.29"}}},
			},
		},
	}
}

func greeting() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "greeting"},
		Data:       map[string]string{"text": "hello"},
	}
}

// The first call creates the Deployment, the second call sends nothing, and the third call reverts an
// edit by somebody else.
func ExampleObject() {
	ctx := context.Background()
	c := fake.NewFakeClient() // in an operator: mgr.GetClient()
	e := ensure.New(c, c, "web-operator")

	result, err := ensure.Object(ctx, e, webDeployment())
	fmt.Println(result.Operation, result.Cause, err)

	result, err = ensure.Object(ctx, e, webDeployment())
	fmt.Println(result.Operation, err)

	scaled := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":5}}`))
	fmt.Println(c.Patch(ctx, webDeployment(), scaled))

	result, err = ensure.Object(ctx, e, webDeployment())
	fmt.Println(result.Operation, result.Cause, result.Changes, err)
	fmt.Println("replicas:", *result.Live.Spec.Replicas)

	// Output:
	// Created Missing <nil>
	// Unchanged <nil>
	// <nil>
	// Updated Drifted [spec.replicas 5 -> 2] <nil>
	// replicas: 2
}

// A reconcile calls Absent for a child that is no longer desired, until the child is gone.
func ExampleAbsent() {
	ctx := context.Background()
	c := fake.NewFakeClient()
	e := ensure.New(c, c, "web-operator")
	_, err := ensure.Object(ctx, e, greeting())
	fmt.Println(err)

	unwanted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "greeting"}}
	for range 2 {
		result, err := ensure.Absent(ctx, e, unwanted)
		fmt.Println(result.Operation, err)
	}

	// Output:
	// <nil>
	// Deleting <nil>
	// Gone <nil>
}

// Absent deletes an adopted object only with DeleteAdopted. Otherwise, the object only loses the
// operator's label.
func ExampleDeleteAdopted() {
	ctx := context.Background()
	c := fake.NewFakeClient(greeting()) // somebody else's
	e := ensure.New(c, c, "web-operator")
	unwanted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "greeting"}}
	labelled := unwanted.DeepCopy()
	labelled.Labels = map[string]string{"site": "web"}

	for _, opts := range [][]ensure.AbsentOption{nil, {ensure.DeleteAdopted()}} {
		adopted, err := ensure.Object(ctx, e, labelled, ensure.Adopt())
		fmt.Println(adopted.Operation, adopted.Cause, err)
		result, err := ensure.Absent(ctx, e, unwanted, opts...)
		fmt.Println(result.Operation, result.Cause, err)
	}

	// Output:
	// Updated Adopted <nil>
	// Released Unwanted <nil>
	// Updated Adopted <nil>
	// Deleting Unwanted <nil>
}

// The API server deletes the ReplicaSets and pods before the Deployment.
func ExamplePropagation() {
	ctx := context.Background()
	c := fake.NewFakeClient()
	e := ensure.New(c, c, "web-operator")

	_, err := ensure.Object(ctx, e, webDeployment())
	fmt.Println(err)

	result, err := ensure.Absent(ctx, e, webDeployment(), ensure.Propagation(metav1.DeletePropagationForeground))
	fmt.Println(result.Operation, err)
	// Output:
	// <nil>
	// Deleting <nil>
}

// Create one Ensurer for each controller when the manager is set up:
//
//	ensure.New(mgr.GetClient(), mgr.GetAPIReader(), "web-operator")
//
// The first call reports invalid arguments of New.
func ExampleNew() {
	c := fake.NewFakeClient()

	result, err := ensure.Object(context.Background(), ensure.New(c, c, "web-operator"), greeting())
	fmt.Println(result.Live.Annotations, err)

	_, err = ensure.Object(context.Background(), ensure.New(c, c, "example.com/web-operator"), greeting())
	fmt.Println(errors.Is(err, ensure.ErrRefused))

	// Output:
	// map[spec-hash.trueup-go.github.io/web-operator:v1-badefca5b8ad1afd2c578f338d6ac409] <nil>
	// true
}

func ExampleControlledBy() {
	c := fake.NewFakeClient()
	e := ensure.New(c, c, "web-operator")
	owner := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1c8e"}} // as it was read

	desired := greeting()
	desired.Namespace = "" // the owner's
	result, err := ensure.Object(context.Background(), e, desired, ensure.ControlledBy(owner))
	ref := result.Live.OwnerReferences[0]
	fmt.Println(result.Live.Namespace, ref.Kind, ref.Name, ref.UID, *ref.Controller, err)

	desired.Namespace = "elsewhere" // owner references do not cross namespaces
	_, err = ensure.Object(context.Background(), e, desired, ensure.ControlledBy(owner))
	fmt.Println(errors.Is(err, ensure.ErrRefused))

	// Output:
	// shop Service web 1c8e true <nil>
	// true
}

// An object of somebody else stays unchanged, unless Adopt is given.
func ExampleAdopt() {
	ctx := context.Background()
	theirs := greeting()
	theirs.Data = map[string]string{"text": "hi"}
	c := fake.NewFakeClient(theirs)
	e := ensure.New(c, c, "web-operator")

	_, err := ensure.Object(ctx, e, greeting())
	fmt.Println(errors.Is(err, ensure.ErrForeign))

	result, err := ensure.Object(ctx, e, greeting(), ensure.Adopt())
	fmt.Println(result.Operation, result.Cause, result.Live.Data["text"], err)

	// Output:
	// true
	// Updated Adopted hello <nil>
}

// A filtered cache can select the children by the labels.
func ExampleWithLabels() {
	c := fake.NewFakeClient()
	e := ensure.New(c, c, "web-operator", ensure.WithLabels(map[string]string{"managed-by": "web-operator"}))

	result, err := ensure.Object(context.Background(), e, greeting())
	fmt.Println(result.Live.Labels, err)

	// Output:
	// map[managed-by:web-operator] <nil>
}

// The operator stores RIPEMD-160 digests in a label.
func ExampleWithDigest() {
	c := fake.NewFakeClient()
	e := ensure.New(c, c, "web-operator", ensure.WithDigest(hash.Using(ripemd160.New), hash.Label("example.com/spec")))

	result, err := ensure.Object(context.Background(), e, greeting())
	fmt.Println(len(result.Live.Labels["example.com/spec"]), len(result.Live.Annotations), err)

	// Output:
	// 40 0 <nil>
}

// If the Ensurer has forgotten a child, it compares the live object with desired.
func ExampleWithMemory() {
	ctx := context.Background()
	c := fake.NewFakeClient()
	e := ensure.New(c, c, "web-operator", ensure.WithMemory(1))

	_, _ = ensure.Object(ctx, e, greeting())
	_, _ = ensure.Object(ctx, e, webDeployment()) // the ConfigMap is forgotten
	result, err := ensure.Object(ctx, e, greeting())
	fmt.Println(result.Operation, err)

	// Output:
	// Unchanged <nil>
}

// The API server's message may quote the object, so errors about sensitive kinds do not contain it.
func ExampleWithSensitive() {
	ctx := context.Background()
	strict := interceptor.NewClient(fake.NewFakeClient(), interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return apierrors.NewForbidden(corev1.Resource("configmaps"), "greeting", errors.New(`no "hello" before noon`))
		},
	})

	_, err := ensure.Object(ctx, ensure.New(strict, strict, "web-operator"), greeting())
	fmt.Println(err)
	careful := ensure.New(strict, strict, "web-operator", ensure.WithSensitive(schema.GroupKind{Kind: "ConfigMap"}))
	_, err = ensure.Object(ctx, careful, greeting())
	fmt.Println(strings.Contains(err.Error(), "hello"))

	// Output:
	// cannot create ConfigMap "default/greeting": Forbidden: no "hello" before noon
	// false
}

// The recorder of a manager is mgr.GetEventRecorder("web-operator").
func ExampleWithRecorder() {
	ctx := context.Background()
	recorder := events.NewFakeRecorder(10)
	c := fake.NewFakeClient()
	e := ensure.New(c, c, "web-operator", ensure.WithRecorder(recorder))

	for _, replicas := range []int32{2, 3, 3} { // the last pass has nothing to do
		web := webDeployment()
		web.Spec.Replicas = &replicas
		if _, err := ensure.Object(ctx, e, web, ensure.ControlledBy(anOwner())); err != nil {
			fmt.Println(err)
		}
	}
	close(recorder.Events)
	for event := range recorder.Events {
		fmt.Println(event)
	}
	// Output:
	// Normal Created created Deployment default/web
	// Normal DesiredChanged updated Deployment default/web: spec.replicas 2 -> 3
}

// Reconcile ends with Retry. The first error took a request, so the next reconcile is in five seconds, and later ones take longer.
// The controller receives the second error, logs it and backs off.
func ExampleRetry() {
	c := fake.NewFakeClient(greeting()) // somebody else's
	ctx := context.Background()
	greeted, err := ensure.Object(ctx, ensure.New(c, c, "web-operator"), greeting())
	result, err := ensure.Retry(ctx, err, greeted)
	fmt.Println(result.RequeueAfter, err)

	result, err = ensure.Retry(ctx, errors.New("no route to host"))
	fmt.Println(result.RequeueAfter, err)

	// Output:
	// 5s <nil>
	// 0s no route to host
}

// The rate limiter is for controller.Options. The wait doubles with each failed reconcile of an object.
func ExampleRateLimiter() {
	limiter := ensure.RateLimiter()
	site := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "site"}}
	fmt.Println(limiter.When(site), limiter.When(site), limiter.When(site))

	limiter.Forget(site) // as the controller does after a success
	fmt.Println(limiter.When(site))

	// Output:
	// 5s 10s 20s
	// 5s
}

func ExampleReason() {
	c := fake.NewFakeClient()
	desired := greeting()
	desired.Name = ""
	_, err := ensure.Object(context.Background(), ensure.New(c, c, "web-operator"), desired)

	condition := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: ensure.Reason(err), Message: err.Error()}
	fmt.Println(condition.Reason)
	fmt.Println(condition.Message)

	// Output:
	// Refused
	// cannot ensure ConfigMap in namespace "default": Refused: metadata.name is required
}

// An error has one class, for errors.Is, and the fields of the type. If the API server responded, the
// error wraps the response.
func ExampleError() {
	forbids := interceptor.NewClient(fake.NewFakeClient(), interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return apierrors.NewForbidden(corev1.Resource("configmaps"), "greeting", errors.New("exceeded quota: few"))
		},
	})
	_, err := ensure.Object(context.Background(), ensure.New(forbids, forbids, "web-operator"), greeting())
	fmt.Println(err)
	fmt.Println(errors.Is(err, ensure.ErrAPI), errors.Is(err, ensure.ErrInvalid), apierrors.IsForbidden(err))

	if failed, ok := errors.AsType[*ensure.Error](err); ok {
		fmt.Println(failed.Operation, failed.Kind.Kind, failed.Key, failed.Reason, failed.After)
	}

	// Output:
	// cannot create ConfigMap "default/greeting": Forbidden: exceeded quota: few
	// true false true
	// create ConfigMap default/greeting Forbidden 5s
}

// Paths names the fields that caused the error.
func ExampleError_paths() {
	c := fake.NewFakeClient()
	desired := greeting()
	desired.ResourceVersion = "1" // a copy of a live object
	_, err := ensure.Object(context.Background(), ensure.New(c, c, "web-operator"), desired)

	if failed, ok := errors.AsType[*ensure.Error](err); ok {
		fmt.Println(failed.Operation, failed.Reason, failed.Paths)
	}

	// Output:
	// ensure Refused [metadata.resourceVersion]
}
