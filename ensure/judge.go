package ensure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
)

// judge returns why no apply can succeed although all obstacles are removed, or the fields without an
// owner that have to go.
func (r *repair) judge(ctx context.Context, all []obstacle.Obstacle) ([]obstacle.Obstacle, error) {
	if fixed := r.merge.Fixed(); len(fixed) > 0 {
		needed, err := r.least(ctx, fixed, all)
		if err != nil {
			return nil, err
		}
		if len(needed) > 0 {
			return nil, r.blocked(needed)
		}
	}
	if r.denied == nil && r.merge.ReplacesMaps() {
		ok, err := r.try(ctx, nil)
		if ok || err != nil {
			return nil, cmp.Or(err, r.refusal)
		}
	}
	// Without the obstacles fewer fields may be refused, but no others.
	if r.denied != nil && !namesAll(r.denied, r.refusal) && !namesAll(r.refusal, r.denied) {
		return nil, r.refusal
	}
	live := r.typed()
	fine, err := r.isFineAlone(ctx, live, r.refusal)
	if err != nil || !fine {
		return nil, r.refusal
	}
	needed, err := r.findUnowned(ctx, all)
	if err == nil && len(needed) == 0 {
		err = r.immutable(live, r.refusal)
	}
	return needed, err
}

// blocked says that fields which others insist on do not go with desired.
func (r *repair) blocked(fixed []obstacle.Obstacle) *Error {
	var paths, whose []string
	for _, o := range fixed {
		path := managedfields.Text(o.Path)
		paths = append(paths, path)
		who := strings.Join(o.Managers, " and ")
		whose = append(whose, fmt.Sprintf("%s, which %s sets", path, cmp.Or(who, "nobody")))
	}
	out := r.fail(ErrInvalid, "apply", "what is wanted does not go with "+strings.Join(whose, ", nor with ")+
		": "+r.message(r.refusal, strings.Join(answer.Faults(r.refusal), ", ")), paths...)
	out.cause = r.refusal
	return out
}

// namesAll reports whether a refusal names all fields that another one names. Indexes do not
// count: they are those of two different merges.
func namesAll(a, b error) bool {
	fields := withoutIndexes(answer.Fields(a))
	return !slices.ContainsFunc(withoutIndexes(answer.Fields(b)), func(field string) bool { return !slices.Contains(fields, field) })
}

// isFineAlone reports whether the API server would create desired, by a dry run, and another one for
// each node port that live itself has. A refusal of other fields than those of the update counts as
// yes.
func (c *child) isFineAlone(ctx context.Context, live client.Object, refusal error) (bool, error) {
	replaced, err := c.onceIn(live)
	if err != nil {
		return false, err
	}
	candidate, err := c.candidate(c.whole(replaced))
	if err != nil {
		return false, err
	}
	c.alone = false
	differing := pathsOf(c.unsatisfied(live))
	err = c.tryCreate(ctx, candidate)
	for err != nil && c.leaveOut(candidate, answer.Fields(err), differing) {
		err = c.tryCreate(ctx, candidate)
	}
	if err == nil {
		c.alone = !c.wantsAnotherIP(candidate, differing)
		return true, nil
	}
	c.unsure = !answer.IsFinal(err)
	causes := answer.Causes(err)
	named := answer.Fields(refusal)
	return apierrors.IsInvalid(err) && len(causes) > 0 && !slices.ContainsFunc(causes, func(cause metav1.StatusCause) bool {
		return cause.Field == "" || slices.Contains(named, cause.Field)
	}), nil
}

// immutable says that the server takes desired, but not for this object.
func (c *child) immutable(live client.Object, refusal error) *Error {
	named, paths := answer.Fields(refusal), pathsOf(c.unsatisfied(live))
	if len(paths) == 0 {
		// live is as desired: the API server refuses the change that a webhook makes in each update.
		paths = named
	}
	remedy := "; delete it to have it made again"
	if c.holdsMore() {
		remedy += ", which loses what it holds"
	}
	out := c.fail(ErrImmutable, "apply", "an existing object cannot be changed so: "+
		c.message(refusal, strings.Join(answer.Faults(refusal), ", "))+
		"; what is wanted differs in "+strings.Join(paths, ", ")+remedy, paths...)
	out.cause = refusal
	return out
}
