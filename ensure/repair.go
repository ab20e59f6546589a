package ensure

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
)

// An application is a successful apply: the object before it, and the server's answer.
type application struct {
	before, after client.Object
	removed       []obstacle.Obstacle // that were in its way
}

// applyOrRepair applies desired to live. An apply merges, and fields that others left in live
// can make the merge invalid for ever though desired is fine: an edited Service port stays
// beside ours and has its name. Then the fields in the way are taken over, and the next
// apply removes them.
func (c *child) applyOrRepair(ctx context.Context, live client.Object) (application, error) {
	applied, err := c.send(ctx, "apply", live.GetUID(), "")
	if isUnconvertible(err) {
		live, applied, err = c.applyConvertible(ctx, live, err)
	}
	if err == nil {
		return c.removeSources(ctx, application{before: live, after: applied})
	}
	if !namesFieldsOnly(err) {
		return application{}, err
	}
	r := repair{child: c, refusal: err}
	if err := r.observe(ctx, live.GetUID()); err != nil {
		return application{}, err
	}
	return r.run(ctx)
}

// namesFieldsOnly reports whether err is a 422 all of whose causes name fields, none
// of the metadata. A cause without a field is an admission policy's.
func namesFieldsOnly(err error) bool {
	causes := answer.Causes(err)
	return apierrors.IsInvalid(err) && len(causes) > 0 && !slices.ContainsFunc(causes, func(cause metav1.StatusCause) bool {
		return cause.Field == "" || strings.HasPrefix(cause.Field, "metadata")
	})
}

// A repair makes an apply possible that the server refused.
type repair struct {
	*child
	refusal error
	live    *unstructured.Unstructured // as the server has it
	merge   *obstacle.Merge
	tried   client.Object // what the server would make of live, by the last trial that passed
	denied  error         // the server's answer to the last trial that did not
}

// observe reads live from the server, as JSON: a Go type may know less than the server has.
func (r *repair) observe(ctx context.Context, uid types.UID) error {
	desired, err := r.candidate()
	if err != nil {
		return err
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(r.gvk)
	r.requests++
	switch err := r.reader.Get(ctx, r.key, live); {
	case answer.IsGone(err) || err == nil && live.GetUID() != uid:
		return r.conflict("repair", "it was replaced meanwhile", err)
	case err != nil:
		return r.requestError("read", err)
	}
	patched, err := r.convertible(ctx, live)
	if err != nil {
		return err
	}
	live.SetManagedFields(patched.GetManagedFields())
	r.live, r.merge = live, obstacle.Of(live, desired, r.fieldOwner)
	return nil
}

// run finds what is in the way, and has it removed.
func (r *repair) run(ctx context.Context) (application, error) {
	all := r.merge.Obstacles(answer.Fields(r.refusal))
	obstacles, err := r.find(ctx, all)
	switch {
	case err != nil:
		return application{}, err
	case len(obstacles) == 0:
		return application{}, r.judge(ctx, all)
	}
	if err := r.checkDependents(ctx, obstacles); err != nil {
		return application{}, err
	}
	return r.remove(ctx, obstacles)
}

// remove has the next apply remove obstacles, after a trial without them.
func (r *repair) remove(ctx context.Context, obstacles []obstacle.Obstacle) (application, error) {
	if r.dryRun { // the rest builds on what is not there then
		return application{before: r.typed(), after: r.tried, removed: obstacles}, nil
	}
	taken, err := r.takeOver(ctx, obstacles)
	if err != nil {
		return application{}, err
	}
	applied, err := r.applyAgain(ctx, obstacles)
	if err != nil && apierrors.IsInvalid(err) {
		r.giveBack(ctx, taken, obstacles)
	}
	return application{before: taken, after: applied, removed: obstacles}, err
}

// applyAgain applies desired, which removes the obstacles. Node ports that would go with them
// are applied, too, and are nobody's afterwards, as they were before.
func (r *repair) applyAgain(ctx context.Context, obstacles []obstacle.Obstacle) (client.Object, error) {
	desired, err := r.candidate()
	if err != nil {
		return nil, err
	}
	kept := r.keepNodePorts(desired, obstacles)
	if len(kept) == 0 {
		return r.send(ctx, "apply", r.live.GetUID(), "")
	}
	desired.SetUID(r.live.GetUID())
	body, err := desired.MarshalJSON()
	if err != nil {
		return nil, r.unfit(err)
	}
	applied, err := r.applyBody(ctx, "apply", body)
	if err != nil {
		return nil, err
	}
	return r.disown(ctx, applied, fieldpath.NewSet(kept...))
}

// disown makes fields nobody's that our apply owns. If others write all the time they stay ours
// until the next apply.
func (r *repair) disown(ctx context.Context, applied client.Object, fields *fieldpath.Set) (client.Object, error) {
	disowned, err := r.patchEntries(ctx, "repair", applied, func(p *managedfields.Patch, applied client.Object) {
		r.strike(p, applied, metav1.ManagedFieldsOperationApply, fields.Has)
	})
	if hasMoved(err) {
		return applied, nil
	}
	return disowned, err
}

// maxAlone bounds the obstacles that are tried one at a time.
const maxAlone = 8

// find returns which of all obstacles have to go, by trials: one alone that does, else those
// that are needed. It is empty if removing them all is not enough.
func (r *repair) find(ctx context.Context, all []obstacle.Obstacle) ([]obstacle.Obstacle, error) {
	for i := range min(len(all), maxAlone) {
		alone := all[i : i+1]
		if ok, err := r.try(ctx, alone); ok || err != nil {
			return alone, err
		}
	}
	if len(all) < 2 {
		return nil, nil
	}
	return r.least(ctx, all, nil)
}

// least returns those of obstacles that have to go, beside others, for the merge to be valid,
// and nil if it is not valid without all of them. The unlikely ones are put back first.
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

// checkDependents refuses to remove somebody's list items that are valid beside desired and only
// need an item that desired drops, such as a sidecar that mounts a volume of ours.
func (r *repair) checkDependents(ctx context.Context, obstacles []obstacle.Obstacle) error {
	if !r.merge.DropsItems() {
		return nil
	}
	tried := r.tried
	var dependents []obstacle.Obstacle
	for i := range obstacles {
		if !obstacles[i].IsOfItems() {
			continue
		}
		others := slices.Delete(slices.Clone(obstacles), i, i+1)
		switch ok, err := r.tryPatch(ctx, r.merge.TrialWithItems(others)); {
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

// takeOverAttempts bounds the tries beside others who write at the same time.
const takeOverAttempts = 5

// takeOver makes our applies the only owner of the obstacles, so that the next one removes
// them. It writes nothing but managed fields, and only while the obstacles are as they were
// when they were tried.
func (r *repair) takeOver(ctx context.Context, obstacles []obstacle.Obstacle) (client.Object, error) {
	for range takeOverAttempts {
		taken, err := r.patchJSON(ctx, "repair", r.takeOverPatch(obstacles))
		if err == nil || !hasMoved(err) {
			return taken, err
		}
		if err := r.observe(ctx, r.live.GetUID()); err != nil {
			return nil, err
		}
		again, ok := r.merge.Again(obstacles)
		if !ok {
			break
		}
		obstacles = again
	}
	return nil, r.conflict("repair", "it was changed meanwhile", nil)
}

func (r *repair) takeOverPatch(obstacles []obstacle.Obstacle) []jsonpatch.Operation {
	p := managedfields.NewPatch(r.live)
	for _, o := range obstacles {
		p.Test(o.Pointer, o.Value)
	}
	updates := managedfields.Updates(r.live)
	taken := p.Strike(updates, isIn(obstacles))
	for _, o := range obstacles {
		taken.Insert(o.Path)
	}
	entries := r.live.GetManagedFields()
	own := managedfields.Find(r.live, r.fieldOwner, metav1.ManagedFieldsOperationApply)
	entry := r.ownEntry(entries, own, updates)
	entry = managedfields.WithFields(entry, managedfields.Fields(&entry).Union(taken))
	if own < 0 {
		p.Add(entry)
	} else {
		p.Replace(own, entry)
	}
	return p.Operations()
}

func isIn(obstacles []obstacle.Obstacle) func(fieldpath.Path) bool {
	return func(path fieldpath.Path) bool {
		return slices.ContainsFunc(obstacles, func(o obstacle.Obstacle) bool { return o.Contains(path) })
	}
}

// giveBack undoes takeOver after an apply that was refused all the same. If it fails, the
// fields stay until an apply succeeds, and that one removes them.
func (r *repair) giveBack(ctx context.Context, taken client.Object, obstacles []obstacle.Obstacle) {
	_, _ = r.patchEntries(ctx, "repair", taken, func(p *managedfields.Patch, taken client.Object) {
		r.strike(p, taken, metav1.ManagedFieldsOperationApply, isIn(obstacles))
		for _, at := range managedfields.Updates(r.live) {
			r.restore(p, r.live.GetManagedFields()[at], obstacles)
		}
	})
}

// restore has an entry own again what the entry before owned of the obstacles.
func (r *repair) restore(p *managedfields.Patch, before metav1.ManagedFieldsEntry, obstacles []obstacle.Obstacle) {
	theirs, _ := managedfields.Split(managedfields.Fields(&before), isIn(obstacles))
	if theirs.Empty() {
		return
	}
	p.Give(managedfields.WithFields(before, theirs))
}

// judge says why no apply can succeed as long as live is as it is, and removing all obstacles
// does not help.
func (r *repair) judge(ctx context.Context, all []obstacle.Obstacle) error {
	if fixed := r.merge.Fixed(); len(fixed) > 0 {
		needed, err := r.least(ctx, fixed, all)
		if err != nil {
			return err
		}
		if len(needed) > 0 {
			return r.blocked(needed)
		}
	}
	if r.denied != nil && !namesAll(r.denied, r.refusal) {
		return r.refusal
	}
	live := r.typed()
	fine, err := r.isFineAlone(ctx, live, r.refusal)
	if err != nil || !fine {
		return r.refusal
	}
	return r.immutable(live, r.refusal)
}

// blocked says that fields which others insist on do not go with desired.
func (r *repair) blocked(fixed []obstacle.Obstacle) *Error {
	var paths, whose []string
	for _, o := range fixed {
		path := managedfields.Text(o.Path)
		paths = append(paths, path)
		whose = append(whose, fmt.Sprintf("%s, which %s sets", path, strings.Join(o.Managers, " and ")))
	}
	out := r.fail(ErrInvalid, "apply", "desired does not go with "+strings.Join(whose, ", nor with ")+
		": have it removed there, or change desired", paths...)
	out.cause = r.refusal
	return out
}

// namesAll reports whether a refusal names all fields that another one names. Indexes do not
// count: they are those of two different merges.
func namesAll(a, b error) bool {
	fields := withoutIndexes(answer.Fields(a))
	return !slices.ContainsFunc(withoutIndexes(answer.Fields(b)), func(field string) bool { return !slices.Contains(fields, field) })
}

func withoutIndexes(fields []string) []string {
	bare := make([]string, 0, len(fields))
	for _, field := range fields {
		bare = append(bare, indexes.ReplaceAllString(field, "[]"))
	}
	slices.Sort(bare)
	return slices.Compact(bare)
}

var indexes = regexp.MustCompile(`\[\d+\]`)

// typed returns what the server has in the Go type of desired.
func (r *repair) typed() client.Object {
	live := r.empty(r.desired)
	text, err := r.live.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, live)
	}
	if err != nil {
		return r.empty(r.desired)
	}
	return live
}

// isFineAlone asks the server by a dry run whether it would create desired, once more for
// each node port that live itself holds. A refusal of other fields than the update's counts
// as yes.
func (c *child) isFineAlone(ctx context.Context, live client.Object, refusal error) (bool, error) {
	candidate, err := c.candidate()
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

// tryCreate has the server create candidate without storing it. That the object exists is
// the last thing it finds, after all that it checks of a new one, so that is no error.
func (c *child) tryCreate(ctx context.Context, candidate *unstructured.Unstructured) error {
	c.requests++
	err := c.client.Create(ctx, candidate.DeepCopy(),
		client.DryRunAll, client.FieldOwner(c.fieldOwner), client.DisableReadYourWritesConsistency)
	if answer.IsThere(err) {
		return nil
	}
	return err
}

// candidate is desired as the apply would send it.
func (c *child) candidate() (*unstructured.Unstructured, error) {
	stamped, err := c.withDigest()
	if err != nil {
		return nil, err
	}
	body, err := canon.Body(stamped, c.gvk, "", "")
	if err != nil {
		return nil, err
	}
	candidate := &unstructured.Unstructured{}
	return candidate, candidate.UnmarshalJSON(body)
}

func (c *child) patchJSON(
	ctx context.Context, operation string, operations []jsonpatch.Operation, opts ...client.PatchOption,
) (client.Object, error) {
	patch, err := json.Marshal(operations)
	if err != nil {
		return nil, c.unfit(err)
	}
	return c.patch(ctx, operation, types.JSONPatchType, patch, opts...)
}

// recreateOption tells how the caller may allow that the child is deleted.
func (c *child) recreateOption() string {
	if c.holdsMore() {
		return "ensure.OnlyFor and ensure.Recreate, which loses what it holds"
	}
	return "ensure.Recreate"
}

// immutable says that the server takes desired, but not for this object.
func (c *child) immutable(live client.Object, refusal error) *Error {
	named, paths := answer.Fields(refusal), pathsOf(c.unsatisfied(live))
	if len(paths) == 0 {
		// live is as desired: what a webhook makes of each update cannot be done.
		paths = named
	}
	out := c.fail(ErrImmutable, "apply", "the server does not let an existing object be changed so, for "+strings.Join(named, ", ")+
		"; desired differs in "+strings.Join(paths, ", ")+
		"; delete it to have it made anew, or allow that with "+c.recreateOption(), paths...)
	out.cause = refusal
	return out
}
