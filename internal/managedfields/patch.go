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
	before, after []metav1.ManagedFieldsEntry // an entry that is removed has no fields after
	tests         []jsonpatch.Operation
}

// NewPatch returns a Patch of live that changes nothing yet.
func NewPatch(live metav1.Object) *Patch {
	entries := live.GetManagedFields()
	return &Patch{before: entries, after: slices.Clone(entries), tests: TestUID(live)}
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

// Replace puts entry in the place of the one with this index.
func (p *Patch) Replace(at int, entry metav1.ManagedFieldsEntry) { p.after[at] = entry }

// Add appends entry.
func (p *Patch) Add(entry metav1.ManagedFieldsEntry) { p.after = append(p.after, entry) }

// AddFields adds the fields of entry to the entry with the same manager, operation and version, or adds
// entry.
func (p *Patch) AddFields(entry metav1.ManagedFieldsEntry) {
	at := slices.IndexFunc(p.after, func(known metav1.ManagedFieldsEntry) bool {
		return !isRemoved(known) && known.Manager == entry.Manager && known.Operation == entry.Operation &&
			known.APIVersion == entry.APIVersion && known.Subresource == entry.Subresource
	})
	if at < 0 {
		p.Add(entry)
		return
	}
	p.Replace(at, WithFields(p.after[at], Fields(&p.after[at]).Union(Fields(&entry))))
}

func (p *Patch) remove(at int) { p.after[at].FieldsV1 = nil }

func isRemoved(entry metav1.ManagedFieldsEntry) bool { return entry.FieldsV1 == nil }

// RemoveFields removes the paths for which matches holds from the entries with these indexes, and
// removes entries that become empty. It returns the removed paths.
func (p *Patch) RemoveFields(entries []int, matches func(fieldpath.Path) bool) *fieldpath.Set {
	removed := fieldpath.NewSet()
	for _, at := range entries {
		taken, kept := Split(Fields(&p.after[at]), matches)
		removed = removed.Union(taken)
		switch {
		case taken.Empty():
		case kept.Empty():
			p.remove(at)
		default:
			p.Replace(at, WithFields(p.after[at], kept))
		}
	}
	return removed
}

// SetAPIVersion has all entries be of one API version. Entries that differ in nothing else then
// become one, as the server would keep only one of them.
func (p *Patch) SetAPIVersion(version string) {
	for at, entry := range p.before {
		isSame := func(other metav1.ManagedFieldsEntry) bool {
			return other.Manager == entry.Manager && other.Operation == entry.Operation && other.Subresource == entry.Subresource
		}
		if slices.ContainsFunc(p.before[at+1:], isSame) {
			p.remove(at)
			continue
		}
		united := entry
		united.APIVersion = version
		for i := range p.before[:at] {
			if isSame(p.before[i]) {
				united = WithFields(united, Fields(&united).Union(Fields(&p.before[i])))
			}
		}
		p.Replace(at, united)
	}
}

// Entries returns the managed fields that the patch leaves.
func (p *Patch) Entries() []metav1.ManagedFieldsEntry {
	return slices.DeleteFunc(slices.Clone(p.after), isRemoved)
}

// Operations returns the JSON patch; nil if nothing is to change.
func (p *Patch) Operations() []jsonpatch.Operation {
	var tests, changes, removals []jsonpatch.Operation
	for at, entry := range p.before {
		if isEqual(entry, p.after[at]) {
			continue
		}
		tests = append(tests, jsonpatch.Test(pointer(at), entry))
		if isRemoved(p.after[at]) {
			removals = append(removals, jsonpatch.Remove(pointer(at)))
		} else {
			changes = append(changes, jsonpatch.Replace(pointer(at), p.after[at]))
		}
	}
	added := p.after[len(p.before):]
	if len(p.before) == 0 && len(added) > 0 {
		changes = append(changes, jsonpatch.Add("/metadata/managedFields", []metav1.ManagedFieldsEntry{}))
	}
	for _, entry := range added {
		changes = append(changes, jsonpatch.Add("/metadata/managedFields/-", entry))
	}
	if len(changes)+len(removals) == 0 {
		return nil
	}
	slices.Reverse(removals) // so that the index of an earlier entry stays valid
	return slices.Concat(p.tests, tests, changes, removals)
}

func pointer(at int) string { return "/metadata/managedFields/" + strconv.Itoa(at) }

// isEqual reports whether two entries of one place are the same. Their fields may be written differently.
func isEqual(a, b metav1.ManagedFieldsEntry) bool {
	return a == b || a.APIVersion == b.APIVersion && isRemoved(a) == isRemoved(b) && Fields(&a).Equals(Fields(&b))
}
