package ensure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

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
		if ok, err := r.dryRunWithout(ctx, alone); err != nil {
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

// least returns the obstacles that have to go, beside others, to make the merge valid. It returns nil
// if the merge is invalid even without all of them. The least likely obstacles are put back first.
func (r *repair) least(ctx context.Context, obstacles, beside []obstacle.Obstacle) ([]obstacle.Obstacle, error) {
	ok, err := r.dryRunWithout(ctx, slices.Concat(beside, obstacles))
	if !ok || err != nil {
		return nil, err
	}
	needed := slices.Clone(obstacles)
	for i := len(needed) - 1; i >= 0 && len(needed) > 1; i-- {
		rest := slices.Delete(slices.Clone(needed), i, i+1)
		ok, err := r.dryRunWithout(ctx, slices.Concat(beside, rest))
		if err != nil {
			return nil, err
		}
		if ok {
			needed = rest
		}
	}
	return needed, nil
}

// narrow replaces each list and map among obstacles by the items that have to go, if the other items
// can stay.
func (r *repair) narrow(ctx context.Context, obstacles []obstacle.Obstacle) ([]obstacle.Obstacle, error) {
	for i, whole := range slices.Backward(obstacles) {
		inside := r.merge.Inside(whole)
		if len(inside) < 2 {
			continue
		}
		tried, others := r.accepted, slices.Delete(slices.Clone(obstacles), i, i+1)
		needed, err := r.least(ctx, inside, others)
		switch {
		case err != nil:
			return nil, err
		case len(needed) == 0 || len(needed) == len(inside):
			r.accepted = tried
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

// dryRunWithout reports whether the server would take desired if the obstacles were not there. Only a
// refusal with causes means no.
func (r *repair) dryRunWithout(ctx context.Context, without []obstacle.Obstacle) (bool, error) {
	return r.dryRunPatch(ctx, r.merge.Trial(without))
}

func (r *repair) dryRunPatch(ctx context.Context, trial []jsonpatch.Operation) (bool, error) {
	operations := append(managedfields.TestUID(r.live), trial...)
	tried, err := r.patchJSON(ctx, "repair", operations, client.DryRunAll, client.DisableReadYourWritesConsistency)
	if apierrors.IsInvalid(err) && len(answer.Causes(err)) > 0 {
		r.lastRefusal = err
		return false, nil
	}
	r.accepted = tried
	return err == nil, err
}

// checkDependents refuses to remove fields that are valid beside desired and only need a field that
// desired drops, such as a sidecar of somebody else that mounts one of our volumes.
func (r *repair) checkDependents(ctx context.Context, obstacles []obstacle.Obstacle) error {
	tried := r.accepted
	var dependents []obstacle.Obstacle
	for i := range obstacles {
		if !r.merge.IsBesideDropped(obstacles[i]) {
			continue
		}
		others := slices.Delete(slices.Clone(obstacles), i, i+1)
		switch ok, err := r.dryRunPatch(ctx, r.merge.TrialWithDropped(others)); {
		case err != nil:
			return err
		case ok:
			dependents = append(dependents, obstacles[i])
		}
	}
	r.accepted = tried
	if len(dependents) == 0 {
		return nil
	}
	return r.blockedError(dependents)
}

// blockedError says that fields which others insist on do not go with desired.
func (r *repair) blockedError(fixed []obstacle.Obstacle) *Error {
	var paths, whose []string
	for _, o := range fixed {
		path := managedfields.Text(o.Path)
		paths = append(paths, path)
		who := strings.Join(o.Managers, " and ")
		whose = append(whose, fmt.Sprintf("%s, which %s sets", path, cmp.Or(who, "nobody")))
	}
	out := r.fail(ErrInvalid, "apply", "desired conflicts with "+strings.Join(whose, " and with ")+
		": "+r.message(r.refusal, strings.Join(answer.Faults(r.refusal), ", ")), paths...)
	out.cause = r.refusal
	return out
}

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
			return nil, j.blockedError(needed)
		}
	}
	if j.lastRefusal == nil && j.merge.ReplacesMaps() {
		ok, err := j.dryRunWithout(ctx, nil)
		if ok || err != nil {
			return nil, cmp.Or(err, j.refusal)
		}
	}
	// Without the obstacles fewer fields may be refused, but no others.
	if j.lastRefusal != nil && !namesAll(j.lastRefusal, j.refusal) && !namesAll(j.refusal, j.lastRefusal) {
		return nil, j.refusal
	}
	live := j.typed()
	fine, err := j.isFineAlone(ctx, live, j.refusal)
	if err != nil || !fine {
		return nil, j.refusal
	}
	needed, err := j.findUnowned(ctx, all)
	if err == nil && len(needed) == 0 {
		err = j.immutableError(live, j.refusal)
	}
	return needed, err
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
	replaced, err := j.onceValues(live)
	if err != nil {
		return false, err
	}
	candidate, err := j.candidate(j.desiredToCreate(replaced))
	if err != nil {
		return false, err
	}
	j.child.isCreatable = false
	differing := pathsOf(j.unsatisfied(live))
	err = j.dryRunCreate(ctx, candidate)
	for err != nil && j.leaveOut(candidate, answer.Fields(err), differing) {
		err = j.dryRunCreate(ctx, candidate)
	}
	if err == nil {
		j.child.isCreatable = !j.wantsAnotherIP(candidate, differing)
		return true, nil
	}
	j.child.isUndecided = !answer.IsFinal(err)
	causes := answer.Causes(err)
	named := answer.Fields(refusal)
	return apierrors.IsInvalid(err) && len(causes) > 0 && !slices.ContainsFunc(causes, func(cause metav1.StatusCause) bool {
		return cause.Field == "" || slices.Contains(named, cause.Field)
	}), nil
}

// immutableError says that the server takes desired, but not for this object.
func (j judgement) immutableError(live client.Object, refusal error) *Error {
	named, paths := answer.Fields(refusal), pathsOf(j.unsatisfied(live))
	if len(paths) == 0 {
		// live is as desired: the API server refuses the change that a webhook makes in each update.
		paths = named
	}
	remedy := "; delete the object so that it is created again"
	if j.holdsMore() {
		remedy += ", which loses its data"
	}
	out := j.fail(ErrImmutable, "apply", "an existing object cannot be changed like this: "+
		j.message(refusal, strings.Join(answer.Faults(refusal), ", "))+
		"; desired differs in "+strings.Join(paths, ", ")+remedy, paths...)
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

// keepNodePorts adds the node ports of edited ports, which are among the obstacles, to desired, and
// returns their paths. The API server keeps a node port for another port of the same name, except for a
// node port that it gave to the ports of two protocols.
func (r *repair) keepNodePorts(desired *unstructured.Unstructured, obstacles []obstacle.Obstacle) []fieldpath.Path {
	if !r.isService() {
		return nil
	}
	var kept []fieldpath.Path
	live, _, _ := unstructured.NestedSlice(r.live.Object, "spec", "ports")
	wanted, _, _ := unstructured.NestedSlice(desired.Object, "spec", "ports")
	for _, o := range obstacles {
		edited, _ := o.Value.(map[string]any)
		nodePort, isPort := edited["nodePort"].(int64)
		if !isPort || len(o.Path) != 3 {
			continue
		}
		isShared := slices.ContainsFunc(live, func(port any) bool {
			other, _ := port.(map[string]any)
			return other["nodePort"] == nodePort && other["name"] != edited["name"]
		})
		for _, port := range wanted {
			ours, _ := port.(map[string]any)
			if _, given := ours["nodePort"]; !isShared || given || ours["name"] != edited["name"] {
				continue
			}
			ours["nodePort"] = nodePort
			key := fieldpath.KeyByFields("port", ours["port"], "protocol", cmp.Or(textOf(ours["protocol"]), string(corev1.ProtocolTCP)))
			kept = append(kept, fieldpath.Path{
				fieldpath.FieldNameElement("spec"), fieldpath.FieldNameElement("ports"), {Key: key}, fieldpath.FieldNameElement("nodePort"),
			})
		}
	}
	if len(kept) > 0 {
		_ = unstructured.SetNestedSlice(desired.Object, wanted, "spec", "ports") // desired has the list
	}
	return kept
}

// Cluster IPs and node ports belong to one Service, so that they can prevent the creation of another one.
// The Service that has them may be live itself. On kube-apiserver 1.36, a dry run finds taken node ports,
// one at a time and before all other faults, but never a taken cluster IP.

// mayBeNodePort reports whether path leads to a node port, or to a whole port.
func mayBeNodePort(path string) bool {
	return strings.HasSuffix(path, ".nodePort") || strings.HasPrefix(path, "spec.ports") && !strings.Contains(path, "].")
}

// dropNodePort removes one; false if field is none.
func dropNodePort(candidate *unstructured.Unstructured, field string) bool {
	var i int
	if _, err := fmt.Sscanf(field, "spec.ports[%d].nodePort", &i); err != nil {
		return false
	}
	spec, _ := candidate.Object["spec"].(map[string]any)
	ports, _ := spec["ports"].([]any)
	if i >= len(ports) {
		return false
	}
	port, _ := ports[i].(map[string]any)
	_, there := port["nodePort"]
	delete(port, "nodePort")
	return there
}

func textOf(value any) string {
	text, _ := value.(string)
	return text
}
