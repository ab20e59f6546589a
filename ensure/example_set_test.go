package ensure_test

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/ensure"
)

// anOwner is the operator's own object, as it was read.
func anOwner() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop", UID: "1c8e"}}
}

// Set ensures the children in order, and deletes the ConfigMap once it is no longer among them.
func ExampleSet() {
	ctx := context.Background()
	c := fake.NewFakeClient(anOwner())
	e := ensure.New(c, c, "web-operator")

	text, web := greeting(), webDeployment()
	children, err := ensure.Set(ctx, e, anOwner(), []client.Object{text, web}, ensure.Prune(&corev1.ConfigMap{}))
	fmt.Println(children.Children[0].Operation, children.Children[1].Operation, err)
	fmt.Println("replicas:", *ensure.ResultOf(children, web).Live.Spec.Replicas)

	children, err = ensure.Set(ctx, e, anOwner(), []client.Object{web}, ensure.Prune(&corev1.ConfigMap{}))
	fmt.Println(ensure.ResultOf(children, web).Operation, err)
	for _, pruned := range children.Pruned {
		fmt.Println(pruned.Live.GetName(), pruned.Operation)
	}

	// Output:
	// Created Created <nil>
	// replicas: 2
	// Unchanged <nil>
	// greeting Deleting
}

// Only one of the children may be adopted.
func ExampleOnlyFor() {
	c := fake.NewFakeClient(greeting(), anOwner()) // somebody else's
	e := ensure.New(c, c, "web-operator")

	text, web := greeting(), webDeployment()
	children, err := ensure.Set(context.Background(), e, anOwner(), []client.Object{text, web}, ensure.OnlyFor(text, ensure.Adopt()))
	fmt.Println(ensure.ResultOf(children, text).Cause, ensure.ResultOf(children, web).Cause, err)
	// Output: Adopted Missing <nil>
}

// A child that fails does not hold up the others.
func ExampleContinueOnError() {
	c := fake.NewFakeClient(greeting(), anOwner()) // somebody else's
	e := ensure.New(c, c, "web-operator")

	text, web := greeting(), webDeployment()
	children, err := ensure.Set(context.Background(), e, anOwner(), []client.Object{text, web}, ensure.ContinueOnError())
	fmt.Println(ensure.ResultOf(children, web).Operation, ensure.Reason(err))
	// Output: Created Foreign
}

// Set prunes only objects that this operator created for this owner.
func ExamplePrune() {
	ctx := context.Background()
	theirs := greeting()
	theirs.Name = "theirs"
	c := fake.NewFakeClient(theirs, anOwner())
	e := ensure.New(c, c, "web-operator")
	_, err := ensure.Set(ctx, e, anOwner(), []client.Object{greeting()})
	fmt.Println(err)

	children, err := ensure.Set(ctx, e, anOwner(), nil, ensure.Prune(&corev1.ConfigMap{}))
	fmt.Println(len(children.Pruned), children.Pruned[0].Live.GetName(), err)

	// Output:
	// <nil>
	// 1 greeting <nil>
}

// A StatefulSet creates its claims, and the operator only enlarges them.
func ExampleIfExists() {
	c := fake.NewFakeClient()
	e := ensure.New(c, c, "web-operator")

	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data-web-0"}}
	result, err := ensure.Object(context.Background(), e, claim, ensure.IfExists(), ensure.Adopt())
	fmt.Println(result.Operation, result.Live == nil, err)
	// Output: Gone true <nil>
}

// The operator creates an initial configuration, which users may then edit.
func ExampleIfMissing() {
	ctx := context.Background()
	c := fake.NewFakeClient()
	e := ensure.New(c, c, "web-operator")
	result, err := ensure.Object(ctx, e, greeting(), ensure.IfMissing())
	fmt.Println(result.Operation, err)

	edited := result.Live
	edited.Data["text"] = "good morning"
	fmt.Println(c.Update(ctx, edited))

	result, err = ensure.Object(ctx, e, greeting(), ensure.IfMissing())
	fmt.Println(result.Operation, result.Live.Data["text"], err)

	// Output:
	// Created <nil>
	// <nil>
	// Unchanged good morning <nil>
}

// The API server computes the result and stores nothing.
func ExampleDryRun() {
	ctx := context.Background()
	c := fake.NewFakeClient()
	e := ensure.New(c, c, "web-operator")

	result, err := ensure.Object(ctx, e, greeting(), ensure.DryRun())
	fmt.Println(result.Operation, result.Cause, err)
	fmt.Println(apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(greeting()), greeting())))

	// Output:
	// Created Missing <nil>
	// true
}

// Some fields cannot change after the creation, such as the role of a RoleBinding.
func ExampleRecreate() {
	ctx := context.Background()
	c := interceptor.NewClient(fake.NewFakeClient(), interceptor.Funcs{Patch: refusesOtherText})
	e := ensure.New(c, c, "web-operator")
	_, err := ensure.Object(ctx, e, greeting())
	fmt.Println(err)

	desired := greeting()
	desired.Data["text"] = "good morning"
	_, err = ensure.Object(ctx, e, desired)
	fmt.Println(errors.Is(err, ensure.ErrImmutable), ensure.Reason(err))

	result, err := ensure.Object(ctx, e, desired, ensure.Recreate(metav1.DeletePropagationBackground))
	fmt.Println(result.Operation, result.Cause, result.Changes, err)

	// Output:
	// <nil>
	// true Immutable
	// Recreated DesiredChanged [data[text]] <nil>
}

// Somebody changed a field, and the API server refuses to revert the change.
func ExampleRecreate_onDrift() {
	ctx := context.Background()
	c := interceptor.NewClient(fake.NewFakeClient(), interceptor.Funcs{Patch: refusesOtherText})
	e := ensure.New(c, c, "web-operator")
	result, err := ensure.Object(ctx, e, greeting())
	fmt.Println(result.Operation, err)

	edited := result.Live
	edited.Data["text"] = "good morning"
	fmt.Println(c.Update(ctx, edited))

	_, err = ensure.Object(ctx, e, greeting(), ensure.Recreate(metav1.DeletePropagationBackground))
	fmt.Println(errors.Is(err, ensure.ErrImmutable))
	result, err = ensure.Object(ctx, e, greeting(), ensure.Recreate(metav1.DeletePropagationBackground, ensure.OnDrift))
	fmt.Println(result.Operation, result.Cause, result.Live.Data["text"], err)

	// Output:
	// Created <nil>
	// <nil>
	// true
	// Recreated Drifted hello <nil>
}

// refusesOtherText is what the API server does with an immutable ConfigMap.
func refusesOtherText(
	ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption,
) error {
	live, sent := &corev1.ConfigMap{}, &corev1.ConfigMap{}
	body, err := patch.Data(obj)
	if err == nil && patch.Type() == types.ApplyPatchType {
		err = yaml.Unmarshal(body, sent)
	}
	if err != nil {
		return err
	}
	isThere := c.Get(ctx, client.ObjectKeyFromObject(obj), live) == nil
	if isThere && patch.Type() == types.ApplyPatchType && sent.Data["text"] != live.Data["text"] {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, obj.GetName(),
			field.ErrorList{field.Forbidden(field.NewPath("data"), "field is immutable when `immutable` is set")})
	}
	return c.Patch(ctx, obj, patch, opts...)
}
