package layer

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/kinds"
	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/paths"
)

// A Child is the object that a call is about, with its desired state. A layer only reads it.
type Child struct {
	Kind     *kinds.Kind
	Subject  fault.Subject
	Operator *Operator
	DryRun   bool

	Owner      client.Object          // that the caller gave, or nil
	Controller *metav1.OwnerReference // that desired names, or nil

	Desired  client.Object // stamped with the namespace, the labels and the owner
	Birth    client.Object // what the creation sends if that differs, or nil
	Ignored  []delta.Edit  // remove from an object the fields that are neither compared nor applied to an object that exists
	Checksum uint64        // of the canonical form of Desired
	Digest   string        // of everything that Desired specifies

	Older   []string   // field managers of earlier versions of the operator
	Left    []LeftPath // that belong to others
	Retired [][]string // steps to what earlier versions left, and that is to go
}

// A LeftPath is a path that an option leaves to others.
type LeftPath struct {
	Path, Option string
	Steps        []string
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

// IsWanted reports whether a controller is the one that desired names.
func (c *Child) IsWanted(controller *metav1.OwnerReference) bool {
	return c.Controller != nil && SameOwner(*controller, *c.Controller)
}

// ControllerName returns kind and name of the controller that desired names; empty if there is none.
func (c *Child) ControllerName() string {
	if c.Controller == nil {
		return ""
	}
	return c.Controller.Kind + " " + c.Controller.Name
}

// SameOwner compares by UID; the fake client gives none, so there names must do.
func SameOwner(a, b metav1.OwnerReference) bool {
	if a.UID != "" || b.UID != "" {
		return a.UID == b.UID
	}
	groupA, _ := schema.ParseGroupVersion(a.APIVersion)
	groupB, _ := schema.ParseGroupVersion(b.APIVersion)
	return groupA.Group == groupB.Group && a.Kind == b.Kind && a.Name == b.Name
}

// IsLeft reports whether a path belongs to others.
func (c *Child) IsLeft(path fieldpath.Path) bool {
	return slices.ContainsFunc(c.Left, func(left LeftPath) bool { return managedfields.IsAt(path, left.Steps) })
}

// IsRetired reports whether the path of a Change is to go, or inside such a path.
func (c *Child) IsRetired(path string) bool {
	if len(c.Retired) == 0 {
		return false
	}
	steps := paths.Steps(path)
	return slices.ContainsFunc(c.Retired, func(retired []string) bool {
		return paths.HasPrefix(steps, retired)
	})
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
