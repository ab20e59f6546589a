package ensure

import (
	"errors"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A child is one desired object on its way through the rules.
type child struct {
	*Ensurer
	kind
	options

	key     types.NamespacedName
	desired client.Object // a copy, stamped with owner, labels and digest
	digest  string
	unseen  bool // the cache did not show it
}

func (c *child) id() childKey { return childKey{gvk: c.gvk, key: c.key} }

func (c *child) error(class error, operation, detail string, paths ...string) *Error {
	return &Error{
		Operation: operation, Kind: c.gvk, Key: c.key,
		Reason: reasons[class], Paths: paths, class: class, detail: detail,
	}
}

// reasons are condition reasons by class; that of ErrAPI comes from the server.
var reasons = map[error]string{
	ErrRefused:          "Refused",
	ErrOwnerTerminating: "OwnerTerminating",
	ErrTerminating:      "Terminating",
	ErrForeign:          "Foreign",
	ErrHidden:           "Hidden",
	ErrInvalid:          "Invalid",
	ErrImmutable:        "Immutable",
}

// refuse is an error of the caller's: nothing was sent.
func (c *child) refuse(path, detail string) *Error {
	if path == "" {
		return c.error(ErrRefused, "ensure", detail)
	}
	return c.error(ErrRefused, "ensure", path+" "+detail, path)
}

// unknownKind tells what only code can mend from a server that could not be asked.
func (c *child) unknownKind(what string, err error) *Error {
	unknown, ok := errors.AsType[*noKindError](err)
	if !ok {
		return c.requestError("ensure", err)
	}
	refusal := c.refuse("", what+" has no kind: "+describe(unknown.error)+
		"; add its Go type to the client's scheme, or set apiVersion and kind of an unstructured object")
	refusal.cause = unknown.error
	return refusal
}

// newChild checks what the caller gave and stamps a copy of desired.
func (e *Ensurer) newChild(desired client.Object, opts []Option) (*child, error) {
	c := &child{Ensurer: e}
	for _, set := range opts {
		if set == nil {
			return nil, c.refuse("", "an Option is nil")
		}
		set(&c.options)
	}
	if isNil(desired) {
		return nil, c.refuse("", "desired is nil")
	}
	if !isReadable(desired) {
		return nil, c.refuse("", fmt.Sprintf("desired is a %T: it must be a pointer to a struct that embeds no pointer", desired))
	}
	c.key = client.ObjectKeyFromObject(desired)
	if e == nil || e.memory == nil {
		return nil, c.refuse("", "the Ensurer was not made by ensure.New")
	}
	if e.misuse != "" {
		return nil, c.refuse("", e.misuse)
	}
	kind, err := e.kindOf(desired)
	c.kind = kind
	if err != nil {
		return nil, c.unknownKind("it", err)
	}
	if err := c.checkDesired(desired); err != nil {
		return nil, err
	}
	if c.controlled {
		if err := c.checkOwner(); err != nil {
			return nil, err
		}
	}
	if err := c.place(desired); err != nil {
		return nil, err
	}
	return c, c.stamp(desired)
}

// checkDesired refuses what an apply cannot carry or what a copy of a live object
// gives away.
func (c *child) checkDesired(desired client.Object) error {
	switch {
	case desired.GetGenerateName() != "":
		return c.refuse("metadata.generateName", "cannot be ensured: the object could not be found again; set a name")
	case desired.GetName() == "":
		return c.refuse("metadata.name", "is required")
	case desired.GetResourceVersion() != "":
		return c.refuse("metadata.resourceVersion", copied)
	case desired.GetUID() != "":
		return c.refuse("metadata.uid", copied)
	case len(desired.GetManagedFields()) > 0:
		return c.refuse("metadata.managedFields", copied)
	case c.statusSet(desired):
		return c.refuse("status", "is not written by ensure; leave it out")
	}
	if path, problem := unreadableMetadata(desired); path != "" {
		return c.refuse(path, problem)
	}
	return nil
}

const copied = "is the server's to set: build desired anew with only what you care about, do not copy a live object"

func (c *child) checkOwner() error {
	if isNil(c.owner) {
		return c.refuse("", "the owner given to ensure.ControlledBy is nil")
	}
	if !isReadable(c.owner) {
		return c.refuse("", fmt.Sprintf("the owner given to ensure.ControlledBy is a %T: "+
			"it must be a pointer to a struct that embeds no pointer", c.owner))
	}
	owner := fmt.Sprintf("the owner %q", client.ObjectKeyFromObject(c.owner).String())
	switch {
	case c.owner.GetDeletionTimestamp() != nil:
		return c.error(ErrOwnerTerminating, "ensure", owner+" is being deleted")
	case c.owner.GetUID() == "" && c.owner.GetResourceVersion() == "":
		return c.refuse("", owner+" was never created: pass the object as it was read")
	case c.owner.GetNamespace() != "" && c.scope == clusterScoped:
		return c.refuse("", owner+" is namespaced and cannot own a cluster-scoped object: "+
			"the garbage collector would delete it at once; use a finalizer instead")
	}
	return nil
}

// place settles the namespace.
func (c *child) place(desired client.Object) error {
	if c.scope == clusterScoped {
		if desired.GetNamespace() != "" {
			return c.refuse("metadata.namespace", "must be empty for a cluster-scoped kind")
		}
		return nil
	}
	if c.controlled && c.owner.GetNamespace() != "" {
		if c.key.Namespace == "" {
			c.key.Namespace = c.owner.GetNamespace()
		}
		if c.key.Namespace != c.owner.GetNamespace() {
			return c.refuse("metadata.namespace", fmt.Sprintf(
				"differs from the owner's, %q: owner references do not cross namespaces", c.owner.GetNamespace()))
		}
	}
	if c.key.Namespace == "" && c.scope == namespaced {
		return c.refuse("metadata.namespace", "is required: there is no namespaced owner to take it from")
	}
	return nil
}

// stamp makes c.desired: desired with namespace, labels, owner and digest.
func (c *child) stamp(desired client.Object) error {
	c.desired = c.copyForStamping(desired)
	c.desired.SetNamespace(c.key.Namespace)
	if len(c.labels) > 0 {
		labels := maps.Clone(desired.GetLabels())
		if labels == nil {
			labels = make(map[string]string, len(c.labels))
		}
		maps.Copy(labels, c.labels)
		c.desired.SetLabels(labels)
	}
	if c.controlled {
		if err := c.stampOwner(); err != nil {
			return err
		}
	}
	return c.stampDigest()
}

func (c *child) stampOwner() error {
	owner, err := c.kindOf(c.owner)
	if err != nil {
		return c.unknownKind("the owner given to ensure.ControlledBy", err)
	}
	controller := metav1.OwnerReference{
		APIVersion:         owner.gvk.GroupVersion().String(),
		Kind:               owner.gvk.Kind,
		Name:               c.owner.GetName(),
		UID:                c.owner.GetUID(),
		Controller:         new(true),
		BlockOwnerDeletion: new(true),
	}
	refs := []metav1.OwnerReference{controller}
	for _, ref := range c.desired.GetOwnerReferences() {
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

// stampDigest stores the digest of everything else that desired specifies.
func (c *child) stampDigest() error {
	err := c.store.Set(c.desired, "")
	if err == nil {
		c.digest, err = c.digester.Object(c.desired)
	}
	if err == nil {
		err = c.store.Set(c.desired, c.digest)
	}
	if err != nil {
		refusal := c.refuse("", "cannot compute or store its digest: "+err.Error())
		refusal.cause = err
		return refusal
	}
	if c.digest == "" {
		return c.refuse("", "the digester given to ensure.WithDigest returns empty digests")
	}
	return nil
}
