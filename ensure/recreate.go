package ensure

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/canon"
)

// Recreate allows what is ErrImmutable otherwise: the child is deleted and made again when
// the API server refuses the change of an existing object and a dry run shows that it
// would take desired as a new one. It is never done for another error: not for an invalid
// value, a quota, a policy, a missing right. What was only adopted is never deleted.
//
// dependents says what becomes of those that name the child as their owner:
// metav1.DeletePropagationBackground deletes them after it;
// metav1.DeletePropagationOrphan leaves them, and one whose controller looks for them by
// labels takes them over, as a StatefulSet does its pods. That is ErrTerminating until the
// old object has let go of them, and Recreated in the pass after.
//
// Everything that others have written into the child is lost with it: it is a new one.
func Recreate(dependents metav1.DeletionPropagation) Option {
	return func(o *options) { o.recreate = dependents }
}

// A replacement is on its way from the deletion of a child to its creation.
type replacement struct {
	deleted types.UID
	cause   Cause
	changes []Change
}

// mayRecreate reports whether live, which cannot be changed as desired, may be deleted: if
// nothing would stand in the way of a new one but live itself.
func (c *child) mayRecreate(live client.Object) bool {
	if c.recreate == "" || !c.ours {
		return false
	}
	differing := pathsOf(c.unsatisfied(live))
	return len(differing) > 0 && !slices.ContainsFunc(c.taken, func(field string) bool { return !isHeldBy(field, differing) })
}

// isHeldBy reports whether a new object was refused for a value that live, which differs
// from desired only so, holds itself: a cluster IP, a node port, or a name that has to
// match the content.
func isHeldBy(field string, differing []string) bool {
	anyPath := func(matches func(path string) bool) bool { return slices.ContainsFunc(differing, matches) }
	switch {
	case field == "metadata.name":
		return true
	case strings.HasPrefix(field, "spec.clusterIP"):
		return !anyPath(func(path string) bool { return strings.HasPrefix(path, "spec.clusterIP") })
	case strings.HasPrefix(field, "spec.ports[") && strings.HasSuffix(field, ".nodePort"):
		return !anyPath(func(path string) bool {
			return strings.HasSuffix(path, ".nodePort") || strings.HasPrefix(path, "spec.ports") && strings.HasSuffix(path, "]")
		})
	case field == "spec.healthCheckNodePort":
		return !slices.Contains(differing, field)
	}
	return false
}

// replaceWhole deletes live and makes the child again. If live is not gone at once, the
// creation meets it and a later pass makes the child.
func (c *child) replaceWhole(ctx context.Context, live client.Object, cause Cause) (outcome, error) {
	changes := c.unsatisfied(live)
	c.propagation = c.recreate
	if _, err := c.delete(ctx, live); err != nil {
		return outcome{}, err
	}
	if c.dryRun {
		return outcome{live: live, operation: Recreated, cause: cause, changes: changes}, nil
	}
	c.memory.replacing(c.id(), replacement{deleted: live.GetUID(), cause: cause, changes: changes})
	return c.create(ctx)
}

// unsatisfied lists where live is not as desired.
func (c *child) unsatisfied(live client.Object) []Change {
	var changes []Change
	for _, change := range canon.Unsatisfied(live, c.desired) {
		changes = append(changes, Change(change))
	}
	return changes
}

func pathsOf(changes []Change) []string {
	var paths []string
	for _, change := range changes {
		paths = appendNew(paths, change.Path)
	}
	return paths
}
