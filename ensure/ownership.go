package ensure

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/managedfields"
)

// An ownership is a session that reads and changes the managed fields of the live object: the fields
// that this field owner has applied, those of others that it takes over, and those that it gives up.
type ownership struct{ session }

// ownedIn returns the fields that our applies own in obj.
func (o *ownership) ownedIn(obj client.Object) *fieldpath.Set {
	return managedfields.Fields(managedfields.Applied(obj, o.fieldOwner))
}

// strike removes the paths for which isStruck holds from our own entry of an operation, and
// returns them.
func (o *ownership) strike(
	p *managedfields.Patch, live client.Object, operation metav1.ManagedFieldsOperationType, isStruck func(fieldpath.Path) bool,
) *fieldpath.Set {
	own := managedfields.Find(live, o.fieldOwner, operation)
	if own < 0 {
		return fieldpath.NewSet()
	}
	return p.Strike([]int{own}, isStruck)
}

// ownEntry returns the entry of this field owner's applies, or a new one. A new entry has the API
// version that the old managers wrote, or the child's if they wrote several.
func (o *ownership) ownEntry(entries []metav1.ManagedFieldsEntry, own int, old []int) metav1.ManagedFieldsEntry {
	if own >= 0 {
		return entries[own]
	}
	entry := metav1.ManagedFieldsEntry{
		Manager: o.fieldOwner, Operation: metav1.ManagedFieldsOperationApply, APIVersion: o.apiVersion, FieldsType: "FieldsV1",
	}
	var versions []string
	for _, at := range old { // the newest comes last
		entry.Time = entries[at].Time
		versions = appendNew(versions, entries[at].APIVersion)
	}
	if len(versions) == 1 {
		entry.APIVersion = versions[0]
	}
	return entry
}

// patchEntries changes the managed fields of live as build says, on a fresh copy if others
// write in between, and returns the server's answer, or live if there was nothing to change.
func (o *ownership) patchEntries(
	ctx context.Context, operation string, live client.Object, build func(p *managedfields.Patch, live client.Object),
) (client.Object, error) {
	for range takeOverAttempts {
		p := managedfields.NewPatch(live)
		build(p, live)
		operations := p.Operations()
		if len(operations) == 0 {
			return live, nil
		}
		patched, err := o.patchJSON(ctx, operation, operations)
		if !hasMoved(err) {
			return patched, err
		}
		if live, err = o.reread(ctx, live); err != nil {
			return nil, err
		}
	}
	return nil, o.conflict(operation, "it was changed meanwhile", nil)
}

// isLeft reports whether path is not taken over. Fields that we take over and do not apply are removed,
// so these stay: the status, the owners of an object that was adopted for no owner, fields that Once
// names, and the content if desired is metadata only.
func (o *ownership) isLeft(path fieldpath.Path) bool {
	if _, ok := o.desired.(*metav1.PartialObjectMetadata); ok && isContent(path) {
		return true
	}
	return managedfields.IsAt(path, []string{"status"}) || o.isLeftOwner(path) || o.isMadeOnce(path)
}

// isLeftOwner reports whether path is that of an owner that stays, and that desired does not
// name. If our applies own it, the next one removes it.
func (o *ownership) isLeftOwner(path fieldpath.Path) bool {
	if !o.adopt || o.controller != nil || !managedfields.IsAt(path, []string{"metadata", "ownerReferences"}) {
		return false
	}
	return !slices.ContainsFunc(o.desired.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return managedfields.IsAt(path, []string{"metadata", "ownerReferences", "uid=" + string(ref.UID)})
	})
}

// leavesOwners reports whether the owners of live stay as they are, though an earlier call may
// have applied one of them.
func (o *ownership) leavesOwners(live client.Object) bool {
	return o.adopt && o.controller == nil && len(live.GetOwnerReferences()) > 0
}

// isOfDigest reports whether path is where our digest is kept.
func (o *ownership) isOfDigest(path fieldpath.Path) bool {
	if len(path) != 3 || isContent(path) || path[1].FieldName == nil || path[2].FieldName == nil {
		return false
	}
	place := item{member: *path[1].FieldName, key: *path[2].FieldName}
	return place.in(o.stamped) && !place.in(o.desired)
}

func isContent(path fieldpath.Path) bool { return !managedfields.IsAt(path, []string{"metadata"}) }
