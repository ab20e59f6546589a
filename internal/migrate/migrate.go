// Package migrate has the rules by which fields change their owner in the managed fields of an object: before an apply,
// what this field owner gives up or takes, and after it, what older versions of the program share with it. The package
// sends nothing.
package migrate

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/managedfields"
)

// BeforeFirstApply is the manager of fields that nobody is known to have set. If something is applied to an object
// without managed fields, the API server makes this manager the owner of all that is there.
const BeforeFirstApply = "before-first-apply"

// ReleasedBy returns the manager of the fields that a field owner has given up and that stay.
func ReleasedBy(fieldOwner string) string { return fieldOwner + "-released" }

// Rules say which fields belong to whom.
type Rules struct {
	Owner      string   // the field owner
	APIVersion string   // of its applies
	Older      []string // the field managers of older versions of the program
	Former     []string // the former names of the field owner
	IsAdopted  bool     // whether somebody else made the object: what nobody is known to have set may be theirs

	IsLeft  func(fieldpath.Path) bool // whether a field stays as it is although this field owner may have applied it; nil: none
	IsField func(fieldpath.Path) bool // whether a path leads to a field of a struct, and not to an item or a key of a map
	// IsRetired reports whether a field goes if older versions or nobody own it; nil: none.
	IsRetired func(fieldpath.Path) bool
	Unowned   *fieldpath.Set // the fields of the object that nobody owns; nil if not known
}

// Before returns the patch that an apply to live needs first:
//
//   - What former field owners have applied moves to this field owner, whole: that is all that they wanted.
//   - What stays although desired does not have it moves to an entry of updates. So somebody owns it, and what is
//     around it stays, too.
//   - What is retired moves to this field owner, and the apply removes it.
func (r Rules) Before(live metav1.Object) *managedfields.Patch {
	p := managedfields.NewPatch(live)
	entries := managedfields.Entries(live)
	own := r.OwnEntry(live)
	for at := range entries {
		entry := &entries[at]
		if entry.Subresource != "" {
			continue
		}
		for _, former := range r.Former {
			switch {
			case entry.Manager == former && isApply(entry):
				p.Move(managedfields.Fields(entry), at, own)
			case entry.Manager == ReleasedBy(former) && !isApply(entry):
				p.Move(managedfields.Fields(entry), at, r.releasedEntry(entry))
			}
		}
		if r.isOlder(entry) {
			retired, _ := managedfields.Split(managedfields.Fields(entry), r.isRetired)
			p.Move(retired, at, own)
		}
	}
	if r.Unowned != nil {
		retired, _ := managedfields.Split(r.Unowned, r.isRetired)
		p.Move(retired, managedfields.Nobody, own)
	}
	if r.IsLeft != nil {
		r.giveUp(p)
	}
	return p
}

// giveUp moves the fields that stay from this field owner's applies to its entry of released fields.
func (r Rules) giveUp(p *managedfields.Patch) {
	for at, entry := range p.All() {
		if entry.Manager == r.Owner && isApply(&entry) && entry.Subresource == "" {
			left, _ := managedfields.Split(managedfields.Fields(&entry), r.IsLeft)
			p.Move(left, at, r.releasedEntry(&entry))
		}
	}
}

// After returns the patch that makes fields this field owner's alone after its apply, whose answer is live. What older
// versions share with the apply is taken out of their entries. What they hold beside it in the same struct, and the
// existence of maps and structs around it, is nobody's then, like a default: an apply that drops or changes the struct
// could not remove it. All else stays theirs, so that nothing goes from the object.
//
// The apply has to be complete: a field of desired that the entry lacks would be nobody's.
func (r Rules) After(live metav1.Object) *managedfields.Patch {
	p := managedfields.NewPatch(live)
	own := managedfields.Applied(live, r.Owner)
	if own == nil {
		return p
	}
	var applied *fieldpath.Set
	entries := managedfields.Entries(live)
	for at := range entries {
		entry := &entries[at]
		if !r.isOlder(entry) {
			continue
		}
		if applied == nil {
			applied = managedfields.Fields(own)
		}
		isSameVersion := entry.APIVersion == own.APIVersion
		taken, _ := managedfields.Split(managedfields.Fields(entry), func(path fieldpath.Path) bool {
			isTaken := managedfields.Holds(applied, path) || isSameVersion && r.isBeside(applied, path)
			return isTaken && (r.IsLeft == nil || !r.IsLeft(path))
		})
		p.Move(taken, at, nil)
	}
	return p
}

// IsShared reports whether an older version shares fields of live with this field owner's apply. Fields that it only has
// beside the apply, as a webhook adds them, are no reason for a write.
func (r Rules) IsShared(live metav1.Object) bool {
	least := r
	least.IsField = func(fieldpath.Path) bool { return false }
	return !least.After(live).IsEmpty()
}

// Held returns the fields that the older versions that the caller names hold in live, with their managers. It includes
// those of former field owners.
func (r Rules) Held(live metav1.Object) []metav1.ManagedFieldsEntry {
	var held []metav1.ManagedFieldsEntry
	for _, entry := range managedfields.Entries(live) {
		if r.names(entry.Manager) && r.isOlder(&entry) {
			held = append(held, entry)
		}
	}
	return held
}

// Removable returns the entries from which an apply can remove fields: those of older versions, and our own.
func (r Rules) Removable(live metav1.Object) []metav1.ManagedFieldsEntry {
	return slices.DeleteFunc(slices.Clone(managedfields.Entries(live)), func(entry metav1.ManagedFieldsEntry) bool {
		return !r.isOlder(&entry) && entry.Manager != r.Owner
	})
}

// A Field is a field, or a list item as a whole, and its manager.
type Field struct {
	Path    fieldpath.Path
	Manager string
}

// Left returns the fields that the older versions that the caller names hold in live, without those of this field owner's
// apply, those of the status, and those that stay as they are. A list item of which the apply has nothing is one field.
func (r Rules) Left(live metav1.Object) []Field {
	own := managedfields.Fields(managedfields.Applied(live, r.Owner))
	var left []Field
	for _, entry := range r.Held(live) {
		for path := range managedfields.Fields(&entry).Leaves().All() {
			if managedfields.IsAt(path, []string{"status"}) {
				continue
			}
			path = outermostItem(own, path)
			isKnown := slices.ContainsFunc(left, func(field Field) bool { return field.Path.Equals(path) })
			if !isKnown && !managedfields.Holds(own, path) && (r.IsLeft == nil || !r.IsLeft(path)) {
				left = append(left, Field{Path: path.Copy(), Manager: entry.Manager})
			}
		}
	}
	return left
}

// outermostItem returns the path of the outermost list item on the way of path that own has no field of, or path.
func outermostItem(own *fieldpath.Set, path fieldpath.Path) fieldpath.Path {
	for n := range path {
		if path[n].FieldName == nil && !managedfields.Holds(own, path[:n+1]) {
			return path[:n+1]
		}
	}
	return path
}

// Names reports whether one of managers is an older version that the caller names. This field owner is none.
func (r Rules) Names(managers []string) bool {
	return slices.ContainsFunc(managers, func(manager string) bool { return manager != r.Owner && r.names(manager) })
}

func (r Rules) names(manager string) bool {
	return slices.Contains(r.Older, manager) || slices.Contains(r.Former, manager)
}

// IsPending reports whether an apply is due although live is as desired: a former field owner has applied to it, an older
// version shares fields with this field owner, or retired ones are left, also in our own entry, if the program ended before
// the apply that removes them.
func (r Rules) IsPending(live metav1.Object) bool {
	for _, entry := range managedfields.Entries(live) {
		isOlder := r.isOlder(&entry)
		isFormer := entry.Subresource == "" && isApply(&entry) && slices.Contains(r.Former, entry.Manager)
		mayHaveRetired := r.IsRetired != nil && (isOlder || entry.Manager == r.Owner)
		if isFormer || isOlder && r.IsShared(live) || mayHaveRetired && r.hasRetired(&entry) {
			return true
		}
	}
	return false
}

func (r Rules) hasRetired(entry *metav1.ManagedFieldsEntry) bool {
	retired, _ := managedfields.Split(managedfields.Fields(entry), r.isRetired)
	return !retired.Empty()
}

// isOlder reports whether an entry is of an older version of the program, or of nobody: this field owner applies, so that
// updates under its name are an older version's, too.
func (r Rules) isOlder(entry *metav1.ManagedFieldsEntry) bool {
	switch {
	case entry.Subresource != "":
		return false
	case entry.Manager == r.Owner:
		return !isApply(entry)
	}
	return r.IsOlder(entry.Manager)
}

// IsOlder reports whether a manager is an older version of the program, or nobody.
func (r Rules) IsOlder(manager string) bool {
	return manager == BeforeFirstApply && !r.IsAdopted || manager == ReleasedBy(r.Owner) || r.names(manager)
}

func (r Rules) isRetired(path fieldpath.Path) bool {
	return r.IsRetired != nil && r.IsRetired(path) && (r.IsLeft == nil || !r.IsLeft(path))
}

// isBeside reports whether path leads to a field of a struct, or to one inside, in which applied has fields. The fields
// of the top level, such as those of spec, stay apart: no union is there.
func (r Rules) isBeside(applied *fieldpath.Set, path fieldpath.Path) bool {
	for n := len(path) - 1; n >= 2 && r.IsField(path[:n+1]); n-- {
		if managedfields.Holds(applied, path[:n]) {
			return true
		}
	}
	return false
}

// OwnEntry returns the entry of this field owner's applies to live. A new one has the API version that the former field
// owners and the older versions wrote, if it is one, as its fields are those of that version.
func (r Rules) OwnEntry(live metav1.Object) *metav1.ManagedFieldsEntry {
	if own := managedfields.Applied(live, r.Owner); own != nil {
		return own
	}
	fresh := metav1.ManagedFieldsEntry{
		Manager: r.Owner, Operation: metav1.ManagedFieldsOperationApply, APIVersion: r.APIVersion, FieldsType: "FieldsV1",
	}
	var versions []string
	for _, entry := range r.Held(live) { // the newest comes last
		fresh.Time = entry.Time
		versions = append(versions, entry.APIVersion)
	}
	if versions = slices.Compact(versions); len(versions) == 1 {
		fresh.APIVersion = versions[0]
	}
	return &fresh
}

// releasedEntry returns the entry of fields that this field owner has given up, for those of another entry.
func (r Rules) releasedEntry(of *metav1.ManagedFieldsEntry) *metav1.ManagedFieldsEntry {
	released := *of
	released.Manager, released.Operation = ReleasedBy(r.Owner), metav1.ManagedFieldsOperationUpdate
	return &released
}

func isApply(entry *metav1.ManagedFieldsEntry) bool {
	return entry.Operation == metav1.ManagedFieldsOperationApply
}
