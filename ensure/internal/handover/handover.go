// Package handover moves fields between managers around an apply: what is left to others goes to an entry of updates before it,
// what former field owners applied and what is retired becomes ours, and what older versions share with the apply is ours alone
// after it.
package handover

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/kinds"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/migrate"
	"github.com/trueup-go/trueup/internal/paths"
)

// A Handover is the one around an apply.
type Handover struct {
	applier *server.Applier
	server  *server.Session
	child   *layer.Child
}

// Of returns the Handover around an apply of a.
func Of(a *server.Applier) Handover {
	return Handover{applier: a, server: a.Server, child: a.Server.Child}
}

// Latest returns live from the API server if an older copy would not show which fields change their owner.
func (h Handover) Latest(ctx context.Context, live client.Object) (client.Object, error) {
	keepsOwners := h.child.KeepsOwners && len(live.GetOwnerReferences()) > 0
	mayBeFormer := len(h.child.Operator.Former) > 0 && h.child.Operator.Store.Get(live) == ""
	if len(h.child.Left)+len(h.child.Retired) > 0 || keepsOwners || mayBeFormer {
		return h.server.Current(ctx, live)
	}
	return live, nil
}

// Plan returns the patch of the managed fields of live that comes before the apply. It notes in the Applier which fields nobody
// owns.
func (h Handover) Plan(ctx context.Context, live client.Object) (*managedfields.Patch, error) {
	h.applier.Unowned = nil
	if len(h.child.Retired) > 0 {
		err := h.checkRetired(live)
		if err == nil {
			h.applier.Unowned, err = h.unownedToRetire(ctx, live)
		}
		if err != nil {
			return nil, err
		}
	}
	return h.applier.Rules().Before(live), nil
}

// Held returns the entries of older versions in live.
func (h Handover) Held(live client.Object) []metav1.ManagedFieldsEntry {
	return h.applier.Rules().Held(live)
}

// IsMigration reports whether one of managers is an older version.
func (h Handover) IsMigration(managers []string) bool { return h.applier.Rules().Names(managers) }

// Prepare gives up fields of live, and takes others, before an apply, as before does.
func (h Handover) Prepare(ctx context.Context, live client.Object, before *managedfields.Patch) (client.Object, error) {
	if before.IsEmpty() {
		return live, nil
	}
	live, err := h.applier.Convertible(ctx, live)
	if err != nil {
		return nil, err
	}
	rules, operation := h.applier.Rules(), fault.Releasing
	if rules.Names(before.Managers()) {
		operation = fault.Migrating
	}
	return h.server.PatchEntries(ctx, operation, live, func(live client.Object) *managedfields.Patch { return rules.Before(live) })
}

// Settle makes the fields of applied, the answer to an apply, ours alone among older versions. It returns the managers from
// which it took fields.
func (h Handover) Settle(ctx context.Context, applied client.Object) (_ client.Object, from []string, err error) {
	rules, complete := h.applier.Rules(), h.child.FieldsFingerprint(applied)
	if !rules.IsShared(applied) {
		return applied, nil, nil
	}
	if err := h.loadFields(ctx); err != nil {
		return nil, nil, err
	}
	p := rules.After(applied)
	if from = p.Managers(); h.child.DryRun {
		return applied, from, nil
	}
	settled, err := h.server.PatchEntries(ctx, fault.Migrating, applied, func(live client.Object) *managedfields.Patch {
		if h.child.FieldsFingerprint(live) != complete {
			return managedfields.NewPatch(live)
		}
		return rules.After(live)
	})
	if err == nil && h.child.FieldsFingerprint(settled) != complete {
		settled = applied // somebody took a field of ours meanwhile, which the next pass corrects
	}
	return settled, from, err
}

// IsPending reports whether an apply is due although live is as desired.
func (h Handover) IsPending(live client.Object) bool {
	rules := h.applier.Rules()
	if isPending := rules.IsPending(live); isPending || len(h.child.Retired) == 0 {
		return isPending
	}
	removable := rules.Removable(live)
	isPart := func(retired layer.GivenPath) bool { return isPart(live, removable, retired.Steps) }
	return len(h.unownedPaths(live)) > 0 || slices.ContainsFunc(h.child.Retired, isPart)
}

// isPart reports whether steps lead into a list of live that the API server does not merge, and that an entry of removable
// owns: nobody owns an item of it.
func isPart(live client.Object, removable []metav1.ManagedFieldsEntry, steps []string) bool {
	for _, entry := range removable {
		n := managedfields.OwnedBy(&entry).PartOf(steps)
		hasItems := func(entry metav1.ManagedFieldsEntry) bool {
			_, inside := managedfields.OwnedBy(&entry).At(steps[:n])
			return inside
		}
		if n == 0 || slices.ContainsFunc(managedfields.Entries(live), hasItems) {
			continue
		}
		found, err := delta.Values(live)
		if err != nil {
			return false // content that cannot be read is never in sync
		}
		if found(steps[:n]).HasItems() {
			return true
		}
	}
	return false
}

// unownedPaths returns the retired paths where live has a value that nobody owns. What is there after an apply is a
// default, and stays.
func (h Handover) unownedPaths(live client.Object) [][]string {
	if !managedfields.HasAny(live) {
		return nil
	}
	known, _ := h.server.Record(live)
	var unowned [][]string
	for _, retired := range h.child.Retired {
		isOwned := func(entry metav1.ManagedFieldsEntry) bool { return managedfields.OwnedBy(&entry).HasAt(retired.Steps) }
		if !slices.Contains(known.Handover.Retired, retired.Path) && !slices.ContainsFunc(managedfields.Entries(live), isOwned) {
			unowned = append(unowned, retired.Steps)
		}
	}
	if len(unowned) == 0 {
		return nil
	}
	found, err := delta.Values(live)
	if err != nil {
		return nil // content that cannot be read is never in sync
	}
	return slices.DeleteFunc(unowned, func(steps []string) bool { return found(steps) == nil })
}

// In returns which fields changed their owner in live, a confirmed copy. Nothing that is to go is left at the retired paths of this
// call, if the copy shows its managed fields, and of calls before.
func (h Handover) In(live client.Object) memory.Handover {
	known, _ := h.server.Record(live)
	found := memory.Handover{Options: h.child.Handover, Retired: known.Handover.Retired}
	if managedfields.HasAny(live) {
		found.Retired = slices.Clip(found.Retired)
		for _, retired := range h.child.Retired {
			found.Retired = layer.AppendNew(found.Retired, retired.Path)
		}
	}
	return found
}

// unownedToRetire returns the fields of live that nobody owns, that are retired, and that have not their default: it would
// come back at once.
func (h Handover) unownedToRetire(ctx context.Context, live client.Object) (*fieldpath.Set, error) {
	retired := h.unownedPaths(live)
	if len(retired) == 0 {
		return nil, nil
	}
	fresh, err := h.applier.Elsewhere(ctx, live)
	if err != nil {
		return nil, err
	}
	if fresh != nil {
		retired = differing(live, h.child.Typed(fresh), retired)
	}
	unowned := fieldpath.NewSet()
	for _, steps := range retired {
		if place, ok := layer.ItemOf(steps); ok {
			unowned.Insert(fieldpath.MakePathOrDie("metadata", place.Member, place.Key))
		}
	}
	if len(retired) == unowned.Size() {
		return unowned, nil
	}
	complete, err := h.server.RereadJSON(ctx, fault.Migrating, live.GetUID())
	if err != nil {
		return nil, err
	}
	all, _, err := h.applier.AllFields(ctx, complete)
	if err != nil {
		return nil, err
	}
	for _, entry := range managedfields.Entries(complete) {
		all = all.Difference(managedfields.Fields(&entry))
	}
	content, _ := managedfields.Split(all, func(path fieldpath.Path) bool {
		return slices.ContainsFunc(retired, func(steps []string) bool { return managedfields.IsAt(path, steps) })
	})
	return unowned.Union(content), nil
}

// differing returns those of paths at which two objects differ.
func differing(a, b client.Object, paths [][]string) [][]string {
	inA, errA := delta.Values(a)
	inB, errB := delta.Values(b)
	if errA != nil || errB != nil {
		return paths
	}
	return slices.DeleteFunc(paths, func(steps []string) bool { return bytes.Equal(inA(steps), inB(steps)) })
}

// checkRetired refuses to retire a part of what goes only as a whole: of a list that the API server does not merge, or of a
// list item that an older version made and that desired lacks.
func (h Handover) checkRetired(live client.Object) error {
	found, err := delta.Values(live)
	if err != nil {
		return h.child.Subject.Unencodable(err)
	}
	removable := h.applier.Rules().Removable(live)
	for _, retired := range h.child.Retired {
		steps := retired.Steps
		depth, err := h.applier.Specified(steps)
		if err != nil {
			return err
		}
		if isPart(live, removable, steps) {
			return h.child.Subject.Refuse(retired.Path, "is given to ensure.Retire, "+
				"but the API server does not merge the list around it: name the list")
		}
		for _, entry := range removable {
			fields := managedfields.OwnedBy(&entry)
			for n := depth; n < len(steps)-1; n++ {
				if hasItem, _ := fields.At(steps[:n+1]); hasItem && found(steps[:n]).IsList() {
					item := paths.First(retired.Path, n+1)
					return h.child.Subject.Refuse(retired.Path, "is given to ensure.Retire, "+
						"but "+item+" goes as a whole: give ensure.Retire "+item)
				}
			}
		}
	}
	return nil
}

// loadFields finds out which paths of the child are fields of structs.
func (h Handover) loadFields(ctx context.Context) error {
	if h.child.Kind.KnowsFields() {
		return nil
	}
	find := func(fieldpath.Path) bool { return false }
	switch known, err := h.server.Client.Scheme().New(h.child.Kind.GVK); {
	case !kinds.IsDynamic(h.child.Desired):
		find = migrate.FieldsOf(reflect.TypeOf(h.child.Desired))
	case err == nil:
		find = migrate.FieldsOf(reflect.TypeOf(known))
	default:
		definition, err := h.server.ReadDefinition(ctx)
		if err != nil {
			return err
		}
		if definition != nil {
			find = migrate.FieldsOfSchema(definition, h.child.Kind.GVK.Version)
		}
	}
	h.child.Kind.SetFields(find)
	return nil
}

// CheckSecret refuses the first apply to a Secret that changes data.
func (h Handover) CheckSecret(live client.Object) error {
	stored, _ := h.child.Operator.Find(live)
	if h.child.Operator.HasApplied(live) || h.server.IsRemembered(live) || stored != "" {
		return nil
	}
	found, err := delta.Values(live)
	if err != nil {
		return h.child.Subject.Unencodable(err)
	}
	var keys []string
	for _, change := range delta.Unsatisfied(live, h.child.WithoutIgnored(h.child.Desired), h.child.Operator.Owned(live)) {
		if steps := paths.Steps(change.Path); steps[0] == "data" && len(steps) > 1 && found(steps) != nil {
			keys = append(keys, change.Path)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return h.child.Subject.Fail(fault.ErrRefused, "ensure", "it exists, and the first apply would change "+strings.Join(keys, ", ")+
		": name what is only set at creation in ensure.Once, or allow the change with ensure.OverwriteData", keys...)
}

// HasLostEntry reports whether somebody removed this field owner's entry from the managed fields of live, or all entries:
// then the API server noted at the apply that nobody is known to have set the fields of desired. from are the managers from
// which these fields were taken after the apply.
func (h Handover) HasLostEntry(live client.Object, from []string) bool {
	known, ok := h.server.Record(live)
	isTold := h.child.Kind.IsReset(live) || managedfields.IsDisowned(live, h.child.Operator.FieldOwner) ||
		slices.Contains(from, migrate.BeforeFirstApply)
	return ok && known.Entry != "" && isTold
}

// NoteRetired adds the managers of older versions to the changes at retired paths.
func (h Handover) NoteRetired(changes []layer.Change, held []metav1.ManagedFieldsEntry) []layer.Change {
	owners := managedfields.OwnersIn(held)
	for i := range changes {
		if h.child.IsRetired(changes[i].Path) {
			changes[i].Manager = owners.Of(changes[i].Path)
		}
	}
	return changes
}
