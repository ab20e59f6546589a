package ensure

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/canon"
)

// An entryPatch changes entries of an object's managed fields one by one. It tests that
// they are still what they were and leaves all others alone, so that no ownership is lost
// to a writer in between; the resourceVersion, which moves all the time while a rollout
// reports its progress, does not matter.
type entryPatch struct {
	entries        []metav1.ManagedFieldsEntry
	tests, changes []canon.PatchOperation
	removals       []canon.PatchOperation // last entry first
}

func newEntryPatch(live client.Object) *entryPatch {
	return &entryPatch{entries: live.GetManagedFields(), tests: testOfUID(live)}
}

// testOfUID has a JSON patch fail for another object of the same name. The fake client gives
// no UIDs.
func testOfUID(live client.Object) []canon.PatchOperation {
	if live.GetUID() == "" {
		return nil
	}
	return []canon.PatchOperation{{Op: "test", Path: "/metadata/uid", Value: live.GetUID()}}
}

func (p *entryPatch) test(at int) string {
	path := "/metadata/managedFields/" + strconv.Itoa(at)
	p.tests = append(p.tests, canon.PatchOperation{Op: "test", Path: path, Value: p.entries[at]})
	return path
}

func (p *entryPatch) replace(at int, entry metav1.ManagedFieldsEntry) {
	p.changes = append(p.changes, canon.PatchOperation{Op: "replace", Path: p.test(at), Value: entry})
}

func (p *entryPatch) add(entry metav1.ManagedFieldsEntry) {
	p.changes = append(p.changes, canon.PatchOperation{Op: "add", Path: "/metadata/managedFields/-", Value: entry})
}

func (p *entryPatch) remove(at int) {
	removal := canon.PatchOperation{Op: "remove", Path: p.test(at)}
	p.removals = append([]canon.PatchOperation{removal}, p.removals...)
}

// operations are empty if nothing is to change.
func (p *entryPatch) operations() []canon.PatchOperation {
	if len(p.changes)+len(p.removals) == 0 {
		return nil
	}
	return append(append(p.tests, p.changes...), p.removals...)
}
