package ensure_test

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trueup-go/trueup/ensure"
)

// An earlier version of the operator used controllerutil.CreateOrUpdate, and set a key that desired no
// longer has.
func ExampleMigrateFrom() {
	ctx := context.Background()
	c := fake.NewClientBuilder().WithReturnManagedFields().Build()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "app", UID: "1", ResourceVersion: "1"}}

	old := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "greeting"}}
	_, err := controllerutil.CreateOrUpdate(ctx, client.WithFieldOwner(c, "manager"), old, func() error {
		old.Data = map[string]string{"text": "hello", "tone": "friendly"}
		return controllerutil.SetControllerReference(owner, old, c.Scheme())
	})
	fmt.Println(old.Data, err)

	e := ensure.New(c, c, "greeting-operator")
	result, err := ensure.Object(ctx, e, greeting(), ensure.ControlledBy(owner), ensure.MigrateFrom("manager"))
	fmt.Println(result.Operation, result.Cause, err)
	fmt.Println(result.Live.Data)
	fmt.Println(result.Kept)

	result, err = ensure.Object(ctx, e, greeting(), ensure.ControlledBy(owner), ensure.MigrateFrom("manager"))
	fmt.Println(result.Operation, err)

	// Output:
	// map[text:hello tone:friendly] <nil>
	// Updated Migrated <nil>
	// map[text:hello tone:friendly]
	// [data[tone] (set by manager)]
	// Unchanged <nil>
}

// From now on, an autoscaler decides the number of replicas.
func ExampleRelease() {
	ctx := context.Background()
	c := fake.NewClientBuilder().WithReturnManagedFields().Build()
	e := ensure.New(c, c, "web-operator")

	result, err := ensure.Object(ctx, e, webDeployment())
	fmt.Println(result.Operation, *result.Live.Spec.Replicas, err)

	autoscaled := webDeployment()
	autoscaled.Spec.Replicas = nil
	result, err = ensure.Object(ctx, e, autoscaled, ensure.Release("spec.replicas"))
	fmt.Println(result.Operation, *result.Live.Spec.Replicas, err)

	_, err = ensure.Object(ctx, e, webDeployment(), ensure.Release("spec.replicas"))
	fmt.Println(err)

	// Output:
	// Created 2 <nil>
	// Updated 2 <nil>
	// cannot ensure Deployment "default/web": Refused: spec.replicas is released, so leave it out of desired (the owner, the digest and the labels of ensure.WithLabels are part of desired)
}

// An earlier version of the operator restarted pods by an annotation in the pod template. A migration keeps it, which
// Result.Kept says, and a later release may remove it.
func ExampleRetire() {
	ctx := context.Background()
	c := fake.NewClientBuilder().WithReturnManagedFields().Build()
	old := webDeployment()
	old.Spec.Template.Annotations = map[string]string{"restarted": "today"}
	fmt.Println(client.WithFieldOwner(c, "manager").Create(ctx, old))

	e := ensure.New(c, c, "web-operator")
	opts := []ensure.Option{ensure.Adopt(), ensure.MigrateFrom("manager")}
	result, err := ensure.Object(ctx, e, webDeployment(), opts...)
	fmt.Println(result.Cause, result.Kept, err)

	opts = append(opts, ensure.Retire("spec.template.metadata.annotations[restarted]"))
	result, err = ensure.Object(ctx, e, webDeployment(), opts...)
	fmt.Println(result.Cause, result.Changes, err)

	// Output:
	// <nil>
	// Migrated [spec.template.metadata.annotations[restarted] (set by manager)] <nil>
	// Migrated [spec.template.metadata.annotations[restarted] (set by manager)] <nil>
}

// The operator had another name for its field owner.
func ExampleFormerFieldOwners() {
	ctx := context.Background()
	c := fake.NewClientBuilder().WithReturnManagedFields().Build()
	former := greeting()
	former.Data["tone"] = "friendly"
	_, err := ensure.Object(ctx, ensure.New(c, c, "hello-operator"), former)
	fmt.Println(err)

	e := ensure.New(c, c, "greeting-operator", ensure.FormerFieldOwners("hello-operator"))
	result, err := ensure.Object(ctx, e, greeting())
	fmt.Println(result.Cause, result.Live.Data, err)

	// Output:
	// <nil>
	// Migrated map[text:hello] <nil>
}

// A Secret that somebody made keeps its password, unless the caller insists.
func ExampleOverwriteData() {
	ctx := context.Background()
	c := fake.NewClientBuilder().WithReturnManagedFields().Build()
	secret := func(password string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "database"},
			Data:       map[string][]byte{"password": []byte(password)},
		}
	}
	fmt.Println(client.WithFieldOwner(c, "kubectl").Create(ctx, secret("in use")))

	e := ensure.New(c, c, "database-operator")
	_, err := ensure.Object(ctx, e, secret("generated"), ensure.Adopt())
	fmt.Println(errors.Is(err, ensure.ErrRefused))
	result, err := ensure.Object(ctx, e, secret("generated"), ensure.Adopt(), ensure.OverwriteData())
	fmt.Println(result.Operation, err)

	// Output:
	// <nil>
	// true
	// Updated <nil>
}
