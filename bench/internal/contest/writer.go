package contest

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trueup-go/trueup/ensure"
)

// A Writer creates or updates a child of an owner.
type Writer func(ctx context.Context, owner client.Object, c Child, desired client.Object) error

// A Contestant is a way to write one child.
type Contestant struct {
	Name string
	// Start returns the writer of a new operator, without any memory.
	Start func(c client.Client, fieldOwner string) Writer
	// Remembers says that a writer has a memory of earlier passes.
	Remembers bool
}

// The names of the contestants.
const (
	Trueup      = "trueup"
	AsUsual     = "CreateOrUpdate, as usual"
	AllDefaults = "CreateOrUpdate, with all defaults"
	PlainApply  = "server-side apply in each pass"
)

// Contestants returns the ways to write one child that need no more than controller-runtime, and trueup.
func Contestants() []Contestant {
	return []Contestant{
		{Name: Trueup, Start: ensureObject, Remembers: true},
		{Name: AsUsual, Start: StartMutating(controllerutil.CreateOrUpdate, Child.Assign)},
		{Name: AllDefaults, Start: StartMutating(controllerutil.CreateOrUpdate, Child.AssignWithDefaults)},
		{Name: PlainApply, Start: StartApply},
	}
}

func ensureObject(c client.Client, fieldOwner string) Writer {
	e := ensure.New(c, c, fieldOwner)
	return func(ctx context.Context, owner client.Object, _ Child, desired client.Object) error {
		_, err := ensure.Object(ctx, e, desired, ensure.ControlledBy(owner))
		return err
	}
}

// CreateOr is CreateOrUpdate or CreateOrPatch of controller-runtime.
type CreateOr func(context.Context, client.Client, client.Object, controllerutil.MutateFn) (controllerutil.OperationResult, error)

// StartMutating returns the start of a writer that calls write. assign sets the fields that the operator decides, and the
// writer the owner reference.
func StartMutating(write CreateOr, assign func(c Child, live, desired client.Object)) func(client.Client, string) Writer {
	return func(c client.Client, _ string) Writer {
		return func(ctx context.Context, owner client.Object, child Child, desired client.Object) error {
			live := child.Empty()
			live.SetNamespace(desired.GetNamespace())
			live.SetName(desired.GetName())
			_, err := write(ctx, c, live, func() error {
				assign(child, live, desired)
				return controllerutil.SetControllerReference(owner, live, c.Scheme())
			})
			return err
		}
	}
}

// StartApply returns a writer that applies the child in each pass, without a read.
func StartApply(c client.Client, fieldOwner string) Writer {
	return func(ctx context.Context, owner client.Object, child Child, desired client.Object) error {
		untyped, err := child.Untyped(owner, desired, c.Scheme())
		if err != nil {
			return err
		}
		configuration := client.ApplyConfigurationFromUnstructured(untyped)
		return c.Apply(ctx, configuration, client.ForceOwnership, client.FieldOwner(fieldOwner))
	}
}

// Untyped returns the desired child as a server-side apply takes it.
func (c Child) Untyped(owner, desired client.Object, scheme *runtime.Scheme) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(desired)
	if err != nil {
		return nil, err
	}
	untyped := &unstructured.Unstructured{Object: content}
	untyped.SetGroupVersionKind(c.Kind)
	unstructured.RemoveNestedField(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(content, "spec", "template", "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(content, "spec", "strategy") // {} of a Deployment
	return untyped, controllerutil.SetControllerReference(owner, untyped, scheme)
}
