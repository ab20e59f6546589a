package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
)

// maxTrials bounds the dry runs of a repair that leave out fields.
const maxTrials = 18

// errTooManyTrials ends a repair that has not found out within maxTrials what is in the way.
var errTooManyTrials = errors.New("too many trials")

// A trial is the answer to a dry run: the object, or the refusal.
type trial struct {
	accepted client.Object
	refusal  error
}

// find returns the obstacles that have to go, or items of them, by trials. It returns none if removing all
// candidates does not suffice.
func (r *Repair) find(ctx context.Context, candidates []obstacle.Obstacle) ([]obstacle.Obstacle, error) {
	fixed := r.merge.Fixed()
	found, err := r.findNeeded(ctx, candidates, fixed, nil)
	if err != nil {
		return nil, err
	}
	for i, whole := range slices.Backward(found) {
		inside := r.merge.Inside(whole)
		if len(inside) < 2 {
			continue
		}
		others := slices.Delete(slices.Clone(found), i, i+1)
		needed, err := r.findNeeded(ctx, inside, slices.Concat(candidates, fixed), others)
		if err != nil {
			return nil, err
		}
		if len(needed) > 0 && len(needed) < len(inside) {
			found = slices.Insert(others, i, needed...)
		}
	}
	return found, nil
}

// findOlder returns the fields of older versions, and of nobody, that have to go together, in the structs around the fields
// that the API server named; none if they do not suffice. Somebody else's field could not go instead, so that these are
// asked about first: after a migration, there may be many.
func (r *Repair) findOlder(ctx context.Context) ([]obstacle.Obstacle, error) {
	if !r.hasOlder() {
		return nil, nil
	}
	rules := r.applier.Rules()
	isOthers := func(o obstacle.Obstacle) bool {
		return slices.ContainsFunc(o.Managers, func(manager string) bool { return !rules.IsOlder(manager) })
	}
	older := slices.DeleteFunc(r.merge.Beside(r.candidates(), answer.Fields(r.refusal)), isOthers)
	found, err := r.findLeast(ctx, slices.DeleteFunc(slices.Clone(older), isUnlikely), nil)
	if len(found) > 0 || err != nil {
		return found, err
	}
	return r.findLeast(ctx, older, nil)
}

// hasOlder reports whether there may be fields of older versions.
func (r *Repair) hasOlder() bool {
	isOlder := func(entry metav1.ManagedFieldsEntry) bool { return r.applier.Rules().IsOlder(entry.Manager) }
	return len(r.child.Older) > 0 || slices.ContainsFunc(managedfields.Entries(r.live), isOlder)
}

// findNeeded returns those of candidates that have to go, beside others: desired is refused with each of them,
// whatever else goes, also the fields that are fixed here. It returns none if removing all candidates does not
// suffice.
func (r *Repair) findNeeded(ctx context.Context, candidates, fixed, beside []obstacle.Obstacle) ([]obstacle.Obstacle, error) {
	search := r.search(ctx, beside)
	enough, err := search.Enough(candidates)
	if err != nil || len(enough) == 0 {
		return nil, err
	}
	needed, err := search.Needed(enough, candidates, fixed)
	if err != nil {
		return nil, err
	}
	switch ok, err := r.dryRunWithout(ctx, slices.Concat(beside, needed)); {
	case err != nil:
		return nil, err
	case ok && len(beside)+len(needed) == 0:
		return nil, r.refusal // nothing is in the way any more: a later pass applies
	case ok:
		return needed, nil
	}
	more, err := r.findDefaults(ctx, slices.Concat(beside, needed))
	if err == nil && len(more) == 0 {
		err = r.undecidedError(candidates)
	}
	return slices.Concat(needed, more), err
}

// findDefaults returns the fields without an owner that have to go, beside others. Such a field may go although
// another one could go instead: mostly, it is a default. An item of a list may be somebody's who gave it up.
func (r *Repair) findDefaults(ctx context.Context, beside []obstacle.Obstacle) ([]obstacle.Obstacle, error) {
	isItem := func(o obstacle.Obstacle) bool { return o.Path[len(o.Path)-1].FieldName == nil }
	defaults := slices.DeleteFunc(r.candidates(), func(o obstacle.Obstacle) bool { return len(o.Managers) > 0 || isItem(o) })
	return r.findLeast(ctx, defaults, beside)
}

// findLeast returns those of candidates that have to go together, beside others. It asks for all of them first.
func (r *Repair) findLeast(ctx context.Context, candidates, beside []obstacle.Obstacle) ([]obstacle.Obstacle, error) {
	if len(candidates) == 0 {
		return nil, nil
	}
	if ok, err := r.dryRunWithout(ctx, slices.Concat(beside, candidates)); !ok || err != nil {
		return nil, err
	}
	return r.search(ctx, beside).Least(candidates)
}

// findUnlikely returns the obstacles that have to go if, beside the likely ones, the others may go.
func (r *Repair) findUnlikely(ctx context.Context, likely []obstacle.Obstacle) ([]obstacle.Obstacle, error) {
	all := r.candidates()
	if len(all) <= len(likely) {
		return nil, nil
	}
	if ok, err := r.dryRunWithout(ctx, all); !ok || err != nil {
		return nil, err
	}
	return r.find(ctx, all)
}

// likely returns the candidates without those that are unlikely, unless the fields may have lost their owners: somebody emptied the
// managed fields, or they were an older version's.
func (r *Repair) likely() []obstacle.Obstacle {
	if !r.merge.HasOwners() || r.hasOlder() {
		return r.candidates()
	}
	return slices.DeleteFunc(r.candidates(), isUnlikely)
}

// isUnlikely reports whether nobody owns a field, which the API server does not name: mostly, it is a default.
func isUnlikely(o obstacle.Obstacle) bool { return len(o.Managers) == 0 && !o.IsNamed }

// candidates returns the fields that may be in the way, the likeliest first.
func (r *Repair) candidates() []obstacle.Obstacle { return r.merge.Obstacles(answer.Fields(r.refusal)) }

func (r *Repair) search(ctx context.Context, beside []obstacle.Obstacle) *obstacle.Search {
	try := func(without []obstacle.Obstacle) (obstacle.Answer, error) {
		ok, err := r.dryRunWithout(ctx, without)
		if ok || err != nil {
			return obstacle.Answer{Accepted: ok}, err
		}
		return answerOf(r.lastRefusal), nil
	}
	return &obstacle.Search{Try: try, Beside: beside, First: len(answer.Fields(r.refusal)), Refusal: answerOf(r.refusal)}
}

// answerOf returns a refusal for a Search. The texts of two refusals are the same if they name the same fields,
// indexes aside, for the same reasons: the indexes are those of two different merges.
func answerOf(refusal error) obstacle.Answer {
	var reasons []string
	for _, cause := range answer.Causes(refusal) {
		reasons = append(reasons, cause.Field+" "+cause.Message)
	}
	return obstacle.Answer{Refusal: strings.Join(fault.WithoutIndexes(reasons), "\n")}
}

// dryRunWithout reports whether the server would take desired if the obstacles were not there. Only a
// refusal with causes means no. The same is asked once.
func (r *Repair) dryRunWithout(ctx context.Context, without []obstacle.Obstacle) (bool, error) {
	var pointers []string
	for _, o := range without {
		pointers = layer.AppendNew(pointers, o.Pointer)
	}
	slices.Sort(pointers)
	key := strings.Join(pointers, "\n")
	if _, known := r.trials[key]; !known {
		answer, err := r.dryRunPatch(ctx, r.merge.Trial(without))
		if err != nil {
			return false, err
		}
		if r.trials == nil {
			r.trials = map[string]trial{}
		}
		r.trials[key] = answer
	}
	return r.note(r.trials[key]), nil
}

// note keeps the answer to the last trial, and reports whether the server would take desired.
func (r *Repair) note(last trial) bool {
	if last.refusal != nil {
		r.lastRefusal = last.refusal
		return false
	}
	r.accepted = last.accepted
	return true
}

func (r *Repair) dryRunPatch(ctx context.Context, patch []jsonpatch.Operation) (trial, error) {
	if r.sent == maxTrials {
		return trial{}, errTooManyTrials
	}
	r.sent++
	operations := append(managedfields.TestUID(r.live), patch...)
	tried, err := r.server.PatchJSON(ctx, "repair", operations, server.DryRun)
	if apierrors.IsInvalid(err) && len(answer.Causes(err)) > 0 {
		return trial{refusal: err}, nil
	}
	return trial{accepted: tried}, err
}

// checkDependents refuses to remove fields that are valid beside desired and only need a field that
// desired drops, such as a sidecar of somebody else that mounts one of our volumes.
func (r *Repair) checkDependents(ctx context.Context, obstacles []obstacle.Obstacle) error {
	var dependents []obstacle.Obstacle
	for i := range obstacles {
		if !r.merge.IsBesideDropped(obstacles[i]) {
			continue
		}
		others := slices.Delete(slices.Clone(obstacles), i, i+1)
		answer, err := r.dryRunPatch(ctx, r.merge.TrialWithDropped(others))
		if err != nil {
			return err
		}
		if answer.refusal == nil {
			dependents = append(dependents, obstacles[i])
		}
	}
	if len(dependents) == 0 {
		return nil
	}
	return r.blockedError(dependents)
}

// blockedError says that fields which others insist on do not go with desired.
func (r *Repair) blockedError(fixed []obstacle.Obstacle) *fault.Error {
	return r.conflictingError("desired conflicts with "+whose(fixed), fixed)
}

// undecidedError says that desired is refused beside fields of others, and that nothing shows which of them has to go:
// the ones inside the fields that the API server names, or else all candidates.
func (r *Repair) undecidedError(candidates []obstacle.Obstacle) *fault.Error {
	if inside := r.merge.Within(candidates, answer.Fields(r.refusal)); len(inside) > 0 {
		candidates = inside
	}
	return r.conflictingError("desired does not fit beside "+whose(candidates)+", and nothing shows which of them has to go", candidates)
}

// conflictingError says what is wrong with fields of others, and what the API server says.
func (r *Repair) conflictingError(problem string, fields []obstacle.Obstacle) *fault.Error {
	var paths []string
	for _, o := range fields {
		paths = append(paths, managedfields.Text(o.Path))
	}
	message := r.child.Subject.Message(r.refusal, strings.Join(answer.Faults(r.refusal), ", "))
	out := r.child.Subject.Fail(fault.ErrInvalid, "apply", problem+": "+message, paths...)
	out.Cause = r.refusal
	return out
}

// maxNamed is how many fields a text names.
const maxNamed = 8

// whose names fields and their managers.
func whose(fields []obstacle.Obstacle) string {
	var named []string
	for _, o := range fields[:min(len(fields), maxNamed)] {
		who := cmp.Or(strings.Join(o.Managers, " and "), "nobody")
		named = append(named, fmt.Sprintf("%s, which %s sets", managedfields.Text(o.Path), who))
	}
	return strings.Join(named, ", and ") + layer.AndMore(len(fields)-len(named))
}
