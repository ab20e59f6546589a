package repair

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
)

// A Repair makes an apply possible that the server refused.
type Repair struct {
	applier *server.Applier
	server  *server.Session
	child   *layer.Child

	refusal     error
	live        *unstructured.Unstructured // the object on the API server
	merge       *obstacle.Merge
	isBlind     bool             // the API server does not tell which fields nobody owns
	trials      map[string]trial // by the pointers of the obstacles that were left out
	sent        int              // trials
	accepted    client.Object    // the answer to the last trial that passed
	lastRefusal error            // the server's answer to the last trial that did not
	isCreatable bool             // the server would create desired but for live
}

// A RefusalError is the error about a state that the API server refuses for the live object, and would create without it.
type RefusalError struct {
	Err error

	live  *unstructured.Unstructured
	merge *obstacle.Merge
}

// Error returns the text of the error.
func (r *RefusalError) Error() string { return r.Err.Error() }

// Unwrap returns the error.
func (r *RefusalError) Unwrap() error { return r.Err }

// start returns the Repair of live after a refusal, which may be nil.
func start(ctx context.Context, a *server.Applier, live client.Object, refusal error) (*Repair, error) {
	r := &Repair{applier: a, server: a.Server, child: a.Server.Child, refusal: refusal}
	return r, r.observe(ctx, live.GetUID())
}

// observe reads live from the server.
func (r *Repair) observe(ctx context.Context, uid types.UID) error {
	desired, err := r.applier.JSON()
	if err != nil {
		return err
	}
	live, err := r.server.RereadJSON(ctx, "repair", uid)
	if err != nil {
		return err
	}
	patched, err := r.applier.Convertible(ctx, live)
	if err != nil {
		return err
	}
	live.SetManagedFields(managedfields.Entries(patched))
	if r.child.DryRun { // which has not changed them before
		live.SetManagedFields(r.applier.Rules().Before(live).Entries())
	}
	all, known, err := r.applier.AllFields(ctx, live)
	if err != nil {
		return err
	}
	r.isBlind = !known
	r.live, r.merge, r.trials = live, obstacle.Of(live, desired, r.child.Operator.FieldOwner, all), nil
	if err := r.checkKeys(); err != nil {
		return err
	}
	for _, left := range r.child.Left {
		r.merge.Protect(left.Steps)
	}
	return nil
}

// checkKeys fails if desired leaves out members of the key of an item, for which the schema of a custom kind has defaults.
// Without whole keys, nothing tells desired's items from those of others, and nothing may be removed.
func (r *Repair) checkKeys() error {
	var paths []string
	for _, path := range r.merge.CompleteKeys() {
		paths = layer.AppendNew(paths, managedfields.Text(path))
	}
	if len(paths) == 0 {
		return nil
	}
	out := r.child.Subject.Fail(fault.ErrInvalid, "apply", "desired leaves out parts of the keys of items in "+strings.Join(paths, ", ")+
		": specify whole keys, also the parts that have a default: "+r.child.Subject.Message(r.refusal, answer.NotShown), paths...)
	out.Cause = r.refusal
	return out
}

// run finds the conflicting fields and removes them.
func (r *Repair) run(ctx context.Context) (server.Application, error) {
	if r.merge.HasEmptyLists() {
		ok, err := r.dryRunWithout(ctx, nil)
		if ok || err != nil { // The apply removes a list that the API server requires, and nothing is in the way.
			return server.Application{}, cmp.Or(err, r.refusal)
		}
	}
	obstacles, err := r.findAll(ctx)
	switch {
	case err == nil:
		return r.remove(ctx, obstacles)
	case r.isCreatable:
		err = &RefusalError{Err: err, live: r.live, merge: r.merge}
	}
	return server.Application{}, err
}

// findAll returns the fields that have to go. If the API server does not accept desired whatever goes, the error says why.
func (r *Repair) findAll(ctx context.Context) ([]obstacle.Obstacle, error) {
	obstacles, err := r.findOlder(ctx)
	likely := r.likely()
	if err == nil && len(obstacles) == 0 {
		obstacles, err = r.find(ctx, likely)
	}
	if err == nil && len(obstacles) == 0 {
		obstacles, err = r.judge(ctx, likely)
	}
	if err == nil {
		err = r.checkDependents(ctx, obstacles)
	}
	if errors.Is(err, errTooManyTrials) {
		err = r.undecidedError(slices.Concat(likely, r.merge.Fixed()))
	}
	return obstacles, err
}

// remove has the next apply remove obstacles, after a trial without them.
func (r *Repair) remove(ctx context.Context, obstacles []obstacle.Obstacle) (server.Application, error) {
	if r.child.DryRun { // nothing is stored that the next requests could build on
		return r.rehearse(ctx, obstacles)
	}
	taken, err := r.takeOver(ctx, obstacles)
	if err != nil {
		return server.Application{}, err
	}
	applied, err := r.applyAgain(ctx, obstacles)
	if err != nil {
		r.server.Memory.Invalidate(r.child.OwnedID())
		r.giveBack(ctx, taken, obstacles)
	}
	return server.Application{Before: taken, After: applied, Removed: obstacles}, err
}

// rehearse returns the application of the merge without obstacles by a dry run, or the refusal.
func (r *Repair) rehearse(ctx context.Context, obstacles []obstacle.Obstacle) (server.Application, error) {
	ok, err := r.dryRunWithout(ctx, obstacles)
	if err != nil {
		return server.Application{}, err
	}
	if !ok {
		return server.Application{}, r.lastRefusal
	}
	return server.Application{Before: r.child.Typed(r.live), After: r.accepted, Removed: obstacles, IsTried: true}, nil
}

// takeOver makes this field owner's applies the only owner of the obstacles, so that the next apply
// removes them. It writes managed fields only, and only while the obstacles have not changed since the
// trials. If the process ends here, the next apply removes them, too, whatever is desired then.
func (r *Repair) takeOver(ctx context.Context, obstacles []obstacle.Obstacle) (client.Object, error) {
	return r.server.PatchWhileUnchanged(ctx, "repair",
		func() []jsonpatch.Operation { return r.takeOverPatch(obstacles) },
		func() (isSame bool, err error) {
			if err = r.observe(ctx, r.live.GetUID()); err == nil {
				obstacles, isSame = r.merge.Again(obstacles)
			}
			return isSame, err
		})
}

func (r *Repair) takeOverPatch(obstacles []obstacle.Obstacle) []jsonpatch.Operation {
	p := managedfields.NewPatch(r.live)
	for _, o := range obstacles {
		p.Test(o.Pointer, o.Value)
	}
	own := r.applier.Rules().OwnEntry(r.live)
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
func (r *Repair) applyAgain(ctx context.Context, obstacles []obstacle.Obstacle) (client.Object, error) {
	desired, err := r.applier.JSON()
	if err != nil {
		return nil, err
	}
	kept := r.keepNodePorts(desired, obstacles)
	if len(kept) == 0 {
		return r.applier.Apply(ctx, r.live.GetUID())
	}
	desired.SetUID(r.live.GetUID())
	body, err := desired.MarshalJSON()
	if err != nil {
		return nil, r.child.Subject.Unencodable(err)
	}
	applied, err := r.server.Apply(ctx, "apply", body)
	if err != nil {
		return nil, err
	}
	return r.disownApplied(ctx, applied, fieldpath.NewSet(kept...))
}

// giveBack reverts takeOver after a failed apply. If giveBack fails, too, the fields stay until an
// apply succeeds, which removes them.
func (r *Repair) giveBack(ctx context.Context, taken client.Object, obstacles []obstacle.Obstacle) {
	_, _ = r.server.PatchEntries(ctx, "repair", taken, func(taken client.Object) *managedfields.Patch {
		p := r.child.Operator.Disown(taken, metav1.ManagedFieldsOperationApply, isIn(obstacles))
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
func (r *Repair) disownApplied(ctx context.Context, applied client.Object, fields *fieldpath.Set) (client.Object, error) {
	disowned, err := r.server.PatchEntries(ctx, "repair", applied, func(applied client.Object) *managedfields.Patch {
		return r.child.Operator.Disown(applied, metav1.ManagedFieldsOperationApply, fields.Has)
	})
	if fault.IsRace(err) {
		return applied, nil
	}
	return disowned, err
}
