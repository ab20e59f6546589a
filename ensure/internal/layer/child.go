package layer

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	Call     Call
	Kind     *kinds.Kind
	Subject  fault.Subject
	Operator *Operator
	DryRun   bool
	// KeepsOwners means that the owners of the live object stay as they are, though an earlier call may have applied one of them.
	KeepsOwners bool

	Owner      client.Object          // that the caller gave, or nil
	Controller *metav1.OwnerReference // that desired names, or nil

	Desired  client.Object // stamped with the namespace, the labels and the owner
	Birth    client.Object // what the creation sends if that differs, or nil
	Ignored  []delta.Edit  // remove from an object the fields that are neither compared nor applied to an object that exists
	Checksum uint64        // of the canonical form of Desired
	Digest   string        // of everything that Desired specifies

	Older    []string    // field managers of earlier versions of the operator
	Left     []GivenPath // that belong to others
	Retired  []GivenPath // to what earlier versions left, and that is to go
	Handover string      // the options by which fields change their owner
}

// A Call is what is to be done with a child.
type Call string

// The calls, which back off independently of each other.
const (
	Ensure Call = ""
	Absent Call = "absent"
	Prune  Call = "prune"
)

// A GivenPath is a path that was given to an option.
type GivenPath struct {
	Path, Option string
	Steps        []string
}

// Named returns the path and the option, as refusals begin.
func (p GivenPath) Named() string { return fmt.Sprintf("the path %q given to %s ", p.Path, p.Option) }

// ID identifies the child on the API server.
func (c *Child) ID() memory.ChildKey { return memory.ChildKey{Kind: c.Kind.Name, Key: c.Subject.Key} }

// OwnedID tells calls on behalf of different owners apart.
func (c *Child) OwnedID() memory.OwnedKey {
	id := memory.OwnedKey{Child: c.ID()}
	if c.Controller != nil {
		id.Owner = c.Controller.UID
	}
	return id
}

// IsWanted reports whether a controller is the one that desired names.
func (c *Child) IsWanted(controller *metav1.OwnerReference) bool {
	return c.Controller != nil && SameOwner(*controller, *c.Controller)
}

// IsControlledByOther reports whether live has another controller than desired names.
func (c *Child) IsControlledByOther(live client.Object) bool {
	controller := metav1.GetControllerOfNoCopy(live)
	return controller != nil && (c.Controller == nil || !SameOwner(*controller, *c.Controller))
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
	return slices.ContainsFunc(c.Left, func(left GivenPath) bool { return managedfields.IsAt(path, left.Steps) })
}

// Stays reports whether a field stays as it is although the field owner may have applied it: it is left to others, or that of
// an owner that stays, and that desired does not name. If our applies own it, the next one removes it.
func (c *Child) Stays(path fieldpath.Path) bool {
	if c.IsLeft(path) {
		return true
	}
	if !c.KeepsOwners || !managedfields.IsAt(path, []string{"metadata", "ownerReferences"}) {
		return false
	}
	return !slices.ContainsFunc(c.Desired.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return managedfields.IsAt(path, []string{"metadata", "ownerReferences", "uid=" + string(ref.UID)})
	})
}

// IsRetired reports whether the path of a Change is to go, or inside such a path.
func (c *Child) IsRetired(path string) bool {
	if len(c.Retired) == 0 {
		return false
	}
	steps := paths.Steps(path)
	return slices.ContainsFunc(c.Retired, func(retired GivenPath) bool { return paths.HasPrefix(steps, retired.Steps) })
}

// IsRetiredField reports whether a path of managed fields is to go, or inside such a path.
func (c *Child) IsRetiredField(path fieldpath.Path) bool {
	return slices.ContainsFunc(c.Retired, func(retired GivenPath) bool { return managedfields.IsAt(path, retired.Steps) })
}

// WithoutIgnored returns obj without the fields that are ignored.
func (c *Child) WithoutIgnored(obj client.Object) canon.Object {
	return delta.Edited(obj, c.Ignored...)
}

// IgnoredIn returns the values of live in the fields that are ignored.
func (c *Child) IgnoredIn(live client.Object) ([]delta.Edit, error) {
	if len(c.Ignored) == 0 {
		return nil, nil
	}
	found, err := delta.Values(live)
	if err != nil {
		return nil, c.Subject.Unencodable(err)
	}
	var values []delta.Edit
	for _, edit := range c.Ignored {
		if value := found(edit.Path); value != nil {
			values = append(values, delta.Edit{Path: edit.Path, Value: value})
		}
	}
	return values, nil
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

// JSON returns obj, or an error, as JSON.
func (c *Child) JSON(obj canon.Object, err error) (*unstructured.Unstructured, error) {
	if err != nil {
		return nil, err
	}
	body, err := canon.Body(obj, c.Kind.GVK, "", "")
	if err != nil {
		return nil, err
	}
	out := &unstructured.Unstructured{}
	return out, out.UnmarshalJSON(body)
}

// Typed returns obj in the Go type of desired.
func (c *Child) Typed(obj *unstructured.Unstructured) client.Object {
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
