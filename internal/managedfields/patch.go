package managedfields

import (
	"iter"
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
	entries := Entries(live)
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

// Nobody is where fields without an owner come from.
const Nobody = -1

// Move moves fields from the entry with the index from, as far as it has them, to the entry with the same manager,
// operation, version and subresource as to. It adds to if there is no such entry, and removes an entry that becomes
// empty. Fields without an owner come from Nobody; if to is nil, nobody owns the fields then. Move returns the fields
// that it moved.
func (p *Patch) Move(fields *fieldpath.Set, from int, to *metav1.ManagedFieldsEntry) *fieldpath.Set {
	if from != Nobody {
		before := Fields(&p.after[from])
		fields = before.Intersection(fields)
		if !fields.Empty() {
			p.set(from, before.Difference(fields))
		}
	}
	if to == nil || fields.Empty() {
		return fields
	}
	at := slices.IndexFunc(p.after, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == to.Manager && entry.Operation == to.Operation &&
			entry.APIVersion == to.APIVersion && entry.Subresource == to.Subresource
	})
	if at < 0 {
		at = len(p.after)
		p.after = append(p.after, *to)
		p.after[at].FieldsV1 = nil
	}
	p.set(at, Fields(&p.after[at]).Union(fields))
	return fields
}

// set gives an entry other fields. One without fields is removed.
func (p *Patch) set(at int, fields *fieldpath.Set) {
	if fields.Empty() {
		p.after[at].FieldsV1 = nil
		return
	}
	p.after[at] = WithFields(p.after[at], fields)
}

func isRemoved(entry metav1.ManagedFieldsEntry) bool { return entry.FieldsV1 == nil }

// SetAPIVersion has all entries be of one API version. Entries that differ in nothing else then
// become one, as the server would keep only one of them.
func (p *Patch) SetAPIVersion(version string) {
	for at, entry := range p.before {
		isSame := func(other metav1.ManagedFieldsEntry) bool {
			return other.Manager == entry.Manager && other.Operation == entry.Operation && other.Subresource == entry.Subresource
		}
		if slices.ContainsFunc(p.before[at+1:], isSame) {
			p.after[at].FieldsV1 = nil
			continue
		}
		united := entry
		united.APIVersion = version
		for i := range p.before[:at] {
			if isSame(p.before[i]) {
				united = WithFields(united, Fields(&united).Union(Fields(&p.before[i])))
			}
		}
		p.after[at] = united
	}
}

// All returns the entries that the patch leaves, with their indexes for Move.
func (p *Patch) All() iter.Seq2[int, metav1.ManagedFieldsEntry] {
	return func(yield func(int, metav1.ManagedFieldsEntry) bool) {
		for at, entry := range slices.Clone(p.after) {
			if !isRemoved(entry) && !yield(at, entry) {
				return
			}
		}
	}
}

// Entries returns the managed fields that the patch leaves.
func (p *Patch) Entries() []metav1.ManagedFieldsEntry {
	return slices.DeleteFunc(slices.Clone(p.after), isRemoved)
}

// Managers returns the managers whose entries the patch changes.
func (p *Patch) Managers() []string {
	var managers []string
	for at := range p.before {
		if !isEqual(p.before[at], p.after[at]) {
			managers = append(managers, p.before[at].Manager)
		}
	}
	return managers
}

// Equals reports whether another patch of the same object leaves the same entries.
func (p *Patch) Equals(other *Patch) bool { return slices.EqualFunc(p.after, other.after, isEqual) }

// IsEmpty reports whether the patch changes nothing.
func (p *Patch) IsEmpty() bool { return p.Operations() == nil }

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
	added := slices.DeleteFunc(slices.Clone(p.after[len(p.before):]), isRemoved)
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
