package layer

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/kinds"
	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/delta"
)

// A Child is the object that a call is about. Nothing changes it once package ensure has made it.
type Child struct {
	Kind    *kinds.Kind
	Subject fault.Subject

	Owner      client.Object          // that the caller gave, or nil
	Controller *metav1.OwnerReference // that desired names, or nil

	Desired client.Object // stamped with the namespace, the labels and the owner
	Digest  string        // of everything that Desired specifies

	Ignored []delta.Edit // remove from an object the fields that are neither compared nor applied to an object that exists

	Operator *Operator
	DryRun   bool
}

// ID identifies the child on the API server.
func (c *Child) ID() memory.ChildKey { return memory.ChildKey{Kind: c.Kind.Name, Key: c.Subject.Key} }

// OwnedID tells calls on behalf of different owners apart.
func (c *Child) OwnedID() memory.OwnedKey {
	id := memory.OwnedKey{ChildKey: c.ID()}
	if c.Controller != nil {
		id.Owner = c.Controller.UID
	}
	return id
}

// WithoutIgnored returns obj without the fields that are ignored.
func (c *Child) WithoutIgnored(obj client.Object) canon.Object {
	return delta.Edited(obj, c.Ignored...)
}

// Unsatisfied lists where live is not as desired.
func (c *Child) Unsatisfied(live client.Object) []Change {
	return c.Changes(delta.Unsatisfied(live, c.WithoutIgnored(c.Desired), c.Operator.Owned(live)))
}

// Changes returns differences as changes, without values if the kind is sensitive: a number can be a
// PIN.
func (c *Child) Changes(found []delta.Change) []Change {
	var changes []Change
	for _, difference := range found {
		change := Change{Path: difference.Path}
		if !c.Subject.IsSensitive {
			change.Old, change.New = difference.Old, difference.New
		}
		changes = append(changes, change)
	}
	return changes
}
