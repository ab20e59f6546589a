package ensure

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// Object creates or updates the object named by desired so that the live object matches
// desired. It sends as few requests as possible, and none if the live object matches already.
//
//   - If the object does not exist, Object creates it.
//   - If desired changed, or if somebody changed or removed a field that desired specifies, one
//     server-side apply updates the object. Other fields stay, and so do labels, annotations,
//     finalizers and list items of other writers. A field that desired no longer specifies is removed,
//     and an item of a list with all its fields, also those of others. The exceptions are in Result.Kept: another field
//     manager owns the field, too, or the API server keeps the value, as it does a cluster IP.
//   - If the API server refuses the merge because of fields that others left in the object, those are
//     removed with which it refuses desired whatever else of others goes. If any of several fields
//     could go, none does (ErrInvalid). If the API server does not accept the change at all, the error
//     is ErrImmutable.
//   - If only the API server can decide whether a change by somebody else affects desired, one apply
//     finds out, and the Ensurer remembers the response.
//
// Build desired anew for each call, with only the fields that the operator decides: no defaults, no
// status, no copy of a live object. Object does not change desired. If somebody else decides a field,
// such as an autoscaler the replicas, leave the field out of desired.
//
// Object does not change an existing object that is not ours (ErrForeign, see Adopt) or that is being
// deleted (ErrTerminating). Every error is an *Error; pass it to Retry at the end of Reconcile. The
// Result is zero if there is an error.
//
// Object is safe for concurrent use, even for the same object: a create never overwrites an object, and
// an apply never recreates a deleted one.
func Object[T client.Object](ctx context.Context, e *Ensurer, desired T, opts ...Option) (Result[T], error) {
	p, err := e.newPass(desired, resolve(opts))
	if err != nil {
		return Result[T]{}, published(err)
	}
	found, err := p.ensure(ctx)
	if err != nil {
		return Result[T]{}, published(err)
	}
	return resultOf[T](found, &p.child.Subject), nil
}

// A pass is a call about one child.
type pass struct {
	ensurer *Ensurer
	options options
	child   layer.Child

	server  server.Session // sends the requests
	applier server.Applier // sends desired
	layers  layers
}

// ensure creates or updates the child to match desired. It is called once for each pass.
func (p *pass) ensure(ctx context.Context) (layer.Outcome, error) {
	found, err := p.readAndReconcile(ctx)
	if p.options.ifExists && p.server.IsUninstalled(err) {
		found, err = layer.Outcome{Operation: layer.Gone}, nil
	}
	return p.end(ctx, found, err)
}

// readAndReconcile reconciles the object that the cache shows. If that copy turns out to be outdated, it
// reconciles the object on the API server.
func (p *pass) readAndReconcile(ctx context.Context) (layer.Outcome, error) {
	live, err := p.read(ctx)
	if err == nil && live == nil && !p.layers.isWaiting() {
		live, err = p.server.ReadMissing(ctx, p.ensurer.clock.Now())
	}
	if err != nil {
		return layer.Outcome{}, err
	}
	found, err := p.reconcileLive(ctx, live)
	if err == nil || !fault.IsRace(err) {
		return found, err
	}
	// Somebody changed the object after the read: read once more, from the API server.
	isDoubtful := live == nil && (p.server.IsCacheBehind || p.layers.hasFailed())
	p.server.IsCacheBehind = p.server.IsCacheBehind || live == nil
	current, readErr := p.server.ReadServer(ctx)
	switch {
	case readErr != nil:
		return layer.Outcome{}, readErr
	case current == nil && isDoubtful: // the reader does not show the object that the API server has
		return layer.Outcome{}, err
	}
	return p.reconcileLive(ctx, current)
}

// reconcileLive creates or updates the child so that live, nil if there is none, matches desired.
func (p *pass) reconcileLive(ctx context.Context, live client.Object) (layer.Outcome, error) {
	known, whole := p.situationOf(live), live
	for {
		var err error
		switch decide(known) {
		case toFindProvenance:
			whole, err = p.findProvenance(ctx, whole, &known)
		case toCompare:
			known.isCompared, known.isInSync = true, p.compare(live, whole)
		case toProve: // decide again whose it is
			whole, err = p.server.Complete(ctx, whole)
			known.knowsProvenance, known.isProven = false, true
		case toCreate:
			return p.write(ctx, nil, layer.Missing)
		case toWrite:
			p.server.Memory.ForgetHidden(p.child.ID()) // the write may bring the child back into the cache
			return p.write(ctx, whole, p.causeToWrite(whole, known.isOurs))
		case toRest:
			return p.layers.rest(layer.Outcome{Live: live, Operation: layer.Unchanged})
		case toAwaitCache:
			return p.layers.rest(layer.Outcome{Live: live, Operation: layer.Unchanged, Stale: true})
		case toLeaveUnchanged:
			return p.leaveUnchanged(live)
		case toLeaveForeign:
			return layer.Outcome{}, foreignError(&p.child, whole)
		case toAwaitDeletion:
			return layer.Outcome{}, p.terminatingError("ensure", "it is being deleted")
		case toReportHidden:
			return layer.Outcome{}, p.child.Subject.Fail(ErrHidden, "ensure", whyHidden)
		default: // toSkip
			return layer.Outcome{Operation: layer.Gone}, nil
		}
		if err != nil {
			return layer.Outcome{}, err
		}
	}
}

// situationOf returns the situation as far as live, nil if there is none, and the options show it.
func (p *pass) situationOf(live client.Object) situation {
	known := situation{exists: live != nil, ifExists: p.options.ifExists, ifMissing: p.options.ifMissing}
	if live == nil {
		return known
	}
	if live.GetResourceVersion() != p.server.Known.Version {
		p.server.LoadKnown() // another reconcile may have learnt more while we read
	}
	p.server.NoteShown(live)
	p.layers.noteUID(live.GetUID())
	known.isTerminating = live.GetDeletionTimestamp() != nil
	return known
}

// findProvenance finds out whose live is, and returns live with its managed fields if they had to be
// known.
func (p *pass) findProvenance(ctx context.Context, live client.Object, known *situation) (client.Object, error) {
	claim, err := p.provenanceOf(ctx, live)
	if err != nil {
		return nil, err
	}
	// The API server refuses a second controller.
	mayAdopt := p.options.adopt && (p.child.Controller == nil || !p.child.IsControlledByOther(live))
	known.knowsProvenance, known.isOurs, known.mayWrite = true, claim.ours, claim.ours || mayAdopt
	if !known.mayWrite {
		return claim.live, nil
	}
	p.applier.IsAdopted = claim.adopted
	isShown := claim.live != live || managedfields.HasAny(live) || p.child.Kind.IsReset(live)
	known.isProven = known.isProven || isShown || p.server.IsRemembered(live)
	known.isHidden, known.isStale = p.noteHidden(live), p.server.IsStale(live, p.ensurer.clock.Now())
	return claim.live, nil
}

// leaveUnchanged does not change live, and fails if live has another controller. A cache that does not
// show an object of somebody else is no error.
func (p *pass) leaveUnchanged(live client.Object) (layer.Outcome, error) {
	isHidden := p.noteHidden(live)
	if digest, _ := p.child.Operator.Find(live); digest != "" && isHidden {
		return layer.Outcome{}, p.child.Subject.Fail(ErrHidden, "ensure", whyHidden)
	}
	if p.child.IsControlledByOther(live) {
		return layer.Outcome{}, foreignError(&p.child, live)
	}
	return p.layers.rest(layer.Outcome{Live: live, Operation: layer.Unchanged})
}

// terminatingError returns the error for a child in deletion.
func (p *pass) terminatingError(operation, detail string) *fault.Error {
	if !p.options.ifExists {
		detail += " and will be created again once it is gone"
	}
	return p.child.Subject.Fail(ErrTerminating, operation, detail)
}
