package ensure

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/internal/observer"
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
	o := resolve(opts)
	c, err := e.newChild(desired, o.narrowedTo(desired))
	if err != nil {
		return Result[T]{}, published(err)
	}
	found, err := c.ensure(ctx)
	if err != nil {
		return Result[T]{}, published(err)
	}
	return resultOf[T](found, &c.Subject), nil
}

// ensure creates or updates the child to match desired. It is called once for each child.
func (c *child) ensure(ctx context.Context) (layer.Outcome, error) {
	found, err := c.readAndReconcile(ctx)
	if c.ifExists && c.server.IsUninstalled(err) {
		found, err = layer.Outcome{Operation: layer.Gone}, nil
	}
	err = c.backoff.End(err, c.server.Requests, c.isUndecided)
	c.reporter.Ended(&c.server, found, err)
	if errors.Is(err, ErrContested) {
		observer.Report(ctx, published(err))
	}
	return found, err
}

// readAndReconcile reconciles the object that the cache shows. If that copy turns out to be outdated, it
// reconciles the object on the API server.
func (c *child) readAndReconcile(ctx context.Context) (layer.Outcome, error) {
	live, err := c.read(ctx)
	if err == nil && live == nil && (c.isExpected() || c.memory.IsHidden(c.ID())) && !c.contest.IsWaiting() {
		// The cache lags, or leaves the child out, or somebody deleted the child: a read shows which.
		c.isMissingFromCache = true
		live, err = c.server.ReadServer(ctx)
	}
	if err != nil {
		return layer.Outcome{}, err
	}
	found, err := c.reconcileLive(ctx, live)
	if err == nil || !fault.IsRace(err) {
		return found, err
	}
	// Somebody changed the object after the read: read once more, from the API server.
	isDoubtful := live == nil && (c.isMissingFromCache || c.backoff.HasFailed())
	c.isMissingFromCache = c.isMissingFromCache || live == nil
	current, readErr := c.server.ReadServer(ctx)
	switch {
	case readErr != nil:
		return layer.Outcome{}, readErr
	case current == nil && isDoubtful: // the reader does not show the object that the API server has
		return layer.Outcome{}, err
	}
	return c.reconcileLive(ctx, current)
}

// reconcileLive creates or updates the child so that live, nil if there is none, matches desired.
func (c *child) reconcileLive(ctx context.Context, live client.Object) (layer.Outcome, error) {
	known, whole := c.situationOf(live), live
	for {
		var err error
		switch decide(known) {
		case toFindProvenance:
			if whole, err = c.findProvenance(ctx, live, &known); err != nil {
				return layer.Outcome{}, err
			}
		case toCompare:
			known.isCompared, known.isInSync = true, c.inSync(live, whole)
		case toCreate:
			return c.createUnlessContested(ctx)
		case toWrite:
			c.memory.ForgetHidden(c.ID()) // the write may bring the child back into the cache
			return c.updateUnlessContested(ctx, whole, c.causeToWrite(whole))
		case toRest:
			return c.contest.Unchanged(layer.Outcome{Live: live, Operation: layer.Unchanged})
		case toAwaitCache:
			return c.contest.Unchanged(layer.Outcome{Live: live, Operation: layer.Unchanged, Stale: true})
		case toLeaveUnchanged:
			return c.leaveUnchanged(live)
		case toLeaveForeign:
			return layer.Outcome{}, withdrawal{c}.leaveForeign(ctx, whole)
		case toAwaitDeletion:
			return layer.Outcome{}, c.terminatingError("ensure", "it is being deleted")
		case toReportHidden:
			return layer.Outcome{}, c.Subject.Fail(ErrHidden, "ensure", whyHidden)
		default:
			return layer.Outcome{Operation: layer.Gone}, nil
		}
	}
}

// situationOf returns the situation as far as live, nil if there is none, and the options show it.
func (c *child) situationOf(live client.Object) situation {
	known := situation{exists: live != nil, ifExists: c.ifExists, ifMissing: c.ifMissing}
	if live == nil {
		return known
	}
	if live.GetResourceVersion() != c.last.Version {
		c.loadRecord() // another reconcile may have learnt more while we read
	}
	c.noteShown(live)
	c.dropReplacement(live.GetUID())
	known.isTerminating = live.GetDeletionTimestamp() != nil
	return known
}

// findProvenance finds out whose live is, and returns live with its managed fields if they had to be
// known.
func (c *child) findProvenance(ctx context.Context, live client.Object, known *situation) (client.Object, error) {
	claim, err := c.provenanceOf(ctx, live)
	if err != nil {
		return nil, err
	}
	known.knowsProvenance, known.isOurs = true, claim.ours || c.mayAdopt(live)
	if !known.isOurs {
		return claim.live, nil
	}
	c.ours, c.adopted, c.desiredWithDigest = claim.ours, claim.adopted, nil
	if !claim.ours {
		isOurs, err := c.isMadeByUs(ctx, live)
		if err != nil {
			return nil, err
		}
		c.adopted = !isOurs
	}
	known.isHidden, known.isStale = c.isHidden(live), c.isStale(live)
	return claim.live, nil
}

// leaveUnchanged does not change live, and fails if live has another controller. A cache that does not
// show an object of somebody else is no error.
func (c *child) leaveUnchanged(live client.Object) (layer.Outcome, error) {
	isHidden := c.isHidden(live)
	if digest, _ := c.Operator.Find(live); digest != "" && isHidden {
		return layer.Outcome{}, c.Subject.Fail(ErrHidden, "ensure", whyHidden)
	}
	if controller := metav1.GetControllerOfNoCopy(live); controller != nil && !c.IsWanted(controller) {
		return layer.Outcome{}, c.foreignError(live)
	}
	return c.contest.Unchanged(layer.Outcome{Live: live, Operation: layer.Unchanged})
}

// updateUnlessContested updates live to match desired, unless a contest forbids writes.
func (c *child) updateUnlessContested(ctx context.Context, live client.Object, cause layer.Cause) (layer.Outcome, error) {
	if err := c.contest.Try(); err != nil {
		return layer.Outcome{}, err
	}
	live, err := c.contest.WithRival(ctx, live)
	if err != nil {
		return layer.Outcome{}, err
	}
	found, err := update{c}.run(ctx, live, cause)
	if err != nil {
		return layer.Outcome{}, err
	}
	c.reporter.Wrote(ctx, &c.Child, found)
	return c.contest.Wrote(live, c.last, found, c.IsRetired)
}

// createUnlessContested creates the child, unless a contest forbids that.
func (c *child) createUnlessContested(ctx context.Context) (layer.Outcome, error) {
	if err := c.contest.Try(); err != nil {
		return layer.Outcome{}, err
	}
	found, err := c.create(ctx)
	if err != nil {
		return layer.Outcome{}, err
	}
	c.reporter.Wrote(ctx, &c.Child, found)
	return c.contest.Wrote(nil, c.last, found, c.IsRetired)
}

// terminatingError returns the error for a child in deletion.
func (c *child) terminatingError(operation, detail string) *fault.Error {
	if !c.ifExists {
		detail += " and will be created again once it is gone"
	}
	return c.Subject.Fail(ErrTerminating, operation, detail)
}
