package explain

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/managedfields"
)

// Options select the content of a Report.
type Options struct {
	// FieldManager names a field owner to report on, even if the object has no digest of this field owner.
	FieldManager string
	// MigrateFrom names the managers of older versions, for a Migration.
	MigrateFrom []string
	// Unowned adds the fields that no manager owns.
	Unowned bool
	// Mask masks the values of all kinds, not only of Secrets. Paths do not have the values that name masked items.
	Mask bool
}

// Of returns the Report on live.
func Of(live *unstructured.Unstructured, opts Options) *Report {
	r := heading(live)
	r.Exists = true
	r.FieldOwners = fieldOwners(live, opts.FieldManager)
	r.Managers = managers(live, r.FieldOwners)
	r.mask = maskOf(live, opts)
	r.describeFields(live)
	if opts.Unowned {
		r.Unowned = unowned(live, r.mask)
	}
	return r
}

// Missing returns the Report on an object that does not exist yet.
func Missing(desired *unstructured.Unstructured) *Report {
	return &Report{
		APIVersion: desired.GetAPIVersion(), Kind: desired.GetKind(), Namespace: desired.GetNamespace(), Name: desired.GetName(),
		Owners: []Owner{}, FieldOwners: []FieldOwner{}, Managers: []Manager{}, Shared: []Shared{},
	}
}

func heading(live *unstructured.Unstructured) *Report {
	r := Missing(live)
	created := live.GetCreationTimestamp()
	r.Created, r.Deleting, r.Finalizers = timeOf(&created), timeOf(live.GetDeletionTimestamp()), live.GetFinalizers()
	for _, ref := range live.GetOwnerReferences() {
		r.Owners = append(r.Owners, Owner{Kind: ref.Kind, Name: ref.Name, Controller: ref.Controller != nil && *ref.Controller})
	}
	return r
}

// timeOf returns t in UTC, or nil if t is not set.
func timeOf(t *metav1.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	utc := t.UTC()
	return &utc
}

func entryOf(entry *metav1.ManagedFieldsEntry) Entry {
	return Entry{
		Manager: entry.Manager, Operation: string(entry.Operation), Subresource: entry.Subresource,
		APIVersion: entry.APIVersion, Time: timeOf(entry.Time),
	}
}

// managers returns the managers of live: first those that trueup applied, then the newest.
func managers(live *unstructured.Unstructured, owners []FieldOwner) []Manager {
	found := []Manager{}
	entries := live.GetManagedFields()
	for i := range entries {
		manager := Manager{Entry: entryOf(&entries[i]), Fields: []Field{}, leaves: leaves(&entries[i])}
		manager.Trueup = slices.ContainsFunc(owners, func(owner FieldOwner) bool {
			return owner.Digest != "" && isApplyOf(manager.Entry, owner.Name)
		})
		found = append(found, manager)
	}
	slices.SortStableFunc(found, compareManagers)
	return found
}

func isApplyOf(entry Entry, owner string) bool {
	return entry.Manager == owner && entry.Operation == string(metav1.ManagedFieldsOperationApply) && entry.Subresource == ""
}

func compareManagers(a, b Manager) int {
	if a.Trueup != b.Trueup {
		if a.Trueup {
			return -1
		}
		return 1
	}
	return cmp.Or(newestFirst(a.Time, b.Time), strings.Compare(a.String(), b.String()), strings.Compare(a.APIVersion, b.APIVersion))
}

// newestFirst compares two times. No time is newest, as it may be any.
func newestFirst(a, b *time.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return b.Compare(*a)
}

// describeFields lists the fields of each manager with their values, and the fields with several owners.
func (r *Report) describeFields(live *unstructured.Unstructured) {
	owners := map[string][]string{}    // by the whole path, as two masked paths may look alike
	maskedPaths := map[string]string{} // by the same
	for _, manager := range r.Managers {
		for path := range manager.leaves.All() {
			text := managedfields.Text(path)
			maskedPaths[text] = r.mask.text(path)
			if !slices.Contains(owners[text], manager.String()) { // a manager has an entry for each version
				owners[text] = append(owners[text], manager.String())
			}
		}
	}
	for i := range r.Managers {
		manager := &r.Managers[i]
		for path := range manager.leaves.All() {
			field := fieldAt(live, path, r.mask)
			field.AlsoOwnedBy = without(owners[field.at], manager.String())
			manager.Fields = append(manager.Fields, field)
		}
		sortFields(manager.Fields)
	}
	r.Shared = shared(owners, maskedPaths)
}

func shared(owners map[string][]string, maskedPaths map[string]string) []Shared {
	found := []Shared{}
	for _, path := range slices.Sorted(maps.Keys(owners)) {
		if len(owners[path]) > 1 {
			found = append(found, Shared{Path: maskedPaths[path], Owners: owners[path]})
		}
	}
	return found
}

func fieldAt(live *unstructured.Unstructured, path fieldpath.Path, mask mask) Field {
	field := Field{Path: mask.text(path), at: managedfields.Text(path)}
	value, found := lookup(live.Object, path)
	switch {
	case !found:
		field.Absent = true
	case mask.masks(path):
		field.Masked = true
	default:
		field.Value = shown(value)
	}
	return field
}

func sortFields(fields []Field) {
	slices.SortFunc(fields, func(a, b Field) int { return strings.Compare(a.at, b.at) })
}

// without returns names less name.
func without(names []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(other string) bool { return other == name })
}
