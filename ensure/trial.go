package ensure

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
)

// maxAlone bounds the obstacles that are tried one at a time.
const maxAlone = 8

// find returns the obstacles that have to go, by trials: a single one if that suffices, else the
// fewest. It returns none if removing all of them does not suffice.
func (r *repair) find(ctx context.Context, all []obstacle.Obstacle) ([]obstacle.Obstacle, error) {
	for i := range min(len(all), maxAlone) {
		alone := all[i : i+1]
		if ok, err := r.try(ctx, alone); err != nil {
			return nil, err
		} else if ok {
			return r.narrow(ctx, alone)
		}
	}
	if len(all) < 2 {
		return nil, nil
	}
	return r.fewest(ctx, all)
}

// fewest returns the obstacles, or items of them, that have to go together. It returns none if removing
// all of them does not suffice.
func (r *repair) fewest(ctx context.Context, obstacles []obstacle.Obstacle) ([]obstacle.Obstacle, error) {
	needed, err := r.least(ctx, obstacles, nil)
	if err != nil {
		return nil, err
	}
	return r.narrow(ctx, needed)
}

// narrow replaces each list and map among obstacles by the items that have to go, if the other items
// can stay.
func (r *repair) narrow(ctx context.Context, obstacles []obstacle.Obstacle) ([]obstacle.Obstacle, error) {
	for i, whole := range slices.Backward(obstacles) {
		inside := r.merge.Inside(whole)
		if len(inside) < 2 {
			continue
		}
		tried, others := r.tried, slices.Delete(slices.Clone(obstacles), i, i+1)
		needed, err := r.least(ctx, inside, others)
		switch {
		case err != nil:
			return nil, err
		case len(needed) == 0 || len(needed) == len(inside):
			r.tried = tried
		default:
			obstacles = slices.Insert(others, i, needed...)
		}
	}
	return obstacles, nil
}

// findUnowned returns the obstacles that have to go if, beside the owned ones, fields without an owner
// may go.
func (r *repair) findUnowned(ctx context.Context, owned []obstacle.Obstacle) ([]obstacle.Obstacle, error) {
	if r.unowned {
		return nil, nil
	}
	if err := r.addUnowned(ctx); err != nil {
		return nil, err
	}
	all := r.merge.Obstacles(answer.Fields(r.refusal))
	if len(all) <= len(owned) {
		return nil, nil
	}
	return r.fewest(ctx, all)
}

// least returns the obstacles that have to go, beside others, to make the merge valid. It returns nil
// if the merge is invalid even without all of them. The least likely obstacles are put back first.
func (r *repair) least(ctx context.Context, obstacles, beside []obstacle.Obstacle) ([]obstacle.Obstacle, error) {
	ok, err := r.try(ctx, slices.Concat(beside, obstacles))
	if !ok || err != nil {
		return nil, err
	}
	needed := slices.Clone(obstacles)
	for i := len(needed) - 1; i >= 0 && len(needed) > 1; i-- {
		rest := slices.Delete(slices.Clone(needed), i, i+1)
		ok, err := r.try(ctx, slices.Concat(beside, rest))
		if err != nil {
			return nil, err
		}
		if ok {
			needed = rest
		}
	}
	return needed, nil
}

// try reports whether the server would take desired if the obstacles were not there. Only a
// refusal with causes means no.
func (r *repair) try(ctx context.Context, without []obstacle.Obstacle) (bool, error) {
	return r.tryPatch(ctx, r.merge.Trial(without))
}

func (r *repair) tryPatch(ctx context.Context, trial []jsonpatch.Operation) (bool, error) {
	operations := append(managedfields.TestUID(r.live), trial...)
	tried, err := r.patchJSON(ctx, "repair", operations, client.DryRunAll, client.DisableReadYourWritesConsistency)
	if apierrors.IsInvalid(err) && len(answer.Causes(err)) > 0 {
		r.denied = err
		return false, nil
	}
	r.tried = tried
	return err == nil, err
}

// checkDependents refuses to remove fields that are valid beside desired and only need a field that
// desired drops, such as a sidecar of somebody else that mounts one of our volumes.
func (r *repair) checkDependents(ctx context.Context, obstacles []obstacle.Obstacle) error {
	tried := r.tried
	var dependents []obstacle.Obstacle
	for i := range obstacles {
		if !r.merge.IsBesideDropped(obstacles[i]) {
			continue
		}
		others := slices.Delete(slices.Clone(obstacles), i, i+1)
		switch ok, err := r.tryPatch(ctx, r.merge.TrialWithDropped(others)); {
		case err != nil:
			return err
		case ok:
			dependents = append(dependents, obstacles[i])
		}
	}
	r.tried = tried
	if len(dependents) == 0 {
		return nil
	}
	return r.blocked(dependents)
}
