package ensure

import (
	"cmp"
	"context"
	"reflect"
	"regexp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// This field owner can lose fields although every value stays: somebody changes a value and changes
// the value back, or empties the managed fields. The next apply makes this field owner an owner again,
// but beside another manager, for whom the API server keeps fields that desired drops later. So a
// loss is noticed, and the fields are taken from the other manager.

// beforeFirstApply is the manager of fields that nobody is known to have set. If something is applied to
// an object without managed fields, the API server makes this manager the owner of all that is there.
const beforeFirstApply = "before-first-apply"

// An ownership is a session that reads and changes the managed fields of the live object: the fields
// that this field owner has applied, those of others that it takes over, and those that it gives up.
type ownership struct{ session }

// ownedIn returns the fields that our applies own in obj.
func (o *ownership) ownedIn(obj client.Object) *fieldpath.Set {
	return managedfields.Fields(managedfields.Applied(obj, o.fieldOwner))
}

// fieldsFingerprint returns a fingerprint of the fields of live that this field owner has applied,
// except for those that Once names. It is empty if live has no managed fields.
func (o *ownership) fieldsFingerprint(live client.Object) string {
	own := managedfields.Applied(live, o.fieldOwner)
	if own == nil || own.FieldsV1 == nil {
		return ""
	}
	if len(o.onceEdits) > 0 {
		rest := managedfields.WithFields(*own, o.withoutReleasedPaths(managedfields.Fields(own)))
		own = &rest
	}
	return contentSum(own.FieldsV1.GetRawBytes())
}

// isDigestField reports whether path is where our digest is kept.
func (o *ownership) isDigestField(path fieldpath.Path) bool {
	if len(path) != 3 || isContent(path) || path[1].FieldName == nil || path[2].FieldName == nil {
		return false
	}
	place := item{member: *path[1].FieldName, key: *path[2].FieldName}
	return place.in(o.desiredWithDigest) && !place.in(o.desired)
}

func isContent(path fieldpath.Path) bool { return !managedfields.IsAt(path, []string{"metadata"}) }

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
		if !isChangedSinceRead(err) {
			return patched, err
		}
		if live, err = o.reread(ctx, live); err != nil {
			return nil, err
		}
	}
	return nil, o.conflictError(operation, "it was changed meanwhile", nil)
}

// takeOverAttempts bounds the tries beside others who write at the same time.
const takeOverAttempts = 5

// removeOwnFields removes the paths for which matches holds from our own entry of an operation, and
// returns them.
func (o *ownership) removeOwnFields(
	p *managedfields.Patch, live client.Object, operation metav1.ManagedFieldsOperationType, matches func(fieldpath.Path) bool,
) *fieldpath.Set {
	own := managedfields.Find(live, o.fieldOwner, operation)
	if own < 0 {
		return fieldpath.NewSet()
	}
	return p.RemoveFields([]int{own}, matches)
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

// A transfer gives this field owner the fields of the old managers and the fields that others took from
// it. Released fields get no owner.
type transfer struct {
	operation string
	old       []int          // the entries of old managers
	own       *fieldpath.Set // that this field owner has applied before the transfer
	patch     *managedfields.Patch
}

// planTransfer returns the transfer that live needs, with an empty patch if live needs none.
func (o *ownership) planTransfer(live client.Object) (transfer, error) {
	p, old := managedfields.NewPatch(live), o.oldEntries(live)
	entries := live.GetManagedFields()
	own := managedfields.Find(live, o.fieldOwner, metav1.ManagedFieldsOperationApply)
	entry := o.ownEntry(entries, own, old)
	before := managedfields.Fields(&entry)
	taken := p.RemoveFields(old, func(path fieldpath.Path) bool { return !o.isNotTakenOver(path) })
	taken = taken.Union(o.regain(p, live, old))
	after, err := o.withoutReleased(live, before.Union(taken))
	if err != nil {
		return transfer{}, err
	}
	_, after = managedfields.Split(after, o.isKeptOwner)
	switch {
	case after.Equals(before):
	case own < 0:
		p.Add(managedfields.WithFields(entry, after))
	default:
		p.Replace(own, managedfields.WithFields(entry, after))
	}
	if len(old) > 0 {
		return transfer{migrating, old, before, p}, nil
	}
	return transfer{releasing, nil, before, p}, nil
}

// sendTransfer sends the transfer of live, after a conversion of the managed fields if the API server
// needs one, and returns the answer.
func (o *ownership) sendTransfer(ctx context.Context, live client.Object) (client.Object, error) {
	live, err := o.convertible(ctx, live)
	if err != nil {
		return nil, err
	}
	h, err := o.planTransfer(live)
	if err != nil {
		return nil, err
	}
	return o.patchJSON(ctx, h.operation, h.patch.Operations())
}

// oldEntries are the indexes of the entries to take over.
func (o *ownership) oldEntries(live client.Object) []int {
	if len(o.migrateFrom) == 0 {
		return nil
	}
	var old []int
	entries := live.GetManagedFields()
	for i := range entries {
		entry := &entries[i]
		isOwn := entry.Manager == o.fieldOwner && entry.Operation == metav1.ManagedFieldsOperationApply
		if isOwn || entry.Subresource != "" || !slices.Contains(o.migrateFrom, entry.Manager) {
			continue
		}
		if _, taken := managedfields.Split(managedfields.Fields(entry), o.isNotTakenOver); !taken.Empty() {
			old = append(old, i)
		}
	}
	return old
}

// isMigrating reports whether live is to be taken over from an old manager.
func (o *ownership) isMigrating(live client.Object) bool { return len(o.oldEntries(live)) > 0 }

// isNotTakenOver reports whether path stays with its owner. Fields that we take over and do not apply are
// removed, so these stay: the status, the owners of an object that was adopted for no owner, fields that
// Once names, and the content if desired is metadata only.
func (o *ownership) isNotTakenOver(path fieldpath.Path) bool {
	if _, ok := o.desired.(*metav1.PartialObjectMetadata); ok && isContent(path) {
		return true
	}
	return managedfields.IsAt(path, []string{"status"}) || o.isKeptOwner(path) || o.isOncePath(path)
}

// isKeptOwner reports whether path is that of an owner that stays, and that desired does not
// name. If our applies own it, the next one removes it.
func (o *ownership) isKeptOwner(path fieldpath.Path) bool {
	if !o.adopt || o.controller != nil || !managedfields.IsAt(path, []string{"metadata", "ownerReferences"}) {
		return false
	}
	return !slices.ContainsFunc(o.desired.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return managedfields.IsAt(path, []string{"metadata", "ownerReferences", "uid=" + string(ref.UID)})
	})
}

// keepsOwners reports whether the owners of live stay as they are, though an earlier call may
// have applied one of them.
func (o *ownership) keepsOwners(live client.Object) bool {
	return o.adopt && o.controller == nil && len(live.GetOwnerReferences()) > 0
}

// regain removes our fields from the entries of other updates in live, except for the entries old,
// which are taken over as a whole. It returns the fields that this field owner had not applied before.
func (o *ownership) regain(p *managedfields.Patch, live client.Object, old []int) *fieldpath.Set {
	own := o.ownedIn(live)
	lost := o.lostFields(live, own)
	var nobodys, others []int
	for _, at := range managedfields.Updates(live) {
		manager := live.GetManagedFields()[at].Manager
		switch {
		case slices.Contains(old, at):
		case manager == o.fieldOwner || manager == beforeFirstApply && !o.adopted:
			nobodys = append(nobodys, at)
		default:
			others = append(others, at)
		}
	}
	return p.RemoveFields(nobodys, own.Union(lost).Has).Union(p.RemoveFields(others, lost.Has))
}

// lostFields returns the fields of updates in which live is as desired, as far as this field owner does
// not own them although desired was applied.
func (o *ownership) lostFields(live client.Object, own *fieldpath.Set) *fieldpath.Set {
	lost := fieldpath.NewSet()
	if stored, adopted := o.storedDigest(live); adopted || stored != o.digest {
		return lost
	}
	wanted, err := delta.Values(o.withoutOnce(o.desired))
	if err != nil {
		return lost // desired was read before
	}
	found, err := delta.Values(live)
	if err != nil {
		return lost
	}
	for _, at := range managedfields.Updates(live) {
		fields := managedfields.Fields(&live.GetManagedFields()[at]).Leaves()
		fields.Difference(own).Iterate(func(path fieldpath.Path) {
			steps := managedfields.Steps(path)
			if value := wanted(steps); value != nil && reflect.DeepEqual(value, found(steps)) {
				lost.Insert(path.Copy())
			}
		})
	}
	return lost
}

// withoutReleased returns fields, which this field owner owns in live, without those that Release or
// Once leave to others.
func (o *ownership) withoutReleased(live client.Object, fields *fieldpath.Set) (*fieldpath.Set, error) {
	all := o.releasedPaths()
	if len(all) == 0 {
		return fields, nil
	}
	found, err := delta.Values(live)
	if err != nil {
		return nil, o.unencodableError(err)
	}
	for _, h := range all {
		if _, err := delta.Specifies(live, h.steps); err != nil {
			return nil, o.refuse("", unfitPath(h.path, h.option)+err.Error())
		}
	}
	fields, o.emptyParents = o.withoutReleasedPaths(fields), nil
	for _, h := range all {
		if found(h.steps) == nil {
			continue
		}
		if fields, err = o.withoutParents(found, fields, h); err != nil {
			return nil, err
		}
	}
	// The outer paths come first: an empty map replaces everything inside.
	slices.SortStableFunc(o.emptyParents, func(a, b delta.Edit) int { return cmp.Compare(len(a.Path), len(b.Path)) })
	return fields, nil
}

func (o *ownership) withoutReleasedPaths(fields *fieldpath.Set) *fieldpath.Set {
	for _, h := range o.releasedPaths() {
		_, fields = managedfields.Split(fields, func(p fieldpath.Path) bool { return managedfields.IsAt(p, h.steps) })
	}
	return fields
}

// withoutParents keeps the structs, maps and items around a value that has no owner, if desired does
// not specify them: the apply would remove them together with the value when it removes anything
// inside. They are given up, or applied empty if desired dropped other fields inside. An item of a list
// cannot be empty, so the caller has to release the item.
func (o *ownership) withoutParents(found func([]string) any, fields *fieldpath.Set, h releasedPath) (*fieldpath.Set, error) {
	depth, err := o.specified(h.steps)
	if err != nil {
		return nil, err
	}
	for n := depth + 1; n < len(h.steps); n++ {
		beside, _ := managedfields.Split(fields, func(p fieldpath.Path) bool {
			return len(p) > n && managedfields.IsAt(p, h.steps[:n]) && !managedfields.IsAt(p, h.steps[:n+1])
		})
		if !beside.Empty() {
			return fields, o.keepParents(found, h, depth)
		}
	}
	_, rest := managedfields.Split(fields, func(p fieldpath.Path) bool { return managedfields.IsAt(p, h.steps[:depth+1]) })
	return rest, nil
}

// keepParents adds the parents of a value to the apply, empty. depth is the number of steps that
// desired specifies.
func (o *ownership) keepParents(found func([]string) any, h releasedPath, depth int) error {
	last := len(h.steps) - 1
	for n := depth; n < last; n++ {
		if _, isList := found(h.steps[:n]).([]any); isList {
			item := firstSteps(h.path, n+1)
			return o.refuse(h.path, "is to stay, but desired has nothing left in "+item+
				", which would be removed with it: give "+h.option+" "+item)
		}
	}
	empty := any(map[string]any{})
	if _, isList := found(h.steps[:last]).([]any); isList {
		empty = []any{}
	}
	o.emptyParents = append(o.emptyParents, delta.Edit{Path: h.steps[:last], Value: empty})
	return nil
}

// Each entry of the managed fields names the API version of its fields. After a change of the versions
// of a custom kind, an entry, even one of a status, may name a version to which the API server cannot
// convert the object any more: the version is gone, or its schema lacks a field that has a default now.
// Then every apply fails, and every other write empties the managed fields. A patch of its own gives
// such entries the version that we apply: it is the only write that loses nothing.

// isUnconvertible reports whether the API server could not convert the object to the API version of an
// entry. Such an answer is a 500 without a reason; only the message shows it. An object that does not
// fit the schema of our own version is another failure.
func isUnconvertible(err error) bool {
	status, ok := answer.Status(err)
	return ok && status.Code == 500 && status.Reason == "" && unconvertible.MatchString(status.Message)
}

var unconvertible = regexp.MustCompile(
	`^(failed (to prune fields|add back \w+ items|to convert (old|new|merged|pruned) [^:()]+): )*` +
		`(request to convert CR to an invalid group/version: |(errors:\s+)?\.\w)`)

// makeConvertible makes all entries of live be of our API version, after a refusal that
// isUnconvertible. If they are so already, the refusal stands.
func (o *ownership) makeConvertible(ctx context.Context, live client.Object, refusal error) (client.Object, error) {
	live, err := o.reread(ctx, live)
	if err != nil {
		return nil, err
	}
	if !managedfields.HasOtherVersions(live, o.apiVersion) {
		return nil, refusal
	}
	return o.rewriteVersions(ctx, live)
}

// convertible returns live, on which a patch of ours builds, with entries that the server does
// not lose with the patch.
func (o *ownership) convertible(ctx context.Context, live client.Object) (client.Object, error) {
	if o.dryRun || !managedfields.HasOtherVersions(live, o.apiVersion) {
		return live, nil
	}
	nothing := append(managedfields.TestUID(live), jsonpatch.Test("/metadata/name", live.GetName()))
	tried, err := o.patchJSON(ctx, "repair", nothing, client.DryRunAll, client.DisableReadYourWritesConsistency)
	switch {
	case apierrors.IsBadRequest(err): // a webhook that takes no dry runs: nothing tells
		return live, nil
	case err != nil || len(tried.GetManagedFields()) > 0:
		return live, err
	}
	// A webhook that converts may be out of reach. An apply fails then, and says so.
	_, err = o.applyDesired(ctx, live.GetUID(), client.DryRunAll, client.DisableReadYourWritesConsistency)
	if err != nil && !isUnconvertible(err) && !apierrors.IsInvalid(err) {
		return nil, err
	}
	return o.rewriteVersions(ctx, live)
}

// rewriteVersions makes all entries of live be of our API version.
func (o *ownership) rewriteVersions(ctx context.Context, live client.Object) (client.Object, error) {
	p := managedfields.NewPatch(live)
	p.SetAPIVersion(o.apiVersion)
	return o.patchJSON(ctx, "repair", p.Operations())
}
