package ensure

import (
	"context"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
	"github.com/trueup-go/trueup/internal/paths"
)

// immutableError says that the API server takes desired, but not for this object.
func (j judgement) immutableError(ctx context.Context, live client.Object) *Error {
	fields := j.immutableFields(ctx, live)
	remedy := "; delete the object so that it is created again"
	if j.holdsMore() {
		remedy = "; undo the change, or delete the object so that it is created again, which loses its data"
	}
	out := j.fail(ErrImmutable, "apply", "an existing object cannot be changed like this: "+
		j.message(j.refusal, strings.Join(answer.Faults(j.refusal), ", "))+
		"; desired differs in "+strings.Join(fields, ", ")+remedy, fields...)
	out.cause = j.refusal
	return out
}

// immutableFields returns the differences of desired that the API server refuses: those in the fields that it
// names. If it names a struct, such as spec, with mutable fields, trials tell which of the differences it refuses.
// Without such a difference, the API server refuses the change that a webhook makes in each update, and the named
// fields are all that is known.
func (j judgement) immutableFields(ctx context.Context, live client.Object) []string {
	named := answer.Fields(j.refusal)
	differing := pathsOf(j.unsatisfied(live))
	for _, o := range j.merge.Dropped() {
		differing = appendNew(differing, managedfields.Text(o.Path))
	}
	var refused []string
	var parts [][]string // the members of the named fields that differ
	for _, path := range differing {
		steps := paths.Steps(path)
		for _, field := range named {
			if outer := paths.Steps(field); mayMeet(steps, outer) {
				refused = appendNew(refused, path)
				parts = appendNewSteps(parts, steps[:min(len(steps), len(outer)+1)])
			}
		}
	}
	if len(refused) == 0 {
		return named
	}
	mutable := j.mutableParts(ctx, live, parts)
	if len(mutable) == len(parts) {
		return refused
	}
	return slices.DeleteFunc(refused, func(path string) bool {
		return slices.ContainsFunc(mutable, func(part []string) bool { return hasPrefix(paths.Steps(path), part) })
	})
}

// mutableParts returns those of parts that the API server would change: it accepts desired with live's values in
// all other parts.
func (j judgement) mutableParts(ctx context.Context, live client.Object, parts [][]string) [][]string {
	found, err := delta.Values(live)
	if err != nil || len(parts) < 2 || len(parts) > maxNamed {
		return nil
	}
	var mutable [][]string
	for i, part := range parts {
		var others []delta.Edit
		for _, other := range slices.Delete(slices.Clone(parts), i, i+1) {
			others = append(others, delta.Edit{Path: other, Value: found(other)})
		}
		if ok, err := j.acceptsWith(ctx, others); err != nil {
			return nil // what is known has to do
		} else if ok {
			mutable = append(mutable, part)
		}
	}
	return mutable
}

// acceptsWith reports whether the API server accepts desired with edits.
func (j judgement) acceptsWith(ctx context.Context, edits []delta.Edit) (bool, error) {
	desired, err := j.desiredToApply()
	if err != nil {
		return false, err
	}
	candidate, err := j.candidate(delta.Edited(desired, edits...), nil)
	if err != nil {
		return false, err
	}
	answer, err := j.dryRunPatch(ctx, obstacle.Of(j.live, candidate, j.fieldOwner).Trial(nil))
	return err == nil && answer.refusal == nil, err
}

// mayMeet reports whether one of two paths leads to the other, or into it. The API server names an item by its
// index, and the field of an internal version with another spelling.
func mayMeet(a, b []string) bool {
	for i := range min(len(a), len(b)) {
		isItem := strings.Trim(a[i], "0123456789") == "" || strings.Trim(b[i], "0123456789") == ""
		if !isItem && !strings.EqualFold(a[i], b[i]) {
			return false
		}
	}
	return true
}

func hasPrefix(steps, prefix []string) bool {
	return len(steps) >= len(prefix) && slices.Equal(steps[:len(prefix)], prefix)
}

func appendNewSteps(list [][]string, steps []string) [][]string {
	if slices.ContainsFunc(list, func(known []string) bool { return slices.Equal(known, steps) }) {
		return list
	}
	return append(list, steps)
}
