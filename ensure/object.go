package ensure

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/ensure/internal/backoff"
	"github.com/trueup-go/trueup/ensure/internal/contest"
	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/kinds"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/migrate"
	"github.com/trueup-go/trueup/internal/object"
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

// A child is one desired object during a call.
type child struct {
	*Ensurer
	options
	layer.Child

	server  server.Session
	backoff backoff.Call
	contest contest.Guard
	call    string // by its name in package backoff

	last               memory.Record // the last answer of the API server that was known when live was read
	isMissingFromCache bool          // the cache did not show the object
	ours               bool          // live may be written without ensure.Adopt
	adopted            bool          // somebody else created live

	desiredWithDigest client.Object  // desired with its digest, once there is something to send
	lastApply         []byte         // the body of the last apply of desired, or nil
	unowned           *fieldpath.Set // the fields of live that nobody owns, if some are retired

	isUndecided bool // the API server could not judge the refused state
	isCreatable bool // a dry run found that the server would create desired but for live
	// isDriftRefused: the server only refuses to revert what others changed in live
	isDriftRefused bool
}

// newChild checks the arguments of the caller and stamps a copy of desired.
func (e *Ensurer) newChild(desired client.Object, o options) (*child, error) {
	c, err := e.identify(desired, o)
	if err != nil {
		return nil, err
	}
	if err := checkDesired(&c.Child, desired); err != nil {
		return nil, err
	}
	if err := c.options.check(&c.Subject); err != nil {
		return nil, err
	}
	if c.controlled && c.owner.GetDeletionTimestamp() != nil {
		return nil, c.Subject.Fail(ErrOwnerTerminating, "ensure", ownerName(c.owner)+" is being deleted")
	}
	if err := place(&c.Child, desired); err != nil {
		return nil, err
	}
	if err := c.stamp(desired); err != nil {
		return nil, err
	}
	c.connect()
	c.loadRecord()
	if err := c.computeDigest(c.last); err != nil {
		return nil, err
	}
	return c, c.checkPaths()
}

// identify finds out which object is meant.
func (e *Ensurer) identify(obj client.Object, o options) (*child, error) {
	c := &child{}
	c.Ensurer, c.options = e, o
	c.Kind, c.Subject.IsSensitive, c.Older = kinds.None, true, o.migrateFrom
	if c.isNil {
		return nil, c.Subject.Refuse("", "an Option is nil")
	}
	if object.IsNil(obj) {
		return nil, c.Subject.Refuse("", "desired is nil")
	}
	if e == nil || e.memory == nil {
		return nil, c.Subject.Refuse("", "the Ensurer was not created by ensure.New")
	}
	if !e.kinds.IsReadable(obj) {
		return nil, c.Subject.Refuse("", fmt.Sprintf("desired is a %T: it must be a pointer to a struct that embeds no pointer", obj))
	}
	c.Subject.Key, c.Operator, c.DryRun = client.ObjectKeyFromObject(obj), &e.operator, o.dryRun
	if e.misuse != "" {
		return nil, c.Subject.Refuse("", e.misuse)
	}
	kind, err := e.kinds.Of(obj)
	c.Kind, c.Subject.Kind, c.Subject.IsSensitive, c.Subject.IsControlled = kind, kind.GVK, kind.IsSensitive, o.controlled
	if err != nil {
		return nil, c.unknownKindError("it", err)
	}
	if c.controlled {
		err = e.checkOwner(&c.Child, o.owner)
		c.Owner = o.owner
	}
	return c, err
}

// ensure creates or updates the child to match desired. It is called once for each child.
func (c *child) ensure(ctx context.Context) (layer.Outcome, error) {
	found, err := c.readAndReconcile(ctx)
	if c.ifExists && c.server.IsUninstalled(err) {
		found, err = layer.Outcome{Operation: layer.Gone}, nil
	}
	err = c.backoff.End(err, c.server.Requests, c.isUndecided)
	c.reporter.Ended(&c.Child, c.server.Requests, c.server.LastRead, found, err)
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

// A step is what a pass does next.
type step int

const (
	toRest           step = iota // the child is as desired
	toFindProvenance             // find out whose the live object is
	toCompare                    // find out whether the live object is as desired
	toCreate                     // the child
	toWrite                      // desired to the live object
	toSkip                       // a child that does not exist and is not to be created
	toLeaveUnchanged             // the live object, whatever it contains
	toLeaveForeign               // an object of somebody else
	toAwaitCache                 // which does not show our last write yet
	toAwaitDeletion              // of the live object
	toReportHidden               // a child as desired that the cache never shows
)

// A situation is what a pass knows when it decides what to do next.
type situation struct {
	exists        bool // the live object
	isTerminating bool // the live object
	ifExists      bool // the option
	ifMissing     bool // the option

	knowsProvenance bool // whose the live object is, is known
	isOurs          bool // to write, or to adopt
	isHidden        bool // the cache has not shown a child of ours for long
	isStale         bool // the live object is a copy from before our last write

	isCompared bool // whether the live object is as desired, is known
	isInSync   bool // the live object is as desired, and no fields have to change their owner
}

// decide returns the next step of a pass. It sends nothing: claiming and comparing may take a request,
// so they come only when all that costs nothing is settled.
func decide(known situation) step {
	switch {
	case !known.exists && known.ifExists:
		return toSkip
	case !known.exists:
		return toCreate
	case known.isTerminating:
		return toAwaitDeletion
	case known.ifMissing:
		return toLeaveUnchanged
	case !known.knowsProvenance:
		return toFindProvenance
	case !known.isOurs:
		return toLeaveForeign
	case known.isStale:
		return toAwaitCache
	case !known.isCompared:
		return toCompare
	case !known.isInSync:
		return toWrite
	case known.isHidden:
		return toReportHidden
	}
	return toRest
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

// inSync reports whether live needs no request: this desired state was applied, and nobody changed a
// field that concerns it since.
//
// The effects of defaults and webhooks on desired are known only from answers of the API server. So
// confirmed content is compared by its fingerprint and not with desired. After a restart, no content is
// confirmed. Then live must have all values that desired specifies, and no other manager may have
// written since the last apply: an addition inside an atomic part shows only there. whole is live, or a
// later copy with managed fields.
func (c *child) inSync(live, whole client.Object) bool {
	if known, ok := c.record(live); ok {
		return c.isConfirmed(live, known)
	}
	if stored, _ := c.Operator.Stored(live); stored != c.Digest || c.Operator.HasNote(live) {
		return false
	}
	isTouched := c.Kind.IsReset(live) || managedfields.TouchedSinceApply(live, c.Operator.FieldOwner, migrate.ReleasedBy(c.Operator.FieldOwner))
	if isTouched || !delta.Satisfies(live, c.WithoutIgnored(c.Desired), c.Operator.Owned(live)) {
		return false
	}
	if c.isReleaseUnfinished(live) || c.isMigrationPending(whole) {
		return false
	}
	c.confirm(live)
	return true
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

// checkOwnerIsThere asks the API server for the owner before a child becomes its own again, or for the first time: a child
// that was there before, and that somebody else deleted, or a live object without the owner's reference. The garbage
// collector may have deleted the one, or removed the other, because the owner was deleted, and would delete the live object
// with an owner that is gone. The cache may show the owner's end later.
func (c *child) checkOwnerIsThere(ctx context.Context, operation string) error {
	if !c.controlled {
		return nil
	}
	// A failed read, as without the verb get, does not keep the drift from being repaired.
	if _, end, _ := c.server.ReadOwner(ctx, c.owner, c.Controller); end != "" {
		return c.Subject.Fail(ErrOwnerTerminating, operation, ownerName(c.owner)+" "+end)
	}
	return nil
}

// createOnly is a resourceVersion, 2^62, that no object has: an apply that carries
// it creates, or is answered 409 Conflict if the object exists. Seen on
// kube-apiserver 1.36; an ordinary create would leave our fields owned by an Update
// entry, from which a later apply could not remove them.
const createOnly = "4611686018427387904"

// create makes the object if there is none, in one request.
func (c *child) create(ctx context.Context) (layer.Outcome, error) {
	last := c.memory.Record(c.OwnedID()) // c.last may be from before this call deleted the child
	if last.UID != "" && !last.Deleted {
		if err := c.checkOwnerIsThere(ctx, "create"); err != nil {
			return layer.Outcome{}, err
		}
	}
	c.adopted, c.desiredWithDigest = false, nil
	replaced, isRecreated := c.replacements.Get(c.OwnedID())
	desired, err := c.desiredToCreate(replaced.once)
	if err != nil {
		return layer.Outcome{}, err
	}
	body, err := canon.Body(desired, c.Kind.GVK, "", createOnly)
	if err != nil {
		return layer.Outcome{}, c.Subject.Unencodable(err)
	}
	answer, err := c.server.Apply(ctx, "create", c.Digest, body)
	if err != nil {
		return layer.Outcome{}, err
	}
	c.confirm(answer)
	found := layer.Outcome{Live: answer, Operation: layer.Created, Cause: layer.Missing}
	if c.dryRun {
		return found, nil
	}
	if isRecreated {
		c.replacements.Remove(c.OwnedID())
		found.Operation, found.Cause, found.Changes = layer.Recreated, replaced.cause, replaced.changes
	}
	return found, nil
}
