package ensure

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// create makes the object if there is none, in one request.
func (p *pass) create(ctx context.Context) (layer.Outcome, error) {
	last := p.server.Memory.Record(p.child.OwnedID()) // Known may be from before this call deleted the child
	if last.UID != "" && !last.Deleted {
		if err := p.checkOwnerIsThere(ctx, "create"); err != nil {
			return layer.Outcome{}, err
		}
	}
	before, isReplacement := p.layers.deleted()
	answer, err := p.applier.Create(ctx, before.Values)
	if err != nil {
		return layer.Outcome{}, err
	}
	p.confirm(answer)
	if isReplacement && !p.child.DryRun {
		p.layers.forgetDeleted()
		return before.Outcome(answer), nil
	}
	return layer.Outcome{Live: answer, Operation: layer.Created, Cause: layer.Missing}, nil
}

// changes returns the changes that an apply made, by comparing the object before with the answer of the API server.
// The object before may be older than the one that the API server had. So nothing changed if the version of the
// answer is known already, or if only fields differ that others wrote meanwhile.
func (p *pass) changes(applied server.Application) []layer.Change {
	live, answer := applied.Before, applied.After
	own := p.child.Operator.Owned(answer)
	if applied.IsTried { // on an object that was just read: nobody wrote in between
		return p.child.Changes(delta.Diff(live, answer, own))
	}
	version := answer.GetResourceVersion()
	known, remembered := p.server.Record(answer)
	if !p.child.DryRun && (version == live.GetResourceVersion() || remembered && known.Version == version) {
		return nil
	}
	found := delta.Diff(live, answer, own)
	if len(found) == 0 {
		return nil
	}
	isOthers := p.changedByOthers(live, answer, own)
	return p.child.Changes(slices.DeleteFunc(found, func(change delta.Change) bool { return isOthers(change.Path) }))
}

// changedByOthers returns a function that reports whether another manager wrote a path between the read and the apply. In the
// metadata, the items of desired and the items that this apply removed are ours. Elsewhere, a path
// belongs to others if they own it and this field owner owned it neither before nor after. A change of
// a field that nobody owns, such as a default, counts as a change by the apply. after are our fields in the answer.
func (p *pass) changedByOthers(live, answer client.Object, after managedfields.Owned) func(path string) bool {
	before := p.child.Operator.Owned(live)
	others := managedfields.OwnersIn(managedfields.Others(answer, p.child.Operator.FieldOwner))
	desired, _ := p.applier.Stamped() // as it was applied
	return func(path string) bool {
		if i, ok := layer.ItemAt(path); ok {
			return !i.In(desired) && (i.In(answer) || managedfields.HasAny(live) && !before.Owns(path))
		}
		isOurs := before.Owns(path) || after.Owns(path)
		return path != "" && !isOurs && others.Of(path) != ""
	}
}

// checkOwnerIsThere asks the API server for the owner before a child becomes its own again, or for the first time: a child
// that was there before, and that somebody else deleted, or a live object without the owner's reference. The garbage
// collector may have deleted the one, or removed the other, because the owner was deleted, and would delete the live object
// with an owner that is gone. The cache may show the owner's end later.
func (p *pass) checkOwnerIsThere(ctx context.Context, operation string) error {
	if p.child.Owner == nil {
		return nil
	}
	switch _, end, err := p.server.ReadOwner(ctx); {
	case fault.IsFault(err):
		return err
	case end != "":
		return p.child.Subject.Fail(ErrOwnerTerminating, operation, ownerName(p.child.Owner)+" "+end)
	}
	return nil // A failed read, as without the verb get, does not keep the drift from being repaired.
}

// delete deletes live. Its children are handled as policy says.
func (p *pass) delete(ctx context.Context, live client.Object, policy metav1.DeletionPropagation) (layer.Outcome, error) {
	wasThere, err := p.server.Delete(ctx, live, policy)
	switch {
	case err != nil:
		return layer.Outcome{}, err
	case !wasThere:
		return layer.Outcome{Operation: layer.Gone}, nil
	}
	return layer.Outcome{Live: live, Operation: layer.Deleting, Cause: layer.Unwanted}, nil
}
