package main

import (
	"context"
	_ "embed"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trueup-go/trueup/ensure"
)

const fieldOwner = "shop-operator"

// comparePasses compares passes in which the live object matches. The desired object is built before
// the measurement, because the reconciler builds it for both.
func (opts options) comparePasses(ctx context.Context, chosen []objectCase) (section, error) {
	s := section{Title: "Nothing to do", Text: passText, Columns: []string{"object", "time", "allocations", "of which the deep copy"}}
	for _, c := range chosen {
		ours, err := ensureNothing(ctx, c)
		if err != nil {
			return s, fmt.Errorf("%s: %w", c.name, err)
		}
		theirs, err := createOrUpdateNothing(ctx, c)
		if err != nil {
			return s, fmt.Errorf("%s: %w", c.name, err)
		}
		goal := c.goal()
		figures := func(costs []cost) []figure {
			return []figure{
				{value: costs[0].ns / costs[1].ns, most: goal.nothing},
				{value: costs[0].allocs / costs[1].allocs, most: goal.nothingAllocs},
				{value: costs[2].ns / costs[0].ns},
			}
		}
		row, err := opts.measureRow(figures, ours, theirs, deepCopy(c))
		if err != nil {
			return s, fmt.Errorf("%s: %w", c.name, err)
		}
		s.add(c.name, row)
	}
	return s, nil
}

func ensureNothing(ctx context.Context, s objectCase) (func() error, error) {
	live, err := adopted(ctx, s)
	if err != nil {
		return nil, err
	}
	c, err := newStore(live)
	if err != nil {
		return nil, err
	}
	e := ensure.New(c, c, fieldOwner)
	owner, desired := shop(), s.desired()
	pass := func() error {
		res, err := ensure.Object(ctx, e, desired, ensure.ControlledBy(owner))
		if err == nil && res.Operation != ensure.Unchanged {
			err = fmt.Errorf("ensured %s: %s", s.name, res.Operation)
		}
		return err
	}
	return pass, pass()
}

// adopted returns the live object, with owner reference and managed fields, after an operator with trueup has adopted it.
func adopted(ctx context.Context, s objectCase) (client.Object, error) {
	live := s.live()
	c, err := newStore(live)
	if err != nil {
		return nil, err
	}
	c.acceptsWrites = true
	_, err = ensure.Object(ctx, ensure.New(c, c, fieldOwner), s.desired(), ensure.ControlledBy(shop()), ensure.Adopt())
	return live, err
}

func createOrUpdateNothing(ctx context.Context, s objectCase) (func() error, error) {
	live, err := adopted(ctx, s)
	if err != nil {
		return nil, err
	}
	c, err := newStore(live)
	if err != nil {
		return nil, err
	}
	owner, key := shop(), client.ObjectKeyFromObject(live)
	return func() error {
		object := s.empty()
		object.SetNamespace(key.Namespace)
		object.SetName(key.Name)
		operation, err := controllerutil.CreateOrUpdate(ctx, c, object, func() error {
			s.mutate(object)
			return controllerutil.SetControllerReference(owner, object, c.scheme)
		})
		if err == nil && operation != controllerutil.OperationResultNone {
			err = fmt.Errorf("created or updated %s: %s", s.name, operation)
		}
		return err
	}, nil
}

// deepCopy measures the deep copy that a cached read makes for both.
func deepCopy(s objectCase) func() error {
	live := s.live()
	return func() error {
		_ = live.DeepCopyObject()
		return nil
	}
}

//go:embed text/pass.md
var passText string
