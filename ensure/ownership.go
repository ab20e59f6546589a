package ensure

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/migrate"
)

// An ownership is a session that reads and changes the managed fields of the live object: the fields
// that this field owner has applied, those of others that it takes over, and those that it gives up.
type ownership struct {
	session

	unowned *fieldpath.Set // the fields of the live object that nobody owns, if some are retired
}

// rules returns the rules by which the fields of a child change their owner.
func (o *ownership) rules() migrate.Rules {
	rules := migrate.Rules{
		Owner: o.Operator.FieldOwner, APIVersion: o.Kind.APIVersion, Older: o.migrateFrom, Former: o.Operator.Former,
		IsAdopted: o.adopted, IsField: o.Kind.IsField, Retired: o.retireSteps, Unowned: o.unowned,
	}
	if len(o.leftPaths) > 0 || o.adopt && o.Controller == nil {
		rules.IsLeft = func(path fieldpath.Path) bool { return o.isLeftPath(path) || o.isKeptOwner(path) }
	}
	return rules
}

// ownedAfter returns the fields that our applies own after a patch.
func (o *ownership) ownedAfter(p *managedfields.Patch) managedfields.Owned {
	return o.Operator.Owned(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: p.Entries()}})
}

// fieldsFingerprint returns a fingerprint of the fields of live that this field owner has applied,
// except for those that Once names. It is empty if live has no managed fields.
func (o *ownership) fieldsFingerprint(live client.Object) string {
	own := o.Operator.Applied(live)
	if own == nil || own.FieldsV1 == nil {
		return ""
	}
	if len(o.Ignored) > 0 {
		_, rest := managedfields.Split(managedfields.Fields(own), o.isLeftPath)
		return contentSum(managedfields.WithFields(*own, rest).FieldsV1.GetRawBytes())
	}
	return contentSum(own.FieldsV1.GetRawBytes())
}

func isContent(path fieldpath.Path) bool { return !managedfields.IsAt(path, []string{"metadata"}) }

// disown returns a patch of live after which nobody owns the fields of our own entry of an operation for which matches
// holds.
func (o *ownership) disown(
	live client.Object, operation metav1.ManagedFieldsOperationType, matches func(fieldpath.Path) bool,
) *managedfields.Patch {
	p := managedfields.NewPatch(live)
	if at := managedfields.Find(live, o.Operator.FieldOwner, operation); at >= 0 {
		matching, _ := managedfields.Split(managedfields.Fields(&managedfields.Entries(live)[at]), matches)
		p.Move(matching, at, nil)
	}
	return p
}

// isKeptOwner reports whether path is that of an owner that stays, and that desired does not
// name. If our applies own it, the next one removes it.
func (o *ownership) isKeptOwner(path fieldpath.Path) bool {
	if !o.adopt || o.Controller != nil || !managedfields.IsAt(path, []string{"metadata", "ownerReferences"}) {
		return false
	}
	return !slices.ContainsFunc(o.Desired.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return managedfields.IsAt(path, []string{"metadata", "ownerReferences", "uid=" + string(ref.UID)})
	})
}

// keepsOwners reports whether the owners of live stay as they are, though an earlier call may
// have applied one of them.
func (o *ownership) keepsOwners(live client.Object) bool {
	return o.adopt && o.Controller == nil && len(live.GetOwnerReferences()) > 0
}
