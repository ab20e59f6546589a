package ensure

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// leavesOwners reports whether the owners of live stay as they are, though an earlier call may
// have applied one of them.
func (c *child) leavesOwners(live client.Object) bool {
	return c.adopt && c.controller == nil && len(live.GetOwnerReferences()) > 0
}

// isLeftOwner reports whether path is that of an owner that stays, and that desired does not
// name. If our applies own it, the next one removes it.
func (c *child) isLeftOwner(path fieldpath.Path) bool {
	if !c.adopt || c.controller != nil || !managedfields.IsAt(path, []string{"metadata", "ownerReferences"}) {
		return false
	}
	return !slices.ContainsFunc(c.desired.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return managedfields.IsAt(path, []string{"metadata", "ownerReferences", "uid=" + string(ref.UID)})
	})
}

// checkOwnerIsCurrent asks the server whether the owner is still the one that was given: a
// cache that is behind, such as that of a replica that has just become the leader, shows an
// older one, which may want other children.
func (c *child) checkOwnerIsCurrent(ctx context.Context) error {
	current := &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: c.controller.APIVersion, Kind: c.controller.Kind},
	}
	if err := c.ask(); err != nil {
		return err
	}
	switch err := c.reader.Get(ctx, client.ObjectKeyFromObject(c.owner), current); {
	case answer.IsGone(err):
		return c.conflict("prune", c.ownerName()+" is gone", nil)
	case err != nil:
		failed := c.requestError("prune", err)
		if c.isSensitive(current.GroupVersionKind().GroupKind()) {
			failed.detail = answer.Describe(err)
		}
		failed.detail = strings.TrimSuffix("cannot read "+c.ownerName()+": "+failed.detail, ": ")
		return failed
	}
	switch {
	case c.owner.GetUID() != "" && current.GetUID() != c.owner.GetUID():
		return c.conflict("prune", c.ownerName()+" was replaced meanwhile", nil)
	case current.GetDeletionTimestamp() != nil:
		return c.conflict("prune", c.ownerName()+" is being deleted", nil)
	case isChanged(c.owner, current):
		return c.conflict("prune", c.ownerName()+" was changed meanwhile", nil)
	}
	return nil
}

// isChanged reports whether current may want something else than owner did, which is an
// earlier copy, or one that the caller made of the UID alone.
func isChanged(owner, current client.Object) bool {
	if owner.GetGeneration() != 0 {
		return owner.GetGeneration() != current.GetGeneration()
	}
	return owner.GetResourceVersion() != "" && owner.GetResourceVersion() != current.GetResourceVersion()
}
