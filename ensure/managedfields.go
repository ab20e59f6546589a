package ensure

import (
	"bytes"
	"context"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/canon"
)

// complete returns live with its managed fields: from the server, if the cache may have
// stripped them.
func (c *child) complete(ctx context.Context, live client.Object) (client.Object, error) {
	if len(live.GetManagedFields()) > 0 {
		return live, nil
	}
	return c.reread(ctx, live)
}

// current is as complete, and no copy from before our own last answer: what became ours with
// that would not be given up, and the apply would remove it.
func (c *child) current(ctx context.Context, live client.Object) (client.Object, error) {
	if c.isOutdated(live) {
		return c.reread(ctx, live)
	}
	return c.complete(ctx, live)
}

// reread returns live as the server has it.
func (c *child) reread(ctx context.Context, live client.Object) (client.Object, error) {
	complete, err := c.readServer(ctx)
	if err != nil {
		return nil, err
	}
	if complete == nil || complete.GetUID() != live.GetUID() {
		return nil, c.conflict("read", "the cache is behind", nil)
	}
	return complete, nil
}

// fieldsOf are those that an entry owns. An unreadable entry owns nothing.
func fieldsOf(entry *metav1.ManagedFieldsEntry) *fieldpath.Set {
	fields := fieldpath.NewSet()
	if entry == nil || entry.FieldsV1 == nil {
		return fields
	}
	if err := fields.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
		return fieldpath.NewSet()
	}
	return fields
}

// setFields makes an entry own fields.
func setFields(entry *metav1.ManagedFieldsEntry, fields *fieldpath.Set) {
	text, _ := fields.ToJSON() // writes to memory what was read from JSON
	entry.FieldsV1 = metav1.NewFieldsV1(string(text))
}

// split returns the fields for which inside holds, and the rest.
func split(fields *fieldpath.Set, inside func(fieldpath.Path) bool) (within, rest *fieldpath.Set) {
	within = fieldpath.NewSet()
	fields.Iterate(func(path fieldpath.Path) {
		if inside(path) {
			within.Insert(path.Copy())
		}
	})
	return within, fields.Difference(within)
}

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
	p := &entryPatch{entries: live.GetManagedFields()}
	if uid := live.GetUID(); uid != "" {
		p.tests = append(p.tests, canon.PatchOperation{Op: "test", Path: "/metadata/uid", Value: uid})
	}
	return p
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
