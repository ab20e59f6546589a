package ensuretest

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// taken removes the dry-run option from the options of a write, because a write on a copy of the store
// is carried out.
func taken(option *[]string) []string {
	dryRun := *option
	*option = nil
	return dryRun
}

// write carries out a write, and sets obj to the stored object, or back to its former state if the
// write fails.
func (s *server) write(
	ctx context.Context, c client.WithWatch, obj client.Object, dryRun []string, do func(client.WithWatch, *store) error,
) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return attempt(obj, func() error {
		if len(dryRun) > 0 {
			return s.rehearse(ctx, obj, do)
		}
		if err := do(c, s.store); err != nil {
			return err
		}
		return client.IgnoreNotFound(c.Get(ctx, client.ObjectKeyFromObject(obj), obj))
	})
}

// attempt carries out a write that leaves obj unchanged if it fails. Real clients do not change the
// object that they send, but controller-runtime's fake client and the store do.
func attempt(obj client.Object, do func() error) error {
	before := obj.DeepCopyObject()
	err := do()
	if err != nil {
		_ = assign(obj, before) // an object that is no pointer did not change
	}
	return err
}

// rehearse does a write on a stage that has a copy of the object and nothing else.
func (s *server) rehearse(ctx context.Context, obj client.Object, do func(client.WithWatch, *store) error) error {
	stage := newStore(s.store.scheme, s.store.clock)
	stage.issued = s.store.issued
	live, gvr, err := s.store.live(obj)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	version := "" // an object that is not stored has none
	if err == nil {
		if version, err = stage.put(gvr, live); err != nil {
			return err
		}
	}
	c := s.newFake(stage)
	if err := do(c, stage); err != nil {
		return err
	}
	if err := client.IgnoreNotFound(c.Get(ctx, client.ObjectKeyFromObject(obj), obj)); err != nil {
		return err
	}
	obj.SetResourceVersion(version)
	return nil
}
