package ensure

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/migrate"
)

// rules returns the rules by which the fields of a child change their owner.
func (c *child) rules() migrate.Rules {
	rules := migrate.Rules{
		Owner: c.Operator.FieldOwner, APIVersion: c.Kind.APIVersion, Older: c.Older, Former: c.Operator.Former,
		IsAdopted: c.adopted, IsField: c.Kind.IsField, Retired: c.Retired, Unowned: c.unowned,
	}
	if len(c.Left) > 0 || c.adopt && c.Controller == nil {
		rules.IsLeft = func(path fieldpath.Path) bool { return c.IsLeft(path) || c.isKeptOwner(path) }
	}
	return rules
}

// ownedAfter returns the fields that our applies own after a patch.
func (c *child) ownedAfter(p *managedfields.Patch) managedfields.Owned {
	return c.Operator.Owned(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: p.Entries()}})
}

func isContent(path fieldpath.Path) bool { return !managedfields.IsAt(path, []string{"metadata"}) }

// disown returns a patch of live after which nobody owns the fields of our own entry of an operation for which matches
// holds.
func (c *child) disown(
	live client.Object, operation metav1.ManagedFieldsOperationType, matches func(fieldpath.Path) bool,
) *managedfields.Patch {
	p := managedfields.NewPatch(live)
	if at := managedfields.Find(live, c.Operator.FieldOwner, operation); at >= 0 {
		matching, _ := managedfields.Split(managedfields.Fields(&managedfields.Entries(live)[at]), matches)
		p.Move(matching, at, nil)
	}
	return p
}

// isKeptOwner reports whether path is that of an owner that stays, and that desired does not
// name. If our applies own it, the next one removes it.
func (c *child) isKeptOwner(path fieldpath.Path) bool {
	if !c.adopt || c.Controller != nil || !managedfields.IsAt(path, []string{"metadata", "ownerReferences"}) {
		return false
	}
	return !slices.ContainsFunc(c.Desired.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return managedfields.IsAt(path, []string{"metadata", "ownerReferences", "uid=" + string(ref.UID)})
	})
}

// keepsOwners reports whether the owners of live stay as they are, though an earlier call may
// have applied one of them.
func (c *child) keepsOwners(live client.Object) bool {
	return c.adopt && c.Controller == nil && len(live.GetOwnerReferences()) > 0
}
