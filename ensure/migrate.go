package ensure

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/kinds"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/migrate"
	"github.com/trueup-go/trueup/internal/obstacle"
	"github.com/trueup-go/trueup/internal/paths"
)

// MigrateFrom names field managers of earlier versions of this operator that wrote the child by Update or Patch, as
// controllerutil.CreateOrUpdate does, or by kubectl apply. Without MigrateFrom, a field that such a manager set stays when
// desired drops it, as the manager still owns it. Use the names in metadata.managedFields of the child:
//
//	kubectl get deployment web -o yaml --show-managed-fields
//
// A migration removes nothing from the child, unless the API server refuses desired because of a field, such as the other
// source of a volume. After an apply, a second write, of metadata only, takes the fields that
// desired specifies away from these managers, so that desired alone decides about them: Operation is Updated, and Cause is
// Migrated. Everything else that these managers set stays: keys of maps, list items and the fields of spec still belong to
// them, and fields in deeper structs in which desired has fields, too, belong to nobody, like defaults. Result.Kept lists
// these fields without those that have their default. To remove one, name it in Retire.
//
// The default name of a program is its file name, which is "manager" for every operator that kubebuilder scaffolds. What
// another program of that name set of the fields of desired counts as ours, and goes when desired drops it. Its other
// fields stay. Entries of subresources, such as status and scale, stay, too.
//
// MigrateFrom does not make a foreign object ours; see Adopt. If the earlier version runs again, the next pass takes its
// fields once more, so the option may stay in the code. Once nothing is left to take, the option costs no request. If
// the cache strips managed fields, fields are taken after the next apply.
//
// Whether a name in the managed fields is a field of a struct or a key of a map, the Go type says that the client's scheme
// has for the kind. For an unstructured object of a kind that the scheme does not know, the CustomResourceDefinition says
// it, if the operator may get it. Otherwise only the fields that desired specifies are taken.
//
// Without managers the option has no effect. For earlier names of the field owner, see FormerFieldOwners.
func MigrateFrom(managers ...string) Option {
	return func(o *options) { o.migrateFrom = append(o.migrateFrom, managers...) }
}

// Retire removes fields that an earlier version of the operator left in the child, and that desired does not have, such as
// a container that has another name now. Fields at these paths that belong to a manager named by MigrateFrom, or to nobody,
// become ours before an apply, which then removes them. Fields of other managers stay, except inside a list item that goes.
// Result.Changes names the removed fields. The option works in any release that names the paths, and may stay in the code. A
// field that has its default and belongs to nobody stays: to find that out takes a dry run and an apply for each child after a
// restart of the operator.
//
// Name such an item as a whole, and so a list that the API server merges as a whole: a part is refused (ErrRefused).
//
// Paths have the form that Release describes, and each includes everything below it. Desired must not specify the path.
//
// Without paths the option has no effect.
func Retire(paths ...string) Option {
	return func(o *options) { o.retire = append(o.retire, paths...) }
}

// OverwriteData allows the first apply to a Secret that exists to change data. Without it, such an apply is refused
// (ErrRefused) and nothing is written, because an operator that generates a password would replace the one that is in use.
// See Once for values that are only set at creation.
func OverwriteData() Option {
	return func(o *options) { o.overwriteData = true }
}

// FormerFieldOwners names earlier names of the field owner. What they have applied becomes this field owner's before the
// next apply, which removes what desired does not have, together with their digest. Absent and Prune take their objects for
// ours.
func FormerFieldOwners(names ...string) Setting {
	names = slices.Clone(names)
	return func(e *Ensurer) { e.operator.Former = append(e.operator.Former, names...) }
}

// prepare gives up fields of live, and takes others, before an apply, as before does.
func (u update) prepare(ctx context.Context, live client.Object, before *managedfields.Patch) (client.Object, error) {
	if before.IsEmpty() {
		return live, nil
	}
	live, err := u.convertible(ctx, live)
	if err != nil {
		return nil, err
	}
	rules, operation := u.rules(), fault.Releasing
	if rules.Names(before.Managers()) {
		operation = fault.Migrating
	}
	return u.server.PatchEntries(ctx, operation, live, func(live client.Object) *managedfields.Patch { return rules.Before(live) })
}

// settle makes the fields of applied, the answer to an apply, ours alone among older versions. It returns the managers from
// which it took fields.
func (u update) settle(ctx context.Context, applied client.Object) (_ client.Object, from []string, err error) {
	rules, complete := u.rules(), u.FieldsFingerprint(applied)
	if !rules.IsShared(applied) {
		return applied, nil, nil
	}
	if err := u.loadFields(ctx); err != nil {
		return nil, nil, err
	}
	p := rules.After(applied)
	if from = p.Managers(); u.DryRun {
		return applied, from, nil
	}
	settled, err := u.server.PatchEntries(ctx, fault.Migrating, applied, func(live client.Object) *managedfields.Patch {
		if u.FieldsFingerprint(live) != complete {
			return managedfields.NewPatch(live)
		}
		return rules.After(live)
	})
	if err == nil && u.FieldsFingerprint(settled) != complete {
		settled = applied // somebody took a field of ours meanwhile, which the next pass corrects
	}
	return settled, from, err
}

// isMigrationPending reports whether an apply is due although live is as desired.
func (c *child) isMigrationPending(live client.Object) bool {
	return c.rules().IsPending(live) || len(c.unownedPaths(live)) > 0 || slices.ContainsFunc(c.Retired, c.isPartIn(live))
}

// isPartIn reports whether steps lead into a list of live that the API server does not merge, and that we or an older version
// own: nobody owns an item of it.
func (c *child) isPartIn(live client.Object) func(steps []string) bool {
	return func(steps []string) bool {
		for _, entry := range c.rules().Removable(live) {
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
}

// unownedPaths returns the retired paths where live has a value that nobody owns. What is there after an apply is a
// default, and stays.
func (c *child) unownedPaths(live client.Object) [][]string {
	if len(c.retire) == 0 || !managedfields.HasAny(live) {
		return nil
	}
	known, _ := c.record(live)
	var unowned [][]string
	for at, steps := range c.Retired {
		isOwned := func(entry metav1.ManagedFieldsEntry) bool {
			return managedfields.OwnedBy(&entry).HasAt(steps)
		}
		if !slices.Contains(known.Retired, c.retire[at]) && !slices.ContainsFunc(managedfields.Entries(live), isOwned) {
			unowned = append(unowned, steps)
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

// retiredIn returns the retired paths at which live, a confirmed copy, has nothing that is to go: those of this call, if the
// copy shows its managed fields, and of calls before.
func (c *child) retiredIn(live client.Object) []string {
	known, _ := c.record(live)
	if !managedfields.HasAny(live) {
		return known.Retired
	}
	retired := slices.Clip(known.Retired)
	for _, path := range c.retire {
		retired = appendNew(retired, path)
	}
	return retired
}

// unownedToRetire returns the fields of live that nobody owns, that are retired, and that have not their default: it would
// come back at once.
func (u update) unownedToRetire(ctx context.Context, live client.Object) (*fieldpath.Set, error) {
	retired := u.unownedPaths(live)
	if len(retired) == 0 {
		return nil, nil
	}
	fresh, err := u.applyElsewhere(ctx, live)
	if err != nil {
		return nil, err
	}
	if fresh != nil {
		retired = u.differing(live, u.inGoType(fresh), retired)
	}
	unowned := fieldpath.NewSet()
	for _, steps := range retired {
		if place, ok := singleItem(steps); ok {
			unowned.Insert(fieldpath.MakePathOrDie("metadata", place.Member, place.Key))
		}
	}
	if len(retired) == unowned.Size() {
		return unowned, nil
	}
	complete, err := u.server.RereadJSON(ctx, fault.Migrating, live.GetUID())
	if err != nil {
		return nil, err
	}
	all, err := u.allFields(ctx, complete)
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
func (u update) differing(a, b client.Object, paths [][]string) [][]string {
	inA, errA := delta.Values(a)
	inB, errB := delta.Values(b)
	if errA != nil || errB != nil {
		return paths
	}
	return slices.DeleteFunc(paths, func(steps []string) bool { return bytes.Equal(inA(steps), inB(steps)) })
}

// checkRetired refuses to retire a part of what goes only as a whole: of a list that the API server does not merge, or of a
// list item that an older version made and that desired lacks.
func (u update) checkRetired(live client.Object) error {
	if len(u.retire) == 0 {
		return nil
	}
	found, err := delta.Values(live)
	if err != nil {
		return u.Subject.Unencodable(err)
	}
	for at, steps := range u.Retired {
		depth, err := u.specified(steps)
		if err != nil {
			return err
		}
		if u.isPartIn(live)(steps) {
			return u.Subject.Refuse(u.retire[at], "is given to ensure.Retire, "+
				"but the API server does not merge the list around it: name the list")
		}
		for _, entry := range u.rules().Removable(live) {
			fields := managedfields.OwnedBy(&entry)
			for n := depth; n < len(steps)-1; n++ {
				if hasItem, _ := fields.At(steps[:n+1]); hasItem && found(steps[:n]).IsList() {
					item := firstSteps(u.retire[at], n+1)
					return u.Subject.Refuse(u.retire[at], "is given to ensure.Retire, "+
						"but "+item+" goes as a whole: give ensure.Retire "+item)
				}
			}
		}
	}
	return nil
}

// loadFields finds out which paths of the child are fields of structs.
func (c *child) loadFields(ctx context.Context) error {
	if c.Kind.KnowsFields() {
		return nil
	}
	find := func(fieldpath.Path) bool { return false }
	switch known, err := c.client.Scheme().New(c.Kind.GVK); {
	case !kinds.IsDynamic(c.Desired):
		find = migrate.FieldsOf(reflect.TypeOf(c.Desired))
	case err == nil:
		find = migrate.FieldsOf(reflect.TypeOf(known))
	default:
		definition, err := c.server.ReadDefinition(ctx)
		if err != nil {
			return err
		}
		if definition != nil {
			find = migrate.FieldsOfSchema(definition, c.Kind.GVK.Version)
		}
	}
	c.Kind.SetFields(find)
	return nil
}

// leftByOlder returns the fields of live, the answer to an apply, that older versions set and that desired lacks, without
// those that have their default.
func (u update) leftByOlder(ctx context.Context, live client.Object) []layer.KeptField {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return nil // the answer was read before
	}
	left := slices.DeleteFunc(u.rules().Left(live), func(field migrate.Field) bool {
		value, _, isThere := obstacle.Lookup(content, field.Path)
		members, isObject := value.(map[string]any)
		return !isThere && !u.isUnknown(field.Path) || isObject && len(members) == 0 // as Go structs are
	})
	var fresh map[string]any
	if slices.ContainsFunc(left, func(field migrate.Field) bool { return isContent(field.Path) }) {
		if created, err := u.applyElsewhere(ctx, live); err == nil && created != nil { // else nothing tells the defaults
			fresh = created.Object
		}
	}
	var kept []layer.KeptField
	for _, field := range left {
		value, _, _ := obstacle.Lookup(content, field.Path)
		standard, _, hasDefault := obstacle.Lookup(fresh, field.Path)
		if hasDefault && reflect.DeepEqual(value, standard) {
			continue
		}
		kept = append(kept, layer.KeptField{Path: textOf(u.Desired, field.Path), Manager: field.Manager})
	}
	return kept
}

// isUnknown reports whether the Go type of desired lacks a field.
func (c *child) isUnknown(path fieldpath.Path) bool {
	_, err := delta.Specifies(c.Kind.Empty(c.Desired), managedfields.Steps(path))
	return err != nil
}

// checkSecret refuses the first apply to a Secret that changes data, unless the caller allows it.
func (u update) checkSecret(live client.Object) error {
	stored, _ := u.Operator.Find(live)
	hasApplied := slices.ContainsFunc(u.Operator.Names(), func(name string) bool {
		return managedfields.Applied(live, name) != nil
	})
	if !u.Kind.IsSecret() || u.overwriteData || hasApplied || u.isRemembered(live) || stored != "" {
		return nil
	}
	found, err := delta.Values(live)
	if err != nil {
		return u.Subject.Unencodable(err)
	}
	var keys []string
	for _, change := range delta.Unsatisfied(live, u.WithoutIgnored(u.Desired), u.Operator.Owned(live)) {
		if steps := paths.Steps(change.Path); steps[0] == "data" && len(steps) > 1 && found(steps) != nil {
			keys = append(keys, change.Path)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return u.Subject.Fail(ErrRefused, "ensure", "it exists, and the first apply would change "+strings.Join(keys, ", ")+
		": name what is only set at creation in ensure.Once, or allow the change with ensure.OverwriteData", keys...)
}
