package main

import (
	"context"
	"slices"

	"github.com/fluxcd/pkg/ssa"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trueup-go/trueup/bench/internal/contest"
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
		{contest.Trueup, startTrueup},
		{contest.AsUsual, startEach(contest.StartMutating(controllerutil.CreateOrUpdate, contest.Child.Assign))},
		{contest.AllDefaults, startEach(contest.StartMutating(controllerutil.CreateOrUpdate, contest.Child.AssignWithDefaults))},
		{"CreateOrPatch, as usual", startEach(contest.StartMutating(controllerutil.CreateOrPatch, contest.Child.Assign))},
		{contest.PlainApply, startEach(contest.StartApply)},
		{"fluxcd/pkg/ssa", startFlux},
	}
}

func startTrueup(c clients) writer {
	e := ensure.New(c, c.server, c.fieldOwner)
	return func(ctx context.Context, owner client.Object, revision int) error {
		var desired []client.Object
		for _, child := range children() {
			desired = append(desired, child.Desired(owner, revision))
		}
		_, err := ensure.Set(ctx, e, owner, desired)
		return err
	}
}

// mostUsed and onlyApplies return the indexes of the contestants that others are compared with.
func mostUsed() int    { return indexOf(contest.AsUsual) }
func onlyApplies() int { return indexOf(contest.PlainApply) }

func indexOf(name string) int {
	return slices.IndexFunc(contestants(), func(c contestant) bool { return c.name == name })
}

// startEach has a writer of single children write each child.
func startEach(start func(c client.Client, fieldOwner string) contest.Writer) func(clients) writer {
	return func(c clients) writer {
		write := start(c, c.fieldOwner)
		return func(ctx context.Context, owner client.Object, revision int) error {
			for _, child := range children() {
				if err := write(ctx, owner, child.Child, child.Desired(owner, revision)); err != nil {
					return err
				}
			}
			return nil
		}
	}
}

func startFlux(c clients) writer {
	manager := ssa.NewResourceManager(c, nil, ssa.Owner{Field: c.fieldOwner, Group: contest.Group})
	return func(ctx context.Context, owner client.Object, revision int) error {
		for _, child := range children() {
			desired, err := child.Untyped(owner, child.Desired(owner, revision), c.Scheme())
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
