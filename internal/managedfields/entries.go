package managedfields

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trueup-go/trueup/internal/canon"
)

// Entries returns the managed fields of obj, which the caller must not change. The method of an unstructured object
// converts them by reflection, which costs ten times as much.
func Entries(obj metav1.Object) []metav1.ManagedFieldsEntry {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj.GetManagedFields()
	}
	list := listOf(u)
	if len(list) == 0 {
		return nil
	}
	entries := make([]metav1.ManagedFieldsEntry, len(list))
	for i, item := range list {
		if !convert(item, &entries[i]) {
			return obj.GetManagedFields()
		}
	}
	return entries
}

// HasAny reports whether obj has managed fields.
func HasAny(obj metav1.Object) bool {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return len(listOf(u)) > 0
	}
	return len(obj.GetManagedFields()) > 0
}

// appliedInContent is Applied for unstructured content, of which it converts one entry.
func appliedInContent(u *unstructured.Unstructured, manager string) *metav1.ManagedFieldsEntry {
	const operation = string(metav1.ManagedFieldsOperationApply)
	for _, item := range listOf(u) {
		members, _ := item.(map[string]any)
		if members["manager"] != manager || members["operation"] != operation || members["subresource"] != nil {
			continue
		}
		entry := new(metav1.ManagedFieldsEntry)
		if !convert(item, entry) {
			entries := u.GetManagedFields()
			if i := find(entries, manager, metav1.ManagedFieldsOperationApply); i >= 0 {
				return &entries[i]
			}
			return nil
		}
		return entry
	}
	return nil
}

// listOf returns the managed fields of unstructured content.
func listOf(u *unstructured.Unstructured) []any {
	metadata, _ := u.Object["metadata"].(map[string]any)
	list, _ := metadata["managedFields"].([]any)
	return list
}

// convert reads an entry, and reports whether it is of the usual form.
func convert(item any, entry *metav1.ManagedFieldsEntry) bool {
	members, ok := item.(map[string]any)
	if !ok {
		return false
	}
	for name, value := range members {
		text, isText := value.(string)
		switch name {
		case "manager":
			entry.Manager = text
		case "operation":
			entry.Operation = metav1.ManagedFieldsOperationType(text)
		case "apiVersion":
			entry.APIVersion = text
		case "subresource":
			entry.Subresource = text
		case "fieldsType":
			entry.FieldsType = text
		case "time":
			written, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return false
			}
			entry.Time = &metav1.Time{Time: written.Local()}
		case "fieldsV1":
			fields, err := canon.Append(make([]byte, 0, usualSize), value)
			if err != nil {
				return false
			}
			entry.FieldsV1, isText = NewFields(string(fields)), true
		}
		if !isText {
			return false
		}
	}
	return true
}

// usualSize is a size, in bytes, that the fields of most entries do not exceed.
const usualSize = 1 << 10
