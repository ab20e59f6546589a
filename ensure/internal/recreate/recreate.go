// Package recreate deletes an object that cannot be changed as desired, so that it is created again.
package recreate

import (
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/lru"
)

// A Policy says when a child may be deleted and created again.
type Policy struct {
	Dependents  metav1.DeletionPropagation // what becomes of them; empty: never delete
	OnDrift     bool                       // also to revert a change by others
	DeletesData bool                       // also if the kind holds more than the object
}

// A Table holds the objects that were deleted, until they are created again. It is safe for concurrent use.
type Table = lru.Table[memory.OwnedKey, Replacement]

// NewTable returns an empty table for so many children.
func NewTable(entries int) *Table { return lru.New[memory.OwnedKey, Replacement](entries) }

// A Replacement is due for an object that was deleted.
type Replacement struct {
	Values []delta.Edit // of the deleted object, for the new one

	deleted types.UID
	cause   layer.Cause
	changes []layer.Change
}

// Outcome returns the outcome of the creation of live.
func (r Replacement) Outcome(live client.Object) layer.Outcome {
	return layer.Outcome{Live: live, Operation: layer.Recreated, Cause: r.cause, Changes: r.changes}
}

// Drop forgets a pending replacement once the child has another UID: somebody else created the child first.
func Drop(table *Table, c *layer.Child, uid types.UID) {
	if pending, _ := table.Get(c.OwnedID()); pending.deleted != uid {
		table.Remove(c.OwnedID())
	}
}

// A Recreation is one of a live object that cannot be changed as desired.
type Recreation struct {
	Policy Policy
	Table  *Table
	Server *server.Session
	Live   client.Object
	Cause  layer.Cause
	// RefusesDriftOnly reports whether the API server only refuses to revert what others changed.
	RefusesDriftOnly func(context.Context) (bool, error)
}

// provenCause returns Drifted for an object without a digest that this process has not written: nothing shows that desired has
// changed since.
func (r *Recreation) provenCause() layer.Cause {
	if stored, _ := r.Server.Child.Operator.Stored(r.Live); stored == "" && !r.Server.IsRemembered(r.Live) {
		return layer.Drifted
	}
	return r.Cause
}

// IsAllowed reports whether the live object may be deleted, and whether that is of use.
func (r *Recreation) IsAllowed(ctx context.Context) (bool, error) {
	cause := r.provenCause()
	mayDelete := r.Policy.Dependents != "" && (r.Policy.DeletesData || !r.Server.Child.Kind.HoldsMore())
	if !mayDelete || cause != layer.DesiredChanged && !r.Policy.OnDrift {
		return false, nil
	}
	complete, err := r.Server.Complete(ctx, r.Live)
	if err != nil {
		return false, err
	}
	switch _, isAdopted := r.Server.Child.Operator.Find(complete); {
	case isAdopted: // which a cache that strips managed fields does not show
		return false, nil
	case cause != layer.DesiredChanged:
		return r.isChangedByOthers(complete), nil
	case r.Policy.OnDrift:
		return true, nil
	}
	isDriftRefused, err := r.RefusesDriftOnly(ctx)
	return !isDriftRefused, err
}

// isChangedByOthers reports whether the live object differs from desired in a field that this field owner does not
// own any more. complete is the live object with its managed fields. A differing field that this field owner owns was changed
// by a webhook, which would change a new object, too.
func (r *Recreation) isChangedByOthers(complete client.Object) bool {
	c := r.Server.Child
	own := c.Operator.Owned(complete)
	return slices.ContainsFunc(layer.Paths(c.Unsatisfied(r.Live)), func(path string) bool { return !own.Owns(path) })
}

// Delete deletes the live object after a refusal. After a dry run, the outcome is Recreated. Otherwise the child is to be created:
// if the live object is not gone at once, the creation fails, and a later pass creates the child.
func (r *Recreation) Delete(ctx context.Context, refusal error) (layer.Outcome, error) {
	c, cause := r.Server.Child, r.provenCause()
	changes := c.Unsatisfied(r.Live)
	if e, ok := errors.AsType[*fault.Error](refusal); ok && len(changes) == 0 {
		for _, path := range e.Paths {
			changes = append(changes, layer.Change{Path: path})
		}
	}
	values, err := r.valuesToKeep(ctx)
	if err != nil {
		return layer.Outcome{}, err
	}
	wasThere, err := r.Server.Delete(ctx, r.Live, r.Policy.Dependents)
	if err != nil {
		return layer.Outcome{}, err
	}
	found := layer.Outcome{Live: r.Live, Operation: layer.Recreated, Cause: cause, Changes: changes}
	if c.DryRun {
		return found, nil
	}
	found.Operation = layer.Deleting
	if !wasThere { // somebody else deleted it
		found.Cause = ""
	}
	r.Table.Set(c.OwnedID(), Replacement{deleted: r.Live.GetUID(), cause: cause, changes: changes, Values: values})
	return found, nil
}

// valuesToKeep returns the values that are ignored as the API server has them, for the object that replaces the live one.
func (r *Recreation) valuesToKeep(ctx context.Context) ([]delta.Edit, error) {
	c := r.Server.Child
	if len(c.Ignored) == 0 {
		return nil, nil
	}
	complete, err := r.Server.RereadJSON(ctx, "delete", r.Live.GetUID())
	if err != nil {
		return nil, err
	}
	if complete.GetResourceVersion() != r.Live.GetResourceVersion() {
		return nil, c.Subject.Conflict("delete", "it was changed meanwhile", nil)
	}
	return c.IgnoredIn(complete)
}
