package ensure

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/answer"
)

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
