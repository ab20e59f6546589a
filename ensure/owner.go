package ensure

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/managedfields"
)

func (c *child) checkOwner() error {
	if isNil(c.owner) {
		return c.refuse("", "the owner given to ensure.ControlledBy is nil")
	}
	if !c.isReadable(c.owner) {
		return c.refuse("", fmt.Sprintf("the owner given to ensure.ControlledBy is a %T: "+
			"it must be a pointer to a struct that embeds no pointer", c.owner))
	}
	switch {
	case c.owner.GetUID() == "" && c.owner.GetResourceVersion() == "":
		return c.refuse("", c.ownerName()+" was never created: pass the object as it was read")
	case c.owner.GetNamespace() != "" && c.scope == clusterScoped:
		return c.refuse("", c.ownerName()+" is namespaced and cannot own a cluster-scoped object: "+
			"the garbage collector would delete it at once; use a finalizer instead")
	}
	return nil
}

func (c *child) ownerName() string {
	return fmt.Sprintf("the owner %q", client.ObjectKeyFromObject(c.owner).String())
}

func (c *child) stampOwner() error {
	owner, err := c.kindOf(c.owner)
	if err != nil {
		return c.unknownKind("the owner given to ensure.ControlledBy", err)
	}
	yes := new(true)
	controller := metav1.OwnerReference{
		APIVersion:         owner.apiVersion,
		Kind:               owner.gvk.Kind,
		Name:               c.owner.GetName(),
		UID:                c.owner.GetUID(),
		Controller:         yes,
		BlockOwnerDeletion: yes,
	}
	others := c.desired.GetOwnerReferences()
	refs := append(make([]metav1.OwnerReference, 0, 1+len(others)), controller)
	for _, ref := range others {
		switch {
		case sameOwner(ref, controller):
		case ptr.Deref(ref.Controller, false):
			return c.refuse("metadata.ownerReferences", fmt.Sprintf(
				"names another controller, %s %q, than ensure.ControlledBy does", ref.Kind, ref.Name))
		default:
			refs = append(refs, ref)
		}
	}
	c.desired.SetOwnerReferences(refs)
	c.controller = &refs[0]
	return nil
}

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

// sameOwner compares by UID; the fake client gives none, so there names must do.
func sameOwner(a, b metav1.OwnerReference) bool {
	if a.UID != "" || b.UID != "" {
		return a.UID == b.UID
	}
	groupA, _ := schema.ParseGroupVersion(a.APIVersion)
	groupB, _ := schema.ParseGroupVersion(b.APIVersion)
	return groupA.Group == groupB.Group && a.Kind == b.Kind && a.Name == b.Name
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
