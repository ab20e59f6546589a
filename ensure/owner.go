package ensure

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// sameOwner compares by UID; the fake client gives none, so there names must do.
func sameOwner(a, b metav1.OwnerReference) bool {
	if a.UID != "" || b.UID != "" {
		return a.UID == b.UID
	}
	groupA, _ := schema.ParseGroupVersion(a.APIVersion)
	groupB, _ := schema.ParseGroupVersion(b.APIVersion)
	return groupA.Group == groupB.Group && a.Kind == b.Kind && a.Name == b.Name
}
