package ensure

import (
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/kinds"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/object"
)

// newPass checks the arguments of the caller and stamps a copy of desired.
func (e *Ensurer) newPass(desired client.Object, o options) (*pass, error) {
	p, err := e.identify(desired, o)
	if err != nil {
		return nil, err
	}
	if err := checkDesired(&p.child, desired); err != nil {
		return nil, err
	}
	if err := o.check(&p.child.Subject); err != nil {
		return nil, err
	}
	if owner := p.child.Owner; owner != nil && owner.GetDeletionTimestamp() != nil {
		return nil, p.child.Subject.Fail(ErrOwnerTerminating, "ensure", ownerName(owner)+" is being deleted")
	}
	if err := place(&p.child, desired); err != nil {
		return nil, err
	}
	if err := p.stamp(desired); err != nil {
		return nil, err
	}
	p.connect(layer.Ensure)
	if err := p.computeDigest(); err != nil {
		return nil, err
	}
	if o.changesOwnership() {
		err = p.readPaths()
	}
	return p, err
}

// identify finds out which object is meant.
func (e *Ensurer) identify(obj client.Object, o options) (*pass, error) {
	p := &pass{ensurer: e, options: o}
	c := &p.child
	c.Kind, c.Subject.IsSensitive = kinds.None, true
	if o.isNil {
		return nil, c.Subject.Refuse("", "an Option is nil, or none of package ensure")
	}
	if object.IsNil(obj) {
		return nil, c.Subject.Refuse("", "desired is nil")
	}
	if e == nil || e.memory == nil {
		return nil, c.Subject.Refuse("", "the Ensurer was not created by ensure.New")
	}
	if !e.kinds.IsReadable(obj) {
		return nil, c.Subject.Refuse("", fmt.Sprintf("desired is a %T: it must be a pointer to a struct that embeds no pointer", obj))
	}
	c.Subject.Key, c.Operator, c.DryRun = client.ObjectKeyFromObject(obj), &e.operator, o.dryRun
	if e.misuse != "" {
		return nil, c.Subject.Refuse("", e.misuse)
	}
	kind, err := e.kinds.Of(obj)
	c.Kind, c.Subject.Kind, c.Subject.IsSensitive, c.Subject.IsControlled = kind, kind.GVK, kind.IsSensitive, o.controlled
	if err != nil {
		return nil, unknownKindError(&c.Subject, "it", err)
	}
	if o.controlled {
		err = e.checkOwner(c, o.owner)
		c.Owner = o.owner
	}
	return p, err
}

// unknownKindError returns the error for an object of unknown kind: a mistake in the code, or an API
// server that could not be asked.
func unknownKindError(s *fault.Subject, role string, err error) *fault.Error {
	unknown, ok := errors.AsType[*kinds.NoKindError](err)
	if !ok {
		return s.Request("ensure", err)
	}
	return s.UnknownKind(role, unknown.Unwrap())
}

// checkDesired refuses fields that an apply cannot contain, and fields that only a copy of a live
// object has.
func checkDesired(c *layer.Child, desired client.Object) error {
	switch {
	case desired.GetGenerateName() != "":
		return c.Subject.Refuse("metadata.generateName", "cannot be ensured: the object could not be found again; set a name")
	case desired.GetName() == "":
		return c.Subject.Refuse("metadata.name", "is required")
	case desired.GetResourceVersion() != "":
		return c.Subject.Refuse("metadata.resourceVersion", copied)
	case desired.GetUID() != "":
		return c.Subject.Refuse("metadata.uid", copied)
	case managedfields.HasAny(desired):
		return c.Subject.Refuse("metadata.managedFields", copied)
	case c.Kind.SpecifiesStatus(desired):
		return c.Subject.Refuse("status", "is not written by ensure; leave it out")
	}
	if path, problem := kinds.UnreadableMetadata(desired); path != "" {
		return c.Subject.Refuse(path, problem)
	}
	return nil
}

const copied = "is set by the API server: build desired anew with only the fields that you decide, and do not copy a live object"

// place settles the namespace.
func place(c *layer.Child, desired client.Object) error {
	if c.Kind.Scope == kinds.ClusterScoped {
		if desired.GetNamespace() != "" {
			return c.Subject.Refuse("metadata.namespace", "must be empty for a cluster-scoped kind")
		}
		return nil
	}
	if c.Owner != nil && c.Owner.GetNamespace() != "" {
		if c.Subject.Key.Namespace == "" {
			c.Subject.Key.Namespace = c.Owner.GetNamespace()
		}
		if c.Subject.Key.Namespace != c.Owner.GetNamespace() {
			return c.Subject.Refuse("metadata.namespace", fmt.Sprintf(
				"differs from the owner's, %q: owner references do not cross namespaces", c.Owner.GetNamespace()))
		}
	}
	if c.Subject.Key.Namespace == "" && c.Kind.Scope == kinds.Namespaced {
		return c.Subject.Refuse("metadata.namespace", "is required: there is no namespaced owner to take it from")
	}
	return nil
}

// checkOwner refuses an owner that cannot own the child.
func (e *Ensurer) checkOwner(c *layer.Child, owner client.Object) error {
	if object.IsNil(owner) {
		return c.Subject.Refuse("", "the owner given to ensure.ControlledBy is nil")
	}
	if !e.kinds.IsReadable(owner) {
		return c.Subject.Refuse("", fmt.Sprintf("the owner given to ensure.ControlledBy is a %T: "+
			"it must be a pointer to a struct that embeds no pointer", owner))
	}
	switch {
	case owner.GetUID() == "" && owner.GetResourceVersion() == "":
		return c.Subject.Refuse("", ownerName(owner)+" was never created: pass the object as it was read")
	case owner.GetNamespace() != "" && c.Kind.Scope == kinds.ClusterScoped:
		return c.Subject.Refuse("", ownerName(owner)+" is namespaced and cannot own a cluster-scoped object: "+
			"the garbage collector would delete it at once; use a finalizer instead")
	}
	return nil
}

// ownerName names an owner in a text.
func ownerName(owner client.Object) string {
	return fmt.Sprintf("the owner %q", client.ObjectKeyFromObject(owner).String())
}

// stamp sets the desired state to a copy of desired with namespace, labels and owner.
func (p *pass) stamp(desired client.Object) error {
	c, labels := &p.child, p.ensurer.labels
	c.Desired = c.Kind.ShallowCopy(desired)
	changesOwnership := p.options.changesOwnership()
	if changesOwnership {
		if err := p.readIgnored(); err != nil {
			return err
		}
	}
	c.Desired.SetNamespace(c.Subject.Key.Namespace)
	if len(labels) > 0 {
		all := maps.Clone(desired.GetLabels())
		if all == nil {
			all = make(map[string]string, len(labels))
		}
		maps.Copy(all, labels)
		c.Desired.SetLabels(all)
	}
	if c.Owner == nil {
		c.Controller = metav1.GetControllerOfNoCopy(c.Desired)
	} else if err := p.stampOwner(); err != nil {
		return err
	}
	c.KeepsOwners = p.options.adopt && c.Controller == nil
	if changesOwnership {
		p.setBirth()
	}
	return nil
}

// stampOwner makes the owner that the caller gave the controller in the desired state.
func (p *pass) stampOwner() error {
	c := &p.child
	owner, err := p.ensurer.kinds.Of(c.Owner)
	if err != nil {
		return unknownKindError(&c.Subject, "the owner given to ensure.ControlledBy", err)
	}
	yes := new(true)
	controller := metav1.OwnerReference{
		APIVersion:         owner.APIVersion,
		Kind:               owner.GVK.Kind,
		Name:               c.Owner.GetName(),
		UID:                c.Owner.GetUID(),
		Controller:         yes,
		BlockOwnerDeletion: yes,
	}
	others := c.Desired.GetOwnerReferences()
	refs := append(make([]metav1.OwnerReference, 0, 1+len(others)), controller)
	for _, ref := range others {
		switch {
		case layer.SameOwner(ref, controller):
		case ptr.Deref(ref.Controller, false):
			return c.Subject.Refuse("metadata.ownerReferences", fmt.Sprintf(
				"names another controller, %s %q, than ensure.ControlledBy does", ref.Kind, ref.Name))
		default:
			refs = append(refs, ref)
		}
	}
	c.Desired.SetOwnerReferences(refs)
	c.Controller = &refs[0]
	return nil
}

// forms are buffers for canonical forms. One that a giant object grew is not kept.
var forms = sync.Pool{New: func() any { return new([]byte) }}

const maxKeptForm = 64 << 10

// computeDigest sets the digest of everything that desired specifies, except for a stored digest.
// Mostly, desired is the same as in the pass before, of which there is a record. A checksum of its canonical
// form shows that for a tenth of the cost of a digest.
func (p *pass) computeDigest() error {
	c, known := &p.child, p.server.Known
	err := c.Operator.Store.Set(c.Desired, "")
	if err == nil {
		err = p.computeChecksum()
	}
	switch {
	case err != nil:
	case known.Digest != "" && known.Checksum == c.Checksum:
		c.Digest = known.Digest
	default:
		c.Digest, err = p.ensurer.digester.Object(c.WithoutIgnored(c.Desired))
	}
	if err != nil {
		return c.Subject.Undigestible(err)
	}
	return nil
}

// computeChecksum sets the checksum of desired. The seed differs in each process, so that nobody can
// construct two desired states with the same checksum; by chance, two have the same once in 2^64.
func (p *pass) computeChecksum() error {
	buffer, _ := forms.Get().(*[]byte)
	defer forms.Put(buffer)
	form, err := canon.AppendObject((*buffer)[:0], p.child.WithoutIgnored(p.child.Desired))
	if err != nil {
		return err
	}
	p.child.Checksum = maphash.Bytes(p.ensurer.seed, form)
	if cap(form) <= maxKeptForm {
		*buffer = form
	}
	return nil
}
