// Package managedfields reads and edits metadata.managedFields: which field manager owns
// which fields of an object.
package managedfields

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Find returns the index of manager's entry for operations of this kind on the main
// resource, or -1: there is none, or the copy came without managed fields.
func Find(obj metav1.Object, manager string, operation metav1.ManagedFieldsOperationType) int {
	return find(Entries(obj), manager, operation)
}

func find(entries []metav1.ManagedFieldsEntry, manager string, operation metav1.ManagedFieldsOperationType) int {
	return slices.IndexFunc(entries, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == manager && entry.Operation == operation && entry.Subresource == ""
	})
}

// Applied returns the entry of manager's server-side applies, or nil.
func Applied(obj metav1.Object, manager string) *metav1.ManagedFieldsEntry {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return appliedInContent(u, manager)
	}
	entries := obj.GetManagedFields()
	i := find(entries, manager, metav1.ManagedFieldsOperationApply)
	if i < 0 {
		return nil
	}
	return &entries[i]
}

// Updates returns the indexes of the entries that updates and patches of the main resource
// left, whose fields another manager may take over.
func Updates(obj metav1.Object) []int {
	var updates []int
	for i, entry := range Entries(obj) {
		if entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Subresource == "" {
			updates = append(updates, i)
		}
	}
	return updates
}

// Others returns the entries of other managers than manager, less those of the status, the newest
// first.
func Others(obj metav1.Object, manager string) []metav1.ManagedFieldsEntry {
	others := slices.DeleteFunc(slices.Clone(Entries(obj)), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == manager || entry.Subresource == "status"
	})
	slices.SortStableFunc(others, func(a, b metav1.ManagedFieldsEntry) int { return WrittenAt(&b).Compare(WrittenAt(&a)) })
	return others
}

// WrittenAt returns when entry was written, to the second. An entry of the scale subresource may
// have no time.
func WrittenAt(entry *metav1.ManagedFieldsEntry) time.Time {
	if entry.Time == nil {
		return time.Time{}
	}
	return entry.Time.Time
}

// Owners are entries that are asked for paths, each of which is read at the first question.
type Owners struct {
	entries []metav1.ManagedFieldsEntry
	owned   []Owned
}

// OwnersIn returns entries in the order in which they are asked.
func OwnersIn(entries []metav1.ManagedFieldsEntry) *Owners { return &Owners{entries: entries} }

// Of returns the manager of the first entry that owns one of paths; empty if none does.
func (o *Owners) Of(paths ...string) string {
	return o.first(func(owned Owned) bool { return slices.ContainsFunc(paths, owned.Owns) })
}

// Holding returns the manager of the first entry that holds path; empty if none does.
func (o *Owners) Holding(path fieldpath.Path) string {
	return o.first(func(owned Owned) bool { return owned.Holds(path) })
}

func (o *Owners) first(isIt func(Owned) bool) string {
	for i := range o.entries {
		if i == len(o.owned) {
			o.owned = append(o.owned, OwnedBy(&o.entries[i]))
		}
		if isIt(o.owned[i]) {
			return o.entries[i].Manager
		}
	}
	return ""
}

// HasOtherVersions reports whether there are entries of another API version than this one.
func HasOtherVersions(obj metav1.Object, version string) bool {
	return slices.ContainsFunc(Entries(obj), func(entry metav1.ManagedFieldsEntry) bool { return entry.APIVersion != version })
}

// IsDisowned reports whether obj has managed fields, but no entry of applies by manager: somebody reset
// the managed fields, and until the next apply the server does not remove fields that desired drops.
func IsDisowned(obj metav1.Object, manager string) bool {
	return HasAny(obj) && Applied(obj, manager) == nil
}

// TouchedSinceApply reports whether another manager than manager and released wrote, status aside, when manager last
// applied or later. Times have a resolution of one second, so the same second counts, and so
// does an entry without a time (the scale subresource leaves some). An entry with metadata
// alone, such as the finalizer of a custom resource's own operator, does not count: labels
// and the like are compared one by one. A copy without any managed fields, from a cache that
// strips them, shows nothing.
func TouchedSinceApply(obj metav1.Object, manager, released string) bool {
	entries := Entries(obj)
	if len(entries) == 0 {
		return false
	}
	own := Applied(obj, manager)
	if own == nil || own.Time == nil {
		return true
	}
	for i := range entries {
		entry := &entries[i]
		if entry.Manager == manager || entry.Manager == released || entry.Subresource == "status" {
			continue
		}
		if (entry.Time == nil || !entry.Time.Before(own.Time)) && !ownsMetadataOnly(entry) {
			return true
		}
	}
	return false
}

func ownsMetadataOnly(entry *metav1.ManagedFieldsEntry) bool {
	owned := OwnedBy(entry)
	return owned.text.Member("f:metadata") != nil && !owned.OwnsBeside("metadata")
}
