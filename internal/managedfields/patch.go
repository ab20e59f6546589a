package managedfields

import (
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/jsonpatch"
)

// A Patch changes single entries of the managed fields of an object. The patch tests that these entries
// have not changed since the read, and changes no others, so that no ownership of a concurrent writer
// is lost. The resourceVersion is not tested, as it changes all the time while a rollout reports its
// progress.
type Patch struct {
	entries, after []metav1.ManagedFieldsEntry
	tests, changes []jsonpatch.Operation
	removals       []int
}

// NewPatch returns a Patch of live that changes nothing yet.
func NewPatch(live metav1.Object) *Patch {
	entries := live.GetManagedFields()
	return &Patch{entries: entries, after: slices.Clone(entries), tests: TestUID(live)}
}

// TestUID fails a JSON patch for another object of the same name. The fake client gives no
// UIDs.
func TestUID(live metav1.Object) []jsonpatch.Operation {
	if live.GetUID() == "" {
		return nil
	}
	return []jsonpatch.Operation{jsonpatch.Test("/metadata/uid", live.GetUID())}
}

// Test fails the patch unless the value at a JSON pointer is this one.
func (p *Patch) Test(pointer string, value any) {
	p.tests = append(p.tests, jsonpatch.Test(pointer, value))
}

func (p *Patch) testEntry(at int) string {
	p.Test(pointer(at), p.entries[at])
	return pointer(at)
}

func pointer(at int) string { return "/metadata/managedFields/" + strconv.Itoa(at) }

// Replace puts entry in the place of the one with this index.
func (p *Patch) Replace(at int, entry metav1.ManagedFieldsEntry) {
	p.changes = append(p.changes, jsonpatch.Replace(p.testEntry(at), entry))
	p.after[at] = entry
}

// Add appends entry.
func (p *Patch) Add(entry metav1.ManagedFieldsEntry) {
	if len(p.after) == 0 {
		p.changes = append(p.changes, jsonpatch.Add("/metadata/managedFields", []metav1.ManagedFieldsEntry{}))
	}
	p.changes = append(p.changes, jsonpatch.Add("/metadata/managedFields/-", entry))
	p.after = append(p.after, entry)
}

// Give adds the fields of entry to the entry with the same manager, operation and version, or adds
// entry.
func (p *Patch) Give(entry metav1.ManagedFieldsEntry) {
	at := slices.IndexFunc(p.entries, func(known metav1.ManagedFieldsEntry) bool {
		return known.Manager == entry.Manager && known.Operation == entry.Operation &&
			known.APIVersion == entry.APIVersion && known.Subresource == entry.Subresource
	})
	if at < 0 {
		p.Add(entry)
		return
	}
	p.Replace(at, WithFields(p.entries[at], Fields(&p.entries[at]).Union(Fields(&entry))))
}

func (p *Patch) remove(at int) {
	p.testEntry(at)
	p.removals = append(p.removals, at)
}

// Strike removes the paths for which isStruck holds from the entries with these indexes, and removes
// entries that become empty. It returns the removed paths.
func (p *Patch) Strike(entries []int, isStruck func(fieldpath.Path) bool) *fieldpath.Set {
	struck := fieldpath.NewSet()
	for _, at := range entries {
		taken, kept := Split(Fields(&p.entries[at]), isStruck)
		struck = struck.Union(taken)
		switch {
		case taken.Empty():
		case kept.Empty():
			p.remove(at)
		default:
			p.Replace(at, WithFields(p.entries[at], kept))
		}
	}
	return struck
}

// SetAPIVersion has all entries be of one API version. Entries that differ in nothing else then
// become one, as the server would keep only one of them.
func (p *Patch) SetAPIVersion(version string) {
	for at, entry := range p.entries {
		isSame := func(other metav1.ManagedFieldsEntry) bool {
			return other.Manager == entry.Manager && other.Operation == entry.Operation && other.Subresource == entry.Subresource
		}
		if slices.ContainsFunc(p.entries[at+1:], isSame) {
			p.remove(at)
			continue
		}
		united := entry
		united.APIVersion = version
		for i := range p.entries[:at] {
			if isSame(p.entries[i]) {
				united = WithFields(united, Fields(&united).Union(Fields(&p.entries[i])))
			}
		}
		if united != entry {
			p.Replace(at, united)
		}
	}
}

// Entries returns the managed fields that the patch leaves.
func (p *Patch) Entries() []metav1.ManagedFieldsEntry {
	left := make([]metav1.ManagedFieldsEntry, 0, len(p.after))
	for at := range p.after {
		if !slices.Contains(p.removals, at) {
			left = append(left, p.after[at])
		}
	}
	return left
}

// Operations returns the JSON patch; nil if nothing is to change.
func (p *Patch) Operations() []jsonpatch.Operation {
	if len(p.changes)+len(p.removals) == 0 {
		return nil
	}
	operations := slices.Concat(p.tests, p.changes)
	slices.Sort(p.removals)
	for _, at := range slices.Backward(p.removals) { // the index of an earlier entry stays valid
		operations = append(operations, jsonpatch.Remove(pointer(at)))
	}
	return operations
}
