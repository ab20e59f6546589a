package ensure

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/memory"
)

// MigrateFrom takes over the fields that other field managers own: an earlier version of the
// operator that wrote by Update or Patch, as controllerutil.CreateOrUpdate does, or that applied
// under another field owner; or somebody who used kubectl apply. A field that such a manager owns
// stays when desired drops it. The names are those in metadata.managedFields of the child:
//
//	kubectl get deployment web -o yaml --show-managed-fields
//
// If the child has an entry of such a manager, two writes move it to our field owner. They change
// metadata only, as long as desired specifies what the manager had set: the Result is Updated,
// Migrated. Fields that desired does not specify are removed, unless others own them, too.
// Result.Changes names each of them and its manager, also in a dry run; Release keeps a field. Fields
// of a pod template are removed only with RemoveFromPodTemplates: otherwise the error is ErrRefused,
// and nothing is written. Once the child has no such entry, MigrateFrom costs no request.
//
// Never name a manager that another program may use. The default name is the file name of the
// program, which is "manager" for every operator that kubebuilder scaffolds: two such operators would
// take over, and remove, each other's fields. Entries of other managers and of subresources, such as
// status and scale, stay; so does the content if desired is a PartialObjectMetadata.
//
// MigrateFrom does not make a foreign object ours (see Adopt), except for objects of an Ensurer with
// a named field owner: this is how a field owner is renamed. If the old operator runs again, the child
// is taken over once more, so the option may stay in the code. If the cache strips managed fields,
// each child is read from the API server once, and again after somebody changed it.
//
// Without managers the option has no effect.
func MigrateFrom(managers ...string) Option {
	return func(o *options) { o.migrateFrom = append(o.migrateFrom, managers...) }
}

// withManagers returns live with its managed fields, if MigrateFrom needs them and live is not known to
// be migrated.
func (c *child) withManagers(ctx context.Context, live client.Object) (client.Object, error) {
	if len(c.migrateFrom) == 0 || len(live.GetManagedFields()) > 0 || c.isMigrated(live) {
		return live, nil
	}
	complete, err := c.complete(ctx, live)
	if err != nil {
		return nil, err
	}
	if !c.isMigrating(complete) && len(c.unfinished(complete)) == 0 {
		c.memory.Migrated.Set(c.ownedID(), c.lookOf(live))
	}
	return complete, nil
}

// noteMigrated remembers that live, just applied, has nothing left to take over.
func (c *child) noteMigrated(live client.Object) {
	if len(c.migrateFrom) > 0 && !c.dryRun && !c.isMigrating(live) {
		c.memory.Migrated.Set(c.ownedID(), c.lookOf(live))
	}
}

func (c *child) lookOf(live client.Object) memory.Look {
	var found notes
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
	return memory.Look{UID: live.GetUID(), Sum: sha256.Sum256(found)}
}

// isMigrated reports whether live is known to have no entry of an old manager.
func (c *child) isMigrated(live client.Object) bool {
	known, ok := c.memory.Migrated.Get(c.ownedID())
	return ok && known == c.lookOf(live)
}
