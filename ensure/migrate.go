package ensure

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
)

// MigrateFrom transfers the fields of the named field managers to our field owner. Such a manager is an
// earlier version of the operator that wrote by Update or Patch, as controllerutil.CreateOrUpdate does,
// or that applied under another field owner; or somebody who used kubectl apply. Without MigrateFrom, a
// field of such a manager stays when desired drops it. Use the names in metadata.managedFields of the
// child:
//
//	kubectl get deployment web -o yaml --show-managed-fields
//
// If the child has an entry of such a manager, two writes move the entry to our field owner. The writes
// change only metadata if desired specifies everything that the manager set. Operation is Updated, and
// Cause is Migrated. Fields that desired does not specify are removed, unless others own them, too.
// Result.Changes names each removed field and its manager, also in a dry run. Release keeps a field.
// Fields of a pod template are removed only with RemoveFromPodTemplates; without it, the error is
// ErrRefused, and nothing is written. Once the child has no such entry, MigrateFrom costs no request.
//
// Never name a manager that another program may use. The default name is the file name of the program,
// which is "manager" for every operator that kubebuilder scaffolds: two such operators would take over,
// and remove, each other's fields. Entries of other managers and of subresources, such as status and
// scale, stay. If desired is a PartialObjectMetadata, the content stays, too.
//
// MigrateFrom does not make a foreign object ours (see Adopt), except for objects that one of managers
// applied for the same owner: use this to rename a field owner. If the old operator runs again, its
// fields are transferred once more, so the option may stay in the code. If the cache strips managed
// fields, each child is read from the API server once, and again after somebody changed it.
//
// Without managers the option has no effect.
func MigrateFrom(managers ...string) Option {
	return func(o *options) { o.migrateFrom = append(o.migrateFrom, managers...) }
}

// RemoveFromPodTemplates allows MigrateFrom to remove fields from a pod template: those that the named
// managers own and desired does not specify, such as an annotation that the old operator wrote to
// restart pods, or a sidecar. The removal restarts pods. Without the option such a removal is
// ErrRefused, unless the API server defaults the field to the same value. Everything with containers in
// its spec counts as a pod template, also in custom kinds.
func RemoveFromPodTemplates() Option {
	return func(o *options) { o.removeFromPods = true }
}

// withFieldsToMigrate returns live with its managed fields, if MigrateFrom needs them and live is not
// known to be migrated.
func (c *child) withFieldsToMigrate(ctx context.Context, live client.Object) (client.Object, error) {
	if len(c.migrateFrom) == 0 || len(live.GetManagedFields()) > 0 || c.isMigrated(live) {
		return live, nil
	}
	complete, err := c.complete(ctx, live)
	if err != nil {
		return nil, err
	}
	if !c.isMigrating(complete) && len(c.unfinished(complete)) == 0 {
		c.memory.Migrated.Set(c.ownedID(), c.snapshotOf(live))
	}
	return complete, nil
}

// isMigrated reports whether live is known to have no entry of an old manager.
func (c *child) isMigrated(live client.Object) bool {
	known, ok := c.memory.Migrated.Get(c.ownedID())
	return ok && known == c.snapshotOf(live)
}

// noteMigrated remembers that live, just applied, has nothing left to take over.
func (c *child) noteMigrated(live client.Object) {
	if len(c.migrateFrom) > 0 && !c.dryRun && !c.isMigrating(live) {
		c.memory.Migrated.Set(c.ownedID(), c.snapshotOf(live))
	}
}

func (c *child) snapshotOf(live client.Object) memory.Snapshot {
	var found digestInput
	content, _ := c.fingerprint(live) // content that cannot be read always looks the same, and is never in sync
	found.add(content)
	found.add(slices.Sorted(maps.Keys(live.GetLabels()))...)
	found.add("")
	found.add(slices.Sorted(maps.Keys(live.GetAnnotations()))...)
	found.add("")
	found.add(live.GetFinalizers()...)
	found.add("")
	for _, owner := range live.GetOwnerReferences() {
		found.add(string(owner.UID), owner.Name)
	}
	return memory.Snapshot{UID: live.GetUID(), Sum: sha256.Sum256(found)}
}

// unfinished returns the fields that this field owner has applied to live although desired does not
// specify them, if desired is the state that was applied last, or none was: a migration was cut off
// between taking over the fields and its apply.
func (c *child) unfinished(live client.Object) []obstacle.Obstacle {
	stored, _ := c.storedDigest(live)
	if len(c.migrateFrom) == 0 || stored != "" && stored != c.digest || managedfields.Applied(live, c.fieldOwner) == nil {
		return nil
	}
	entries := slices.Clone(live.GetManagedFields())
	own := managedfields.Find(live, c.fieldOwner, metav1.ManagedFieldsOperationApply)
	entries[own] = managedfields.WithFields(entries[own], c.withoutReleasedPaths(c.ownedIn(live)))
	merge, err := c.mergeAfter(live, entries)
	if err != nil || len(merge.CompleteKeys(nil)) > 0 {
		return nil // without whole keys, nothing tells
	}
	var removed []obstacle.Obstacle
	for _, o := range merge.Dropped() {
		if isSpecified(o.Value) || c.isUnknown(o) {
			o.Managers = c.migrateFrom
			removed = append(removed, o)
		}
	}
	return removed
}

// mergeAfter returns the merge of desired into live with other managed fields.
func (c *child) mergeAfter(live client.Object, entries []metav1.ManagedFieldsEntry) (*obstacle.Merge, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return nil, err
	}
	desired, err := c.candidate(c.desiredToApply())
	if err != nil {
		return nil, err
	}
	after := &unstructured.Unstructured{Object: maps.Clone(content)} // which is shared with live, if that has no Go type
	if metadata, ok := content["metadata"].(map[string]any); ok {
		after.Object["metadata"] = maps.Clone(metadata)
	}
	after.SetManagedFields(entries)
	merge := obstacle.Of(after, desired, c.fieldOwner)
	merge.CompleteKeys(c.ownedIn(after))
	return merge, nil
}

// isUnknown reports whether the Go type of desired lacks the dropped field.
func (c *child) isUnknown(dropped obstacle.Obstacle) bool {
	_, err := delta.Specifies(c.empty(c.desired), managedfields.Steps(dropped.Path))
	return err != nil
}

// removals returns the fields that the apply after a transfer removes because the old managers owned
// them. Fields that this field owner had applied, too, are left out: they are removed because desired
// dropped them.
func (u update) removals(ctx context.Context, live client.Object, h transfer) ([]obstacle.Obstacle, error) {
	if h.operation != migrating {
		return nil, nil
	}
	dropped, err := u.droppedFrom(ctx, live, h.patch.Entries())
	if err != nil {
		return nil, err
	}
	var removed []obstacle.Obstacle
	entries := live.GetManagedFields()
	for _, o := range dropped {
		o.Managers = nil
		for _, at := range h.old {
			if managedfields.Holds(managedfields.Fields(&entries[at]).Difference(h.own), o.Path) {
				o.Managers = appendNew(o.Managers, entries[at].Manager)
			}
		}
		if len(o.Managers) > 0 && !o.IsEmpty() {
			removed = append(removed, o)
		}
	}
	return removed, nil
}

// droppedFrom returns the fields that an apply removes from live, given other managed fields. If the Go
// type of live lacks some of these fields, live is read again without a Go type.
func (u update) droppedFrom(
	ctx context.Context, live client.Object, entries []metav1.ManagedFieldsEntry,
) ([]obstacle.Obstacle, error) {
	merge, err := u.mergeAfter(live, entries)
	if err != nil {
		return nil, err
	}
	dropped := merge.Dropped()
	_, isJSON := live.(runtime.Unstructured)
	if isJSON || !slices.ContainsFunc(dropped, u.isUnknown) {
		return dropped, nil
	}
	complete, err := u.rereadJSON(ctx, migrating, live.GetUID())
	if err != nil {
		return nil, err
	}
	if merge, err = u.mergeAfter(complete, entries); err != nil {
		return nil, err
	}
	return merge.Dropped(), nil
}

// checkPods refuses a removal that changes a pod template, unless the caller allows such removals. A
// dry run shows which removals do: often the API server would set the same value as a default.
func (u update) checkPods(ctx context.Context, live client.Object, removed []obstacle.Obstacle) error {
	if u.removeFromPods || !slices.ContainsFunc(removed, func(o obstacle.Obstacle) bool { return o.InPodTemplate }) {
		return nil
	}
	_, err := u.rehearse(ctx, live)
	return err
}

// rehearse tries the apply that follows a transfer of live by a dry run.
func (u update) rehearse(ctx context.Context, live client.Object) (application, error) {
	r := repair{child: u.child}
	if err := r.observe(ctx, live.GetUID()); err != nil {
		return application{}, err
	}
	h, err := u.planTransfer(r.live)
	if err != nil {
		return application{}, err
	}
	removed, err := u.removals(ctx, r.live, h)
	if err != nil {
		return application{}, err
	}
	if r.merge, err = u.mergeAfter(r.live, h.patch.Entries()); err != nil {
		return application{}, err
	}
	ok, err := r.dryRunWithout(ctx, nil)
	if err != nil && (u.dryRun || !apierrors.IsBadRequest(err)) { // a webhook may take no dry runs
		return application{}, err
	}
	applied := application{before: r.typed(), after: r.accepted, tried: true}
	missed := removed // as far as a refusal tells
	if ok {
		missed = u.containedIn(removed, u.changesOf(delta.Diff(applied.before, applied.after)))
	}
	if err := u.refusePods(missed); err != nil {
		return application{}, err
	}
	if !ok && u.dryRun {
		r.refusal = r.lastRefusal
		if applied, err = r.run(ctx); err != nil {
			return application{}, err
		}
	}
	applied.removed = append(applied.removed, missed...)
	return applied, nil
}

// refusePods returns an error that names the fields whose removal would change a pod template, unless
// the caller allows such removals.
func (u update) refusePods(missed []obstacle.Obstacle) error {
	if u.removeFromPods {
		return nil
	}
	var paths, whose []string
	for _, o := range missed {
		if o.InPodTemplate {
			path := managedfields.Text(o.Path)
			paths = append(paths, path)
			whose = append(whose, fmt.Sprintf("%s (set by %s)", path, strings.Join(o.Managers, ", ")))
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return u.fail(ErrRefused, "ensure", "ensure.MigrateFrom would remove from its pod template, which restarts pods, "+
		strings.Join(whose, ", ")+": keep that with ensure.Release, specify it in desired, "+
		"or allow the removal with ensure.RemoveFromPodTemplates", paths...)
}
