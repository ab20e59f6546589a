package ensure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
)

// A judgement says why no apply of desired can succeed.
type judgement struct{ *repair }

// run returns why no apply can succeed although all obstacles are removed, or the fields without an
// owner that have to go.
func (j judgement) run(ctx context.Context, all []obstacle.Obstacle) ([]obstacle.Obstacle, error) {
	if fixed := j.merge.Fixed(); len(fixed) > 0 {
		needed, err := j.least(ctx, fixed, all)
		if err != nil {
			return nil, err
		}
		if len(needed) > 0 {
			return nil, j.blocked(needed)
		}
	}
	if j.denied == nil && j.merge.ReplacesMaps() {
		ok, err := j.try(ctx, nil)
		if ok || err != nil {
			return nil, cmp.Or(err, j.refusal)
		}
	}
	// Without the obstacles fewer fields may be refused, but no others.
	if j.denied != nil && !namesAll(j.denied, j.refusal) && !namesAll(j.refusal, j.denied) {
		return nil, j.refusal
	}
	live := j.typed()
	fine, err := j.isFineAlone(ctx, live, j.refusal)
	if err != nil || !fine {
		return nil, j.refusal
	}
	needed, err := j.findUnowned(ctx, all)
	if err == nil && len(needed) == 0 {
		err = j.immutable(live, j.refusal)
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
func (j judgement) isFineAlone(ctx context.Context, live client.Object, refusal error) (bool, error) {
	replaced, err := j.onceIn(live)
	if err != nil {
		return false, err
	}
	candidate, err := j.candidate(j.whole(replaced))
	if err != nil {
		return false, err
	}
	j.alone = false
	differing := pathsOf(j.unsatisfied(live))
	err = j.tryCreate(ctx, candidate)
	for err != nil && j.leaveOut(candidate, answer.Fields(err), differing) {
		err = j.tryCreate(ctx, candidate)
	}
	if err == nil {
		j.alone = !j.wantsAnotherIP(candidate, differing)
		return true, nil
	}
	j.unsure = !answer.IsFinal(err)
	causes := answer.Causes(err)
	named := answer.Fields(refusal)
	return apierrors.IsInvalid(err) && len(causes) > 0 && !slices.ContainsFunc(causes, func(cause metav1.StatusCause) bool {
		return cause.Field == "" || slices.Contains(named, cause.Field)
	}), nil
}

// immutable says that the server takes desired, but not for this object.
func (j judgement) immutable(live client.Object, refusal error) *Error {
	named, paths := answer.Fields(refusal), pathsOf(j.unsatisfied(live))
	if len(paths) == 0 {
		// live is as desired: the API server refuses the change that a webhook makes in each update.
		paths = named
	}
	remedy := "; delete it to have it made again"
	if j.holdsMore() {
		remedy += ", which loses what it holds"
	}
	out := j.fail(ErrImmutable, "apply", "an existing object cannot be changed so: "+
		j.message(refusal, strings.Join(answer.Faults(refusal), ", "))+
		"; what is wanted differs in "+strings.Join(paths, ", ")+remedy, paths...)
	out.cause = refusal
	return out
}

// leaveOut takes out of candidate the node ports that the server found to be taken, fields,
// if they are live's, which differs from desired in other paths; false if that is not all
// that was found.
func (j judgement) leaveOut(candidate *unstructured.Unstructured, fields, differing []string) bool {
	if !j.isService() || len(fields) == 0 || slices.ContainsFunc(differing, mayBeNodePort) {
		return false
	}
	return !slices.ContainsFunc(fields, func(field string) bool { return !dropNodePort(candidate, field) })
}

// wantsAnotherIP reports whether candidate names a cluster IP that live does not have.
func (j judgement) wantsAnotherIP(candidate *unstructured.Unstructured, differing []string) bool {
	if !j.isService() || !slices.ContainsFunc(differing, func(path string) bool { return strings.HasPrefix(path, "spec.clusterIP") }) {
		return false
	}
	ip, _, _ := unstructured.NestedString(candidate.Object, "spec", "clusterIP")
	ips, _, _ := unstructured.NestedStringSlice(candidate.Object, "spec", "clusterIPs")
	return slices.ContainsFunc(append(ips, ip), func(ip string) bool { return ip != "" && ip != corev1.ClusterIPNone })
}
