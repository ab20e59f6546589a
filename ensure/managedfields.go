package ensure

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// entryOf returns the index of owner's entry for operations of this kind on the main
// resource, or -1: there is none, or the copy came without managed fields.
func entryOf(obj client.Object, owner string, operation metav1.ManagedFieldsOperationType) int {
	return slices.IndexFunc(obj.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == owner && entry.Operation == operation && entry.Subresource == ""
	})
}

// applied returns the entry of owner's server-side applies, or nil.
func applied(obj client.Object, owner string) *metav1.ManagedFieldsEntry {
	i := entryOf(obj, owner, metav1.ManagedFieldsOperationApply)
	if i < 0 {
		return nil
	}
	return &obj.GetManagedFields()[i]
}

// isDisowned reports whether obj has managed fields and none of owner's applies: they
// were reset, and until the next apply the server would not remove what desired drops.
func isDisowned(obj client.Object, owner string) bool {
	return len(obj.GetManagedFields()) > 0 && applied(obj, owner) == nil
}

// touchedSinceApply reports whether another manager wrote, status aside, when owner
// last applied or later. Times have a resolution of one second, so the same second
// counts, and so does an entry without a time (the scale subresource leaves some).
// Who wrote metadata alone, such as the finalizer of a custom resource's own operator, does
// not count: what is added there is theirs, and what is ours there is compared by itself.
// A copy without any managed fields, from a cache that strips them, shows nothing.
func touchedSinceApply(obj client.Object, owner string) bool {
	entries := obj.GetManagedFields()
	if len(entries) == 0 {
		return false
	}
	own := applied(obj, owner)
	if own == nil || own.Time == nil {
		return true
	}
	for i := range entries {
		entry := &entries[i]
		if entry.Manager == owner || entry.Subresource == "status" {
			continue
		}
		if (entry.Time == nil || !entry.Time.Before(own.Time)) && !ownsMetadataOnly(entry) {
			return true
		}
	}
	return false
}

func ownsMetadataOnly(entry *metav1.ManagedFieldsEntry) bool {
	if entry.FieldsV1 == nil {
		return false
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
		return false
	}
	_, found := fields["f:metadata"]
	return found && len(fields) == 1
}
