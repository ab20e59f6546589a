package repair

import (
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/paths"
)

// immutableError says that the API server takes desired, but not for this object.
func (r *Repair) immutableError(live client.Object) *fault.Error {
	fields := r.immutableFields(live)
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

// immutableFields returns the differences of desired in the fields that the API server names, or else all. It may name a
// struct with mutable fields, such as spec. If there is no difference, it refuses the change that a webhook makes in each
// update, and the named fields are all that is known.
func (r *Repair) immutableFields(live client.Object) []string {
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
	return refused
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

func isIndex(step string) bool { return strings.Trim(step, "0123456789") == "" }

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
