package repair

import (
	"context"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
	"github.com/trueup-go/trueup/internal/paths"
)

// immutableError says that the API server takes desired, but not for this object.
func (r *Repair) immutableError(ctx context.Context, live client.Object) *fault.Error {
	fields := r.immutableFields(ctx, live)
	remedy := "; delete the object so that it is created again"
	if r.child.Kind.HoldsMore() {
		remedy = "; undo the change, or delete the object so that it is created again, which loses its data"
	}
	out := r.child.Subject.Fail(fault.ErrImmutable, "apply", "an existing object cannot be changed like this: "+
		r.child.Subject.Message(r.refusal, strings.Join(answer.Faults(r.refusal), ", "))+
		differsIn(fields)+remedy, fields...)
	out.Cause = r.refusal
	return out
}

func differsIn(fields []string) string {
	if len(fields) == 0 {
		return ""
	}
	return "; desired differs in " + strings.Join(fields, ", ")
}

// immutableFields returns the differences of desired that the API server refuses: those in the fields that it
// names, or else all. If there are several, trials tell which of them it refuses, as it may name a struct with mutable
// fields, such as spec. If there is none, it refuses the change that a webhook makes in each update, and the named
// fields are all that is known.
func (r *Repair) immutableFields(ctx context.Context, live client.Object) []string {
	named := answer.Fields(r.refusal)
	differing := layer.Paths(r.child.Unsatisfied(live))
	for _, o := range r.merge.Dropped() {
		text := managedfields.Text(o.Path)
		steps := paths.Steps(text)
		if !slices.ContainsFunc(differing, func(path string) bool { return mayMeet(paths.Steps(path), steps) }) {
			differing = append(differing, text)
		}
	}
	refused := inside(differing, named)
	if len(refused) == 0 { // some kinds name a field without the struct around it, or no field
		refused = slices.DeleteFunc(differing, func(path string) bool { return strings.HasPrefix(path, "metadata") })
	}
	if len(refused) == 0 {
		return named
	}
	return r.withoutMutable(ctx, live, refused)
}

// inside returns the paths that lead into one of fields, or around it.
func inside(all, fields []string) (found []string) {
	for _, path := range all {
		steps := paths.Steps(path)
		if slices.ContainsFunc(fields, func(field string) bool { return mayMeet(steps, paths.Steps(field)) }) {
			found = append(found, path)
		}
	}
	return found
}

// withoutMutable returns the differing paths without those that the API server would change: it accepts desired with
// live's values in all others. Paths that no trial can tell apart all stay.
func (r *Repair) withoutMutable(ctx context.Context, live client.Object, differing []string) []string {
	found, err := delta.Values(live)
	if err != nil || len(differing) < 2 || len(differing) > maxNamed {
		return differing
	}
	var refused []string
	for _, path := range differing {
		var others []delta.Edit
		for _, other := range differing {
			if steps := upToIndex(paths.Steps(other)); other != path {
				others = append(others, delta.Edit{Path: steps, Value: found(steps)})
			}
		}
		ok, err := r.acceptsWith(ctx, others)
		if err != nil {
			return differing // what is known has to do
		}
		if !ok {
			refused = append(refused, path)
		}
	}
	if len(refused) == 0 {
		return differing
	}
	return refused
}

// upToIndex returns the steps to the first list without keys, whose items have no names.
func upToIndex(steps []string) []string {
	if at := slices.IndexFunc(steps, isIndex); at >= 0 {
		return steps[:at]
	}
	return steps
}

func isIndex(step string) bool { return strings.Trim(step, "0123456789") == "" }

// acceptsWith reports whether the API server accepts desired with edits.
func (r *Repair) acceptsWith(ctx context.Context, edits []delta.Edit) (bool, error) {
	desired, err := r.applier.Desired()
	if err != nil {
		return false, err
	}
	candidate, err := r.child.JSON(delta.Edited(desired, edits...), nil)
	if err != nil {
		return false, err
	}
	answer, err := r.dryRunPatch(ctx, obstacle.Of(r.live, candidate, r.child.Operator.FieldOwner).Trial(nil))
	return err == nil && answer.refusal == nil, err
}

// mayMeet reports whether one of two paths leads to the other, or into it. The API server names an item by its
// index, and the field of an internal version with another spelling.
func mayMeet(a, b []string) bool {
	for i := range min(len(a), len(b)) {
		if !isIndex(a[i]) && !isIndex(b[i]) && !strings.EqualFold(a[i], b[i]) {
			return false
		}
	}
	return true
}
