package layer

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/hash"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/migrate"
)

// AdoptedMark is the prefix of the stored digest of a child that somebody else created. No digest
// begins with this prefix: digests are hex digits, or v1- and hex digits. A label has room for the
// prefix and 56 hex digits.
const AdoptedMark = "adopt-"

// An Operator is who ensures children, and how its objects show that.
type Operator struct {
	FieldOwner string
	Former     []string   // earlier names of the field owner
	Store      hash.Store // of digests
	Digests    Items      // where Store keeps a digest
}

// Owned returns the fields that the operator's applies own in obj, to be read and not to be changed.
func (o *Operator) Owned(obj metav1.Object) managedfields.Owned {
	return managedfields.OwnedBy(o.Applied(obj))
}

// Fields returns the fields that the operator's applies own in obj.
func (o *Operator) Fields(obj metav1.Object) *fieldpath.Set {
	return managedfields.Fields(o.Applied(obj))
}

// Applied returns the operator's Apply entry in the managed fields of obj, or nil.
func (o *Operator) Applied(obj metav1.Object) *metav1.ManagedFieldsEntry {
	return managedfields.Applied(obj, o.FieldOwner)
}

// IsTouched reports whether another manager has written to obj since the operator's last apply.
func (o *Operator) IsTouched(obj metav1.Object) bool {
	return managedfields.TouchedSinceApply(obj, o.FieldOwner, migrate.ReleasedBy(o.FieldOwner))
}

// IsNobody reports whether a manager stands for fields that nobody is known to have set.
func IsNobody(manager string) bool { return manager == migrate.BeforeFirstApply }

// Disown returns a patch of live after which nobody owns the fields of the operator's own entry of an operation for which
// matches holds.
func (o *Operator) Disown(
	live client.Object, operation metav1.ManagedFieldsOperationType, matches func(fieldpath.Path) bool,
) *managedfields.Patch {
	p := managedfields.NewPatch(live)
	if at := managedfields.Find(live, o.FieldOwner, operation); at >= 0 {
		matching, _ := managedfields.Split(managedfields.Fields(&managedfields.Entries(live)[at]), matches)
		p.Move(matching, at, nil)
	}
	return p
}

// Stored returns the digest that live carries, and whether the child was adopted.
func (o *Operator) Stored(live client.Object) (digest string, isAdopted bool) {
	return strings.CutPrefix(o.Store.Get(live), AdoptedMark)
}

// HasApplied reports whether the operator, now or by a former name, has applied fields that obj has. Whoever creates a copy of an
// object owns the fields that the copy has, and an Apply entry in it keeps those that it lacks.
func (o *Operator) HasApplied(obj client.Object) bool {
	hasApplied := func(name string) bool {
		entry := managedfields.Applied(obj, name)
		return entry != nil && o.ownsPart(entry, obj)
	}
	return hasApplied(o.FieldOwner) || slices.ContainsFunc(o.Former, hasApplied)
}

// ownsPart reports whether an entry of managed fields owns a field that obj has, such as the digest.
func (o *Operator) ownsPart(entry *metav1.ManagedFieldsEntry, obj client.Object) bool {
	own := managedfields.OwnedBy(entry)
	for _, item := range o.Digests {
		if item.In(obj) && own.OwnsAt([]string{"metadata", item.Member, item.Key}) {
			return true
		}
	}
	values, err := delta.Values(obj)
	return err == nil && slices.ContainsFunc(own.Without(managedfields.Owned{}), func(path fieldpath.Path) bool {
		return values(managedfields.Steps(path)) != nil
	})
}

// Find returns the digest that shows live to be ours, and whether live was adopted. The digest may be in an annotation of a
// former field owner, or in the default annotation if the digest has another store now. The digest of an object that we have
// applied no fields of is a copy: then Find returns none, and that live counts as adopted.
func (o *Operator) Find(live client.Object) (digest string, isAdopted bool) {
	value := o.Store.Get(live)
	if value == "" {
		for _, name := range o.Names() {
			value = cmp.Or(value, hash.DefaultStore(name).Get(live))
		}
	}
	if value != "" && managedfields.HasAny(live) && !o.HasApplied(live) {
		return "", true
	}
	return strings.CutPrefix(value, AdoptedMark)
}

// Names returns the field owner and its former names.
func (o *Operator) Names() []string { return slices.Concat([]string{o.FieldOwner}, o.Former) }

// OwnsReference reports whether an entry of managed fields owns a field of an owner reference.
func OwnsReference(entry *metav1.ManagedFieldsEntry, owner *metav1.OwnerReference) bool {
	return managedfields.OwnedBy(entry).Owns("metadata.ownerReferences[uid=" + string(owner.UID) + "]")
}
