package ensure

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/migrate"
	"github.com/trueup-go/trueup/internal/obstacle"
)

// An application is a successful apply, with the object before the apply and the answer of the API
// server.
type application struct {
	before, after client.Object
	removed       []obstacle.Obstacle // removed by the apply, or left by old managers
	tried         bool                // and not done
}

// A repair makes an apply possible that the server refused.
type repair struct {
	*child
	refusal        error
	live           *unstructured.Unstructured // the object on the API server
	merge          *obstacle.Merge
	unowned        bool             // merge contains the fields of live without an owner
	ownedByDesired *fieldpath.Set   // that an apply of desired alone owns; nil if not asked for
	trials         map[string]trial // by the pointers of the obstacles that were left out
	sent           int              // trials
	accepted       client.Object    // the answer to the last trial that passed
	lastRefusal    error            // the server's answer to the last trial that did not
}

// observe reads live from the server.
func (r *repair) observe(ctx context.Context, uid types.UID) error {
	desired, err := r.candidate(r.withDigest())
	if err != nil {
		return err
	}
	live, err := r.server.RereadJSON(ctx, "repair", uid)
	if err != nil {
		return err
	}
	patched, err := r.convertible(ctx, live)
	if err != nil {
		return err
	}
	live.SetManagedFields(managedfields.Entries(patched))
	if r.DryRun { // which has not changed them before
		live.SetManagedFields(r.rules().Before(live).Entries())
	}
	r.live, r.merge, r.trials = live, obstacle.Of(live, desired, r.Operator.FieldOwner), nil
	if err := r.completeKeys(ctx); err != nil {
		return err
	}
	if r.unowned || !r.merge.HasOwners() {
		if err := r.addUnowned(ctx); err != nil {
			return err
		}
	}
	for _, left := range r.Left {
		r.merge.Protect(left.Steps)
	}
	return nil
}

// addUnowned adds the fields of live without an owner to the merge.
func (r *repair) addUnowned(ctx context.Context) error {
	r.unowned = true
	all, err := r.allFields(ctx, r.live)
	if err != nil || all.Empty() {
		return err
	}
	r.merge.AddUnowned(all)
	r.trials = nil // the merge shows more of what the server does
	return r.completeKeys(ctx)
}

// allFields returns the fields of live, without metadata and status; none if the API server refuses to tell. In a dry run,
// another manager applies live unchanged, and the answer shows all fields as owned by that manager.
func (c *child) allFields(ctx context.Context, live *unstructured.Unstructured) (*fieldpath.Set, error) {
	content := maps.Clone(live.Object)
	delete(content, "status")
	content["metadata"] = map[string]any{"name": c.Subject.Key.Name, "namespace": c.Subject.Key.Namespace, "uid": live.GetUID()}
	body, err := json.Marshal(content)
	if err != nil {
		return nil, c.Subject.Unencodable(err)
	}
	applied, err := c.server.Patch(ctx, "repair", types.ApplyPatchType, body, client.ForceOwnership,
		server.DryRun, client.FieldOwner(migrate.BeforeFirstApply))
	if answer.IsFinal(err) {
		return fieldpath.NewSet(), nil
	}
	if err != nil {
		return nil, err
	}
	return managedfields.Fields(managedfields.Applied(applied, migrate.BeforeFirstApply)), nil
}

// completeKeys completes the keys of desired's list items in the merge. Desired may leave out members of
// a key for which the schema of a custom kind has defaults. Without whole keys, nothing tells desired's
// items from those of others, and nothing may be removed.
func (r *repair) completeKeys(ctx context.Context) error {
	lacking := r.merge.CompleteKeys(r.ownedByDesired)
	if len(lacking) > 0 && r.ownedByDesired == nil {
		elsewhere, err := r.applyElsewhere(ctx, r.live)
		if err != nil {
			return err
		}
		r.ownedByDesired = fieldpath.NewSet()
		if elsewhere != nil {
			r.ownedByDesired = r.Operator.Fields(elsewhere)
		}
		lacking = r.merge.CompleteKeys(r.ownedByDesired)
	}
	if len(lacking) == 0 {
		return nil
	}
	var paths []string
	for _, path := range lacking {
		paths = appendNew(paths, managedfields.Text(path))
	}
	out := r.Subject.Fail(ErrInvalid, "apply", "desired leaves out parts of the keys of items in "+strings.Join(paths, ", ")+
		", and the API server does not report their defaults: specify whole keys: "+r.Subject.Message(r.refusal, answer.NotShown), paths...)
	out.Cause = r.refusal
	return out
}

// applyElsewhere returns the object that an apply of desired would create, with the values of live that Once names; nil if
// the API server refuses. It tells by a dry run for an object that does not exist.
func (c *child) applyElsewhere(ctx context.Context, live client.Object) (*unstructured.Unstructured, error) {
	values, err := c.onceValues(live)
	if err != nil {
		return nil, err
	}
	elsewhere, err := c.candidate(c.desiredToCreate(values))
	if err != nil {
		return nil, err
	}
	elsewhere.SetName("trueup-" + string(uuid.NewUUID())) // some kinds want a letter first
	switch err := c.server.TryApply(ctx, elsewhere); {
	case err == nil:
		return elsewhere, nil
	case fault.IsKnown(err):
		return nil, err
	case !answer.IsFinal(err):
		return nil, c.Subject.Request("repair", err)
	}
	return nil, nil
}

// run finds the conflicting fields and removes them.
func (r *repair) run(ctx context.Context) (application, error) {
	if r.merge.LosesEmptyLists() {
		ok, err := r.dryRunWithout(ctx, nil)
		if err != nil {
			return application{}, err
		}
		if ok {
			return r.remove(ctx, nil)
		}
	}
	obstacles, err := r.findOlder(ctx)
	all := r.candidates()
	if err == nil && len(obstacles) == 0 {
		obstacles, err = r.find(ctx, all)
	}
	if err == nil && len(obstacles) == 0 {
		obstacles, err = judgement{r}.run(ctx, all)
	}
	if err == nil {
		err = r.checkDependents(ctx, obstacles)
	}
	if errors.Is(err, errTooManyTrials) {
		err = r.undecidedError(slices.Concat(all, r.merge.Fixed()))
	}
	if err != nil {
		return application{}, err
	}
	return r.remove(ctx, obstacles)
}

// remove has the next apply remove obstacles, after a trial without them.
func (r *repair) remove(ctx context.Context, obstacles []obstacle.Obstacle) (application, error) {
	if r.DryRun { // nothing is stored that the next requests could build on
		return r.rehearse(ctx, obstacles)
	}
	if r.merge.LosesEmptyLists() {
		return r.writeMerge(ctx, obstacles)
	}
	taken, err := r.takeOver(ctx, obstacles)
	if err != nil {
		return application{}, err
	}
	applied, err := r.applyAgain(ctx, obstacles)
	if err != nil {
		r.memory.Invalidate(r.OwnedID())
		r.giveBack(ctx, taken, obstacles)
	}
	return application{before: taken, after: applied, removed: obstacles}, err
}

// rehearse returns the application of the merge without obstacles by a dry run, or the refusal.
func (r *repair) rehearse(ctx context.Context, obstacles []obstacle.Obstacle) (application, error) {
	ok, err := r.dryRunWithout(ctx, obstacles)
	if err != nil {
		return application{}, err
	}
	if !ok {
		return application{}, r.lastRefusal
	}
	return application{before: r.typed(), after: r.accepted, removed: obstacles, tried: true}, nil
}

// writeMerge writes the merge without obstacles by a patch, and applies desired then, which changes the digest and owners
// only: an apply alone would lose a list that desired has empty. The patch leaves an entry of updates, which goes. If the
// process ends after the patch, the next one finds the digest of an earlier desired state, and applies.
func (r *repair) writeMerge(ctx context.Context, obstacles []obstacle.Obstacle) (application, error) {
	patched, obstacles, err := r.patchWhileUnchanged(ctx, obstacles, func(obstacles []obstacle.Obstacle) []jsonpatch.Operation {
		version := jsonpatch.Test("/metadata/resourceVersion", r.live.GetResourceVersion())
		merge := slices.DeleteFunc(r.merge.Trial(obstacles), r.writesDigest)
		return slices.Concat(managedfields.TestUID(r.live), []jsonpatch.Operation{version}, merge)
	})
	if err != nil {
		return application{}, err
	}
	r.memory.Invalidate(r.OwnedID()) // until the apply is confirmed
	updates := managedfields.Find(r.live, r.Operator.FieldOwner, metav1.ManagedFieldsOperationUpdate)
	before := fieldpath.NewSet()
	if updates >= 0 {
		before = managedfields.Fields(&managedfields.Entries(r.live)[updates])
	}
	applied, err := r.applyDesired(ctx, patched.GetUID())
	if err != nil {
		return application{}, err
	}
	after, err := r.server.PatchEntries(ctx, "repair", applied, func(applied client.Object) *managedfields.Patch {
		return r.disown(applied, metav1.ManagedFieldsOperationUpdate, func(path fieldpath.Path) bool { return !before.Has(path) })
	})
	if err != nil {
		after = applied // a later pass removes the entry
	}
	return application{before: r.typed(), after: after, removed: obstacles}, nil
}

// writesDigest reports whether an operation changes the stored digest.
func (r *repair) writesDigest(operation jsonpatch.Operation) bool {
	return slices.ContainsFunc(r.Operator.Digests, func(at layer.Item) bool {
		return operation.Path == jsonpatch.Join("/metadata/"+at.Member, at.Key)
	})
}

// patchWhileUnchanged sends the patch that build returns, on a fresh copy if others write in between, as long as the
// obstacles stay the same.
func (r *repair) patchWhileUnchanged(
	ctx context.Context, obstacles []obstacle.Obstacle, build func([]obstacle.Obstacle) []jsonpatch.Operation,
) (client.Object, []obstacle.Obstacle, error) {
	patched, err := r.server.PatchWhileUnchanged(ctx, "repair",
		func() []jsonpatch.Operation { return build(obstacles) },
		func() (isSame bool, err error) {
			if err = r.observe(ctx, r.live.GetUID()); err == nil {
				obstacles, isSame = r.merge.Again(obstacles)
			}
			return isSame, err
		})
	return patched, obstacles, err
}

// takeOver makes this field owner's applies the only owner of the obstacles, so that the next apply
// removes them. It writes managed fields only, and only while the obstacles have not changed since the
// trials. If the process ends here, the next apply removes them, too, whatever is desired then.
func (r *repair) takeOver(ctx context.Context, obstacles []obstacle.Obstacle) (client.Object, error) {
	taken, _, err := r.patchWhileUnchanged(ctx, obstacles, r.takeOverPatch)
	return taken, err
}

func (r *repair) takeOverPatch(obstacles []obstacle.Obstacle) []jsonpatch.Operation {
	p := managedfields.NewPatch(r.live)
	for _, o := range obstacles {
		p.Test(o.Pointer, o.Value)
	}
	own := r.rules().OwnEntry(r.live)
	taken := fieldpath.NewSet()
	for _, o := range obstacles {
		taken.Insert(o.Path)
	}
	for _, at := range managedfields.Updates(r.live) {
		theirs, _ := managedfields.Split(managedfields.Fields(&managedfields.Entries(r.live)[at]), isIn(obstacles))
		p.Move(theirs, at, own)
	}
	p.Move(taken, managedfields.Nobody, own)
	return p.Operations()
}

func isIn(obstacles []obstacle.Obstacle) func(fieldpath.Path) bool {
	return func(path fieldpath.Path) bool {
		return slices.ContainsFunc(obstacles, func(o obstacle.Obstacle) bool { return o.Contains(path) })
	}
}

// applyAgain applies desired, which removes the obstacles. Node ports that would go with them
// are applied, too, and are nobody's afterwards, as they were before.
func (r *repair) applyAgain(ctx context.Context, obstacles []obstacle.Obstacle) (client.Object, error) {
	desired, err := r.candidate(r.withDigest())
	if err != nil {
		return nil, err
	}
	kept := r.keepNodePorts(desired, obstacles)
	if len(kept) == 0 {
		return r.applyDesired(ctx, r.live.GetUID())
	}
	desired.SetUID(r.live.GetUID())
	body, err := desired.MarshalJSON()
	if err != nil {
		return nil, r.Subject.Unencodable(err)
	}
	applied, err := r.server.Apply(ctx, "apply", body)
	if err != nil {
		return nil, err
	}
	return r.disownApplied(ctx, applied, fieldpath.NewSet(kept...))
}

// giveBack reverts takeOver after a failed apply. If giveBack fails, too, the fields stay until an
// apply succeeds, which removes them.
func (r *repair) giveBack(ctx context.Context, taken client.Object, obstacles []obstacle.Obstacle) {
	_, _ = r.server.PatchEntries(ctx, "repair", taken, func(taken client.Object) *managedfields.Patch {
		p := r.disown(taken, metav1.ManagedFieldsOperationApply, isIn(obstacles))
		if p.IsEmpty() {
			return p // the apply succeeded, although the answer was lost
		}
		for _, at := range managedfields.Updates(r.live) {
			entry := &managedfields.Entries(r.live)[at]
			theirs, _ := managedfields.Split(managedfields.Fields(entry), isIn(obstacles))
			p.Move(theirs, managedfields.Nobody, entry)
		}
		return p
	})
}

// disownApplied makes fields nobody's that our apply owns. If others write all the time they stay ours
// until the next apply.
func (r *repair) disownApplied(ctx context.Context, applied client.Object, fields *fieldpath.Set) (client.Object, error) {
	disowned, err := r.server.PatchEntries(ctx, "repair", applied, func(applied client.Object) *managedfields.Patch {
		return r.disown(applied, metav1.ManagedFieldsOperationApply, fields.Has)
	})
	if fault.IsRace(err) {
		return applied, nil
	}
	return disowned, err
}

// typed returns the object on the API server in the Go type of desired.
func (r *repair) typed() client.Object { return r.inGoType(r.live) }

// inGoType returns obj in the Go type of desired.
func (c *child) inGoType(obj *unstructured.Unstructured) client.Object {
	typed := c.Kind.Empty(c.Desired)
	text, err := obj.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, typed)
	}
	if err != nil {
		return c.Kind.Empty(c.Desired)
	}
	return typed
}

// candidate returns desired, or an error, as JSON.
func (c *child) candidate(desired canon.Object, err error) (*unstructured.Unstructured, error) {
	if err != nil {
		return nil, err
	}
	body, err := canon.Body(desired, c.Kind.GVK, "", "")
	if err != nil {
		return nil, err
	}
	candidate := &unstructured.Unstructured{}
	return candidate, candidate.UnmarshalJSON(body)
}

// An environment variable that desired leaves empty can have a source that somebody else set.
// The server takes both, and the source wins, so it is an obstacle though nothing is refused.

// onlySources are those of obstacles that are sources of variables of which desired has more
// than the source: the value.
func onlySources(obstacles []obstacle.Obstacle) []obstacle.Obstacle {
	return slices.DeleteFunc(obstacles, func(o obstacle.Obstacle) bool {
		steps := len(o.Path)
		return steps < 3 || !isNamed(o.Path[steps-1], "valueFrom") || !isNamed(o.Path[steps-3], "env")
	})
}

func isNamed(element fieldpath.PathElement, name string) bool {
	return element.FieldName != nil && *element.FieldName == name
}
