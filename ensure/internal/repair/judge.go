package repair

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/obstacle"
)

// judge returns why no apply can succeed although all that is likely goes, or which others have to go.
func (r *Repair) judge(ctx context.Context, likely []obstacle.Obstacle) ([]obstacle.Obstacle, error) {
	fixed, err := r.findLeast(ctx, r.merge.Fixed(), likely)
	if err != nil {
		return nil, err
	}
	if len(fixed) > 0 {
		return nil, r.blockedError(fixed)
	}
	// Without the obstacles fewer fields may be refused, but no others.
	if r.lastRefusal != nil && !namesAll(r.lastRefusal, r.refusal) && !namesAll(r.refusal, r.lastRefusal) {
		return nil, r.refusal
	}
	if r.isBlind { // then a field without an owner may be in the way
		return nil, r.refusal
	}
	live := r.child.Typed(r.live)
	fine, err := r.tryToCreate(ctx, live, r.refusal)
	if err != nil || !fine {
		return nil, r.refusal
	}
	needed, err := r.findUnlikely(ctx, likely)
	if err == nil && len(needed) == 0 {
		err = r.immutableError(live)
	}
	return needed, err
}

// RefusesDriftOnly reports whether the API server only refuses to revert what others changed: it accepts desired with
// live's values in the fields that desired specifies, that others own, and that our applies do not own. Then desired
// changed nothing that is immutable.
//
// A field that somebody removed as a whole looks as if desired had it newly, and counts as a change of desired.
// Emptied managed fields show no change by others.
func (r *RefusalError) RefusesDriftOnly(ctx context.Context, a *server.Applier) (bool, error) {
	kept, isTaken := r.merge.KeepingTaken()
	if !isTaken {
		return false, nil
	}
	trial := Repair{applier: a, server: a.Server, child: a.Server.Child, live: r.live, merge: kept}
	if ok, err := trial.dryRunWithout(ctx, nil); ok || err != nil {
		return ok, err
	}
	return trial.dryRunWithout(ctx, kept.Obstacles(nil))
}

// namesAll reports whether a refusal names all fields that another one names. Indexes do not
// count: they are those of two different merges.
func namesAll(a, b error) bool {
	fields := fault.WithoutIndexes(answer.Fields(a))
	return !slices.ContainsFunc(fault.WithoutIndexes(answer.Fields(b)), func(field string) bool { return !slices.Contains(fields, field) })
}

// tryToCreate reports whether the API server would create desired, by a dry run without the node ports that live itself
// has. A refusal of other fields than those of the update counts as yes. It notes whether desired is creatable.
func (r *Repair) tryToCreate(ctx context.Context, live client.Object, refusal error) (bool, error) {
	candidate, err := r.applier.JSONToCreate(live)
	if err != nil {
		return false, err
	}
	isService := r.child.Kind.IsService()
	if isService {
		dropNodePorts(candidate, r.live)
	}
	err = r.server.TryCreate(ctx, candidate)
	r.isCreatable = err == nil && (!isService || !wantsAnotherIP(candidate, r.live))
	if err == nil {
		return true, nil
	}
	causes := answer.Causes(err)
	named := answer.Fields(refusal)
	return apierrors.IsInvalid(err) && len(causes) > 0 && !slices.ContainsFunc(causes, func(cause metav1.StatusCause) bool {
		return cause.Field == "" || slices.Contains(named, cause.Field)
	}), nil
}
