package explain

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/migrate"
	"github.com/trueup-go/trueup/internal/paths"
)

// A Migration is the effect of ensure.MigrateFrom on the owners of fields, after the apply. It is empty if the apply is
// refused. Paths have the form that ensure.Retire takes, unless they name a masked item.
type Migration struct {
	From []string `json:"from"` // the managers that Options name
	// Ours are the fields of older versions that desired has, and that become the field owner's alone.
	Ours []Loss `json:"ours"`
	// Nobodys are the fields of older versions that nobody owns afterwards, like defaults.
	Nobodys []Loss `json:"nobodys"`
	// Stays are the fields that the managers in From set, and that desired lacks, without those that have their default.
	Stays []Stay `json:"stays"`
	// DefaultsUnknown is set if Stays may contain fields that have their default.
	DefaultsUnknown bool `json:"defaultsUnknown,omitempty"`
	// StructsUnknown is set if Nobodys may lack fields, because structs of the kind cannot be told from maps.
	StructsUnknown bool `json:"structsUnknown,omitempty"`
	// Overwrites are the keys of a Secret because of which ensure.Object refuses the first apply.
	Overwrites []string `json:"overwrites,omitempty"`
}

// A Stay is a field that stays as a manager set it.
type Stay struct {
	Path    string `json:"path"`
	Manager string `json:"manager"`

	at    fieldpath.Path
	value any
}

// NewMigration returns the effect of a migration whose apply to live has this result. live is nil if the object does not
// exist, and result is nil if the apply is refused.
func NewMigration(live, result *unstructured.Unstructured, structure Structure, opts Options) *Migration {
	if live == nil {
		return nil
	}
	m := &Migration{From: opts.MigrateFrom, Ours: []Loss{}, Nobodys: []Loss{}, Stays: []Stay{}}
	if result == nil {
		return m
	}
	f := forecast{live: live, applied: withDigest(result, opts.FieldManager), structure: structure, mask: maskOf(live, opts), opts: opts}
	f.own = managedfields.Fields(managedfields.Applied(f.applied, opts.FieldManager))
	f.addMoved(m)
	f.addStays(m)
	m.StructsUnknown = structure.isField == nil && f.mayTakeMore()
	m.Overwrites = overwrites(live, result, opts.FieldManager)
	return m
}

// MayHaveDefaults reports whether Stays has fields that could have their default.
func (m *Migration) MayHaveDefaults() bool {
	return slices.ContainsFunc(m.Stays, func(stay Stay) bool { return nameAt(stay.at, 0) != "metadata" })
}

// DropDefaults removes the fields from Stays that have the same value in fresh, an object that desired alone would create.
// If fresh is nil, nothing shows the defaults.
func (m *Migration) DropDefaults(fresh *unstructured.Unstructured) {
	if fresh == nil {
		m.DefaultsUnknown = true
		return
	}
	m.Stays = slices.DeleteFunc(m.Stays, func(stay Stay) bool {
		value, found := lookup(fresh.Object, stay.at)
		return found && reflect.DeepEqual(value, stay.value)
	})
}

// withDigest returns applied with the digest among the fields of owner, as trueup adds the digest to each apply.
func withDigest(applied *unstructured.Unstructured, owner string) *unstructured.Unstructured {
	at := managedfields.Find(applied, owner, metav1.ManagedFieldsOperationApply)
	if at < 0 {
		return applied
	}
	applied = applied.DeepCopy()
	entries := applied.GetManagedFields()
	digest := fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "annotations", canon.DigestPrefix+owner))
	entries[at] = managedfields.WithFields(entries[at], managedfields.Fields(&entries[at]).Union(digest))
	applied.SetManagedFields(entries)
	return applied
}

// A forecast compares the owners of fields before a migration and afterwards.
type forecast struct {
	live, applied *unstructured.Unstructured // before and after the apply
	own           *fieldpath.Set             // of the field owner, after the apply
	structure     Structure
	mask          mask
	opts          Options
}

// rules returns the rules of package ensure.
func (f forecast) rules(isField func(fieldpath.Path) bool, older ...string) migrate.Rules {
	return migrate.Rules{Owner: f.opts.FieldManager, APIVersion: f.applied.GetAPIVersion(), Older: older, IsField: isField}
}

// addMoved adds the fields that older versions no longer own after the migration.
func (f forecast) addMoved(m *Migration) {
	left := map[string]*fieldpath.Set{}
	for _, entry := range f.after(f.structure.isKnownField) {
		id := entryID(entry)
		left[id] = managedfields.Fields(&entry).Union(orNone(left[id]))
	}
	older := slices.Concat(f.opts.MigrateFrom, []string{
		f.opts.FieldManager, migrate.BeforeFirstApply, migrate.ReleasedBy(f.opts.FieldManager),
	})
	for _, entry := range f.rules(nil, older...).Held(f.before()) {
		gone := managedfields.Fields(&entry).Difference(orNone(left[entryID(entry)]))
		ours := gone.Intersection(f.own)
		m.Ours = f.appendLoss(m.Ours, entry, leavesOf(ours))
		m.Nobodys = f.appendLoss(m.Nobodys, entry, gone.Difference(ours))
	}
}

// before returns the object before the apply. The API server gives an object without managed fields an entry of
// before-first-apply, which the answer to the apply shows.
func (f forecast) before() *unstructured.Unstructured {
	if len(f.live.GetManagedFields()) > 0 {
		return f.live
	}
	return f.applied
}

// after returns the managed fields after the migration.
func (f forecast) after(isField func(fieldpath.Path) bool) []metav1.ManagedFieldsEntry {
	return f.rules(isField, f.opts.MigrateFrom...).After(f.applied).Entries()
}

// mayTakeMore reports whether older versions would lose more if all names were those of fields of structs.
func (f forecast) mayTakeMore() bool {
	size := func(isField func(fieldpath.Path) bool) (total int) {
		for _, entry := range f.after(isField) {
			total += managedfields.Fields(&entry).Size()
		}
		return total
	}
	isNamed := func(path fieldpath.Path) bool { return path[len(path)-1].FieldName != nil }
	return size(isNamed) < size(f.structure.isKnownField)
}

// text returns a path in the form that ensure.Retire takes, without the values that name masked items.
func (f forecast) text(path fieldpath.Path) string { return f.structure.text(f.mask.hide(path)) }

func (f forecast) appendLoss(losses []Loss, entry metav1.ManagedFieldsEntry, fields *fieldpath.Set) []Loss {
	if fields.Empty() {
		return losses
	}
	loss := Loss{Entry: entryOf(&entry)}
	for path := range fields.All() {
		loss.Paths = append(loss.Paths, f.text(path))
	}
	slices.Sort(loss.Paths)
	return append(losses, loss)
}

// addStays adds the fields of the managers in From that the field owner does not apply. An item that it has no field of is
// one of them as a whole.
func (f forecast) addStays(m *Migration) {
	known := fieldpath.NewSet()
	for _, entry := range f.rules(nil, f.opts.MigrateFrom...).Held(f.live) {
		for path := range managedfields.Fields(&entry).Leaves().All() {
			path = outermostItem(f.own, path)
			value, isThere := lookup(f.applied.Object, path)
			if !isThere || known.Has(path) || managedfields.Holds(f.own, path) {
				continue
			}
			path = path.Copy()
			known.Insert(path)
			m.Stays = append(m.Stays, Stay{Path: f.text(path), Manager: entry.Manager, at: path, value: value})
		}
	}
	slices.SortStableFunc(m.Stays, func(a, b Stay) int { return strings.Compare(a.Path, b.Path) })
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

// overwrites returns the keys of a Secret that an apply changes, if the field owner has never applied it.
func overwrites(live, result *unstructured.Unstructured, owner string) []string {
	_, hasDigest := live.GetAnnotations()[canon.DigestPrefix+owner]
	if live.GetAPIVersion() != "v1" || live.GetKind() != "Secret" || hasDigest || managedfields.Applied(live, owner) != nil {
		return nil
	}
	before, _, _ := unstructured.NestedMap(live.Object, "data")
	after, _, _ := unstructured.NestedMap(result.Object, "data")
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if value, isThere := after[key]; isThere && !reflect.DeepEqual(value, before[key]) {
			keys = append(keys, paths.Item("data", key))
		}
	}
	return keys
}

// entryID names an entry with its version, as an object may have several of one manager.
func entryID(entry metav1.ManagedFieldsEntry) string {
	return entryOf(&entry).String() + " " + entry.APIVersion
}

func orNone(fields *fieldpath.Set) *fieldpath.Set {
	if fields == nil {
		return fieldpath.NewSet()
	}
	return fields
}
