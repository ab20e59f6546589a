package story

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reconciles is how many are forced to show that nothing is to do.
const reconciles = 10

// idleCost is the cost of noticing that nothing has to be done.
type idleCost struct{ reconciles, requests int }

// reconcileUnchanged is a chapter of every story.
func (s *story) reconcileUnchanged(ctx context.Context) error {
	s.title(fmt.Sprintf("Nobody touches the %s, and the operator is made to reconcile %d more times.", s.work, reconciles))
	if err := s.touch(ctx, 0); err != nil { // whatever was still on its way
		return err
	}
	began := s.now(ctx)
	for i := range reconciles {
		if err := s.touch(ctx, i+1); err != nil {
			return err
		}
	}
	requests, err := began.requests(ctx)
	if err != nil {
		return err
	}
	if sum(requests) != 0 {
		return fmt.Errorf("expected no request; seen: %v", requests)
	}
	s.idle = idleCost{reconciles: began.reconciled(), requests: sum(requests)}
	s.fact("operator", count(s.idle.reconciles, "reconcile"))
	if s.Own == nil {
		s.fact("requests", fmt.Sprintf("%d for children, dry runs included", s.idle.requests))
		return nil
	}
	s.fact("requests", fmt.Sprintf("%d, reads and dry runs included", s.idle.requests))
	return nil
}

// touch makes the operator reconcile the main object this many times, and waits for the reconciles.
func (s *story) touch(ctx context.Context, times int) error {
	began := s.now(ctx)
	obj := s.blank()
	obj.SetNamespace(s.Namespace)
	obj.SetName(s.name)
	touch := fmt.Sprintf(`{"metadata":{"annotations":{"touched":"%d"}}}`, times)
	if err := s.client.Patch(ctx, obj, client.RawPatch("application/merge-patch+json", []byte(touch))); err != nil {
		return err
	}
	return s.expect(ctx, "a reconcile", func(context.Context) (string, bool) {
		return "none", began.reconciled() > 0
	})
}
