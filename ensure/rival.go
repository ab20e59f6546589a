package ensure

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/managedfields"
)

// witness returns a copy of live, not yet put right, that tells who wrote it. That is live,
// unless the cache strips the managed fields. Then the server is asked, once a contest: when
// our next write could be the one that begins it, and would take the fields back.
func (c *child) witness(ctx context.Context, live client.Object) (client.Object, error) {
	if len(live.GetManagedFields()) > 0 || !c.memory.contests.asksWho(c.id(), c.intent(), c.clock.Now()) {
		return live, nil
	}
	complete, err := c.readServer(ctx)
	if err != nil || complete == nil || complete.GetUID() != live.GetUID() {
		return live, err
	}
	return complete, nil
}

// rival is who undid paths, going by a copy from before they were put back; empty if
// nothing tells.
func (c *child) rival(undone client.Object, paths []string) string {
	others := c.othersIn(undone)
	if stored, _ := c.storedIn(undone); stored != "" && stored != c.digest && newestOwner(others, c.digestIn(paths)) == "" {
		return c.twin()
	}
	if owner := newestOwner(others, paths); owner != "" {
		return owner
	}
	if own := managedfields.Applied(undone, c.fieldOwner); len(others) > 0 && own != nil && !wroteAt(&others[0]).Before(wroteAt(own)) {
		return others[0].Manager // what it removed is nobody's now, but it wrote something else with that
	}
	return ""
}

// twin is what a rival of our own field owner is called.
func (c *child) twin() string { return "another instance of " + c.fieldOwner }

// othersIn are other managers' entries, the newest first. Nobody's status undoes anything.
func (c *child) othersIn(obj client.Object) []metav1.ManagedFieldsEntry {
	others := slices.DeleteFunc(slices.Clone(obj.GetManagedFields()), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == c.fieldOwner || entry.Subresource == "status"
	})
	slices.SortStableFunc(others, func(a, b metav1.ManagedFieldsEntry) int { return wroteAt(&b).Compare(wroteAt(&a)) })
	return others
}

// wroteAt has a resolution of one second. An entry of the scale subresource may have no time.
func wroteAt(entry *metav1.ManagedFieldsEntry) time.Time {
	if entry.Time == nil {
		return time.Time{}
	}
	return entry.Time.Time
}

// newestOwner is the manager of the first of entries that owns one of paths, or empty.
func newestOwner(entries []metav1.ManagedFieldsEntry, paths []string) string {
	for i := range entries {
		fields := managedfields.Fields(&entries[i])
		if slices.ContainsFunc(paths, func(path string) bool { return managedfields.Owns(fields, path) }) {
			return entries[i].Manager
		}
	}
	return ""
}

// digestIn is where our digest is kept, if that is among paths.
func (c *child) digestIn(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return !c.isDigest(path) })
}

// isDigest reports whether path is where our digest is kept.
func (c *child) isDigest(path string) bool {
	place, ok := itemAt(path)
	return ok && c.stamped != nil && place.in(c.stamped) && !place.in(c.desired)
}
