package ensuretest

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// taken takes the dry-run option out of a write's: what is done on a stage is done in full.
func taken(option *[]string) []string {
	dryRun := *option
	*option = nil
	return dryRun
}

// write does a write, and has obj be what is stored then, or what it was if it fails.
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

// attempt does a write, which changes nothing in obj if it fails: no client touches what it
// sends, but controller-runtime's fake client and the store do.
func attempt(obj client.Object, do func() error) error {
	before := obj.DeepCopyObject()
	err := do()
	if err != nil {
		_ = assign(obj, before) // what is no pointer was not changed either
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
	version := "" // what is not stored has none
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
