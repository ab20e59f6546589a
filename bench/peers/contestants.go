package main

import (
	"context"
	"slices"

	"github.com/fluxcd/pkg/ssa"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trueup-go/trueup/ensure"
)

// A contestant is a way to write children.
type contestant struct {
	name string
	// start returns the writer of a new operator, without any memory.
	start func(clients) writer
}

// clients are the clients that a manager gives an operator.
type clients struct {
	client.Client // reads from the cache

	server client.Reader
	// fieldOwner is the field owner and the user agent of the operator.
	fieldOwner string
}

// A writer creates or updates the children of an owner.
type writer func(ctx context.Context, owner client.Object, revision int) error

func contestants() []contestant {
	return []contestant{
		{"trueup", startTrueup},
		{"CreateOrUpdate, as usual", startEach(controllerutil.CreateOrUpdate, child.assign)},
		{"CreateOrUpdate, with all defaults", startEach(controllerutil.CreateOrUpdate, child.assignWithDefaults)},
		{"CreateOrPatch, as usual", startEach(controllerutil.CreateOrPatch, child.assign)},
		{"server-side apply in each pass", startApply},
		{"fluxcd/pkg/ssa", startFlux},
	}
}

func startTrueup(c clients) writer {
	e := ensure.New(c, c.server, c.fieldOwner)
	return func(ctx context.Context, owner client.Object, revision int) error {
		var desired []client.Object
		for _, child := range children() {
			desired = append(desired, child.desired(owner, revision))
		}
		_, err := ensure.Set(ctx, e, owner, desired)
		return err
	}
}

// mostUsed and onlyApplies return the indexes of the contestants that others are compared with.
func mostUsed() int    { return indexOf("CreateOrUpdate, as usual") }
func onlyApplies() int { return indexOf("server-side apply in each pass") }

func indexOf(name string) int {
	return slices.IndexFunc(contestants(), func(c contestant) bool { return c.name == name })
}

type createOr func(context.Context, client.Client, client.Object, controllerutil.MutateFn) (controllerutil.OperationResult, error)

// startEach calls write for each child. assign sets the fields that the operator decides, and the owner
// reference.
func startEach(write createOr, assign func(c child, live, desired client.Object)) func(clients) writer {
	return func(c clients) writer {
		return func(ctx context.Context, owner client.Object, revision int) error {
			for _, child := range children() {
				desired := child.desired(owner, revision)
				live := child.empty()
				live.SetNamespace(desired.GetNamespace())
				live.SetName(desired.GetName())
				_, err := write(ctx, c, live, func() error {
					assign(child, live, desired)
					return controllerutil.SetControllerReference(owner, live, c.Scheme())
				})
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
}

func startApply(c clients) writer {
	return func(ctx context.Context, owner client.Object, revision int) error {
		for _, child := range children() {
			desired, err := child.untyped(owner, revision, c.Scheme())
			if err != nil {
				return err
			}
			configuration := client.ApplyConfigurationFromUnstructured(desired)
			if err := c.Apply(ctx, configuration, client.ForceOwnership, client.FieldOwner(c.fieldOwner)); err != nil {
				return err
			}
		}
		return nil
	}
}

func startFlux(c clients) writer {
	manager := ssa.NewResourceManager(c, nil, ssa.Owner{Field: c.fieldOwner, Group: group})
	return func(ctx context.Context, owner client.Object, revision int) error {
		for _, child := range children() {
			desired, err := child.untyped(owner, revision, c.Scheme())
			if err != nil {
				return err
			}
			if _, err := manager.Apply(ctx, desired, ssa.DefaultApplyOptions()); err != nil {
				return err
			}
		}
		return nil
	}
}

// untyped returns the desired child as a server-side apply takes it.
func (c child) untyped(owner client.Object, revision int, scheme *runtime.Scheme) (*unstructured.Unstructured, error) {
	desired := c.desired(owner, revision)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(desired)
	if err != nil {
		return nil, err
	}
	untyped := &unstructured.Unstructured{Object: content}
	untyped.SetGroupVersionKind(c.kind)
	unstructured.RemoveNestedField(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(content, "spec", "template", "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(content, "spec", "strategy") // {} of a Deployment
	return untyped, controllerutil.SetControllerReference(owner, untyped, scheme)
}
