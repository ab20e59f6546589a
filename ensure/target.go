package ensure

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/kinds"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/object"
)

// A target is the object that a call names, and the options of the call.
type target struct {
	*Ensurer
	options
	layer.Child
}

// setKind sets the kind of the child.
func (t *target) setKind(kind *kinds.Kind) {
	t.Kind = kind
	t.Subject.Kind, t.Subject.IsSensitive, t.Subject.IsControlled = kind.GVK, kind.IsSensitive, t.controlled
}

// checkOptions refuses those that mean nothing for an object that is wanted.
func (t *target) checkOptions() error {
	switch {
	case t.propagation != "":
		return t.Subject.Refuse("", "ensure.Propagation is for ensure.Absent and ensure.Prune: Object deletes nothing")
	case t.deleteAdopted:
		return t.Subject.Refuse("", "ensure.DeleteAdopted is for ensure.Absent and ensure.Prune: Object deletes nothing")
	case t.prune != nil:
		return t.Subject.Refuse("", "ensure.Prune is for ensure.Set")
	case t.only != nil:
		return t.Subject.Refuse("", "ensure.OnlyFor names another object: pass the pointer that ensure.Object got")
	case t.ifMissing && (t.ifExists || t.adopt || t.recreate != "" || t.changesOwnership()):
		return t.Subject.Refuse("", "ensure.IfMissing does not change an existing object: "+
			"combine it with ensure.ControlledBy and ensure.DryRun only")
	case t.onDrift && t.recreate == "":
		return t.Subject.Refuse("", "ensure.RecreateOnDrift has no meaning without ensure.Recreate")
	case t.recreate != "" && t.recreate != metav1.DeletePropagationBackground && t.recreate != metav1.DeletePropagationOrphan:
		return t.Subject.Refuse("", fmt.Sprintf("ensure.Recreate takes Background or Orphan, not %q", t.recreate))
	}
	return nil
}

// checkDesired refuses fields that an apply cannot contain, and fields that only a copy of a live
// object has.
func (t *target) checkDesired(desired client.Object) error {
	switch {
	case desired.GetGenerateName() != "":
		return t.Subject.Refuse("metadata.generateName", "cannot be ensured: the object could not be found again; set a name")
	case desired.GetName() == "":
		return t.Subject.Refuse("metadata.name", "is required")
	case desired.GetResourceVersion() != "":
		return t.Subject.Refuse("metadata.resourceVersion", copied)
	case desired.GetUID() != "":
		return t.Subject.Refuse("metadata.uid", copied)
	case managedfields.HasAny(desired):
		return t.Subject.Refuse("metadata.managedFields", copied)
	case t.Kind.SpecifiesStatus(desired):
		return t.Subject.Refuse("status", "is not written by ensure; leave it out")
	}
	if path, problem := kinds.UnreadableMetadata(desired); path != "" {
		return t.Subject.Refuse(path, problem)
	}
	return nil
}

const copied = "is set by the API server: build desired anew with only the fields that you decide, and do not copy a live object"

// place settles the namespace.
func (t *target) place(desired client.Object) error {
	if t.Kind.Scope == kinds.ClusterScoped {
		if desired.GetNamespace() != "" {
			return t.Subject.Refuse("metadata.namespace", "must be empty for a cluster-scoped kind")
		}
		return nil
	}
	if t.controlled && t.owner.GetNamespace() != "" {
		if t.Subject.Key.Namespace == "" {
			t.Subject.Key.Namespace = t.owner.GetNamespace()
		}
		if t.Subject.Key.Namespace != t.owner.GetNamespace() {
			return t.Subject.Refuse("metadata.namespace", fmt.Sprintf(
				"differs from the owner's, %q: owner references do not cross namespaces", t.owner.GetNamespace()))
		}
	}
	if t.Subject.Key.Namespace == "" && t.Kind.Scope == kinds.Namespaced {
		return t.Subject.Refuse("metadata.namespace", "is required: there is no namespaced owner to take it from")
	}
	return nil
}

func (t *target) checkOwner() error {
	if object.IsNil(t.owner) {
		return t.Subject.Refuse("", "the owner given to ensure.ControlledBy is nil")
	}
	if !t.kinds.IsReadable(t.owner) {
		return t.Subject.Refuse("", fmt.Sprintf("the owner given to ensure.ControlledBy is a %T: "+
			"it must be a pointer to a struct that embeds no pointer", t.owner))
	}
	switch {
	case t.owner.GetUID() == "" && t.owner.GetResourceVersion() == "":
		return t.Subject.Refuse("", t.ownerName()+" was never created: pass the object as it was read")
	case t.owner.GetNamespace() != "" && t.Kind.Scope == kinds.ClusterScoped:
		return t.Subject.Refuse("", t.ownerName()+" is namespaced and cannot own a cluster-scoped object: "+
			"the garbage collector would delete it at once; use a finalizer instead")
	}
	return nil
}

func (t *target) ownerName() string {
	return fmt.Sprintf("the owner %q", client.ObjectKeyFromObject(t.owner).String())
}

// isWanted reports whether a controller is the one that desired names.
func (t *target) isWanted(controller *metav1.OwnerReference) bool {
	return t.Controller != nil && sameOwner(*controller, *t.Controller)
}

// controllerName returns kind and name of the controller that desired names; empty if there is none.
func (t *target) controllerName() string {
	if t.Controller == nil {
		return ""
	}
	return t.Controller.Kind + " " + t.Controller.Name
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
