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
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/ensure/internal/backoff"
	"github.com/trueup-go/trueup/ensure/internal/contest"
	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/kinds"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/object"
)

// A child is one desired object during a call.
type child struct {
	*Ensurer
	options
	layer.Child

	server  server.Session
	backoff backoff.Call
	contest contest.Guard
	call    string // by its name in package backoff

	last               memory.Record // the last answer of the API server that was known when live was read
	isMissingFromCache bool          // the cache did not show the object
	ours               bool          // live may be written without ensure.Adopt
	adopted            bool          // somebody else created live

	desiredWithDigest client.Object  // desired with its digest, once there is something to send
	lastApply         []byte         // the body of the last apply of desired, or nil
	unowned           *fieldpath.Set // the fields of live that nobody owns, if some are retired

	isUndecided bool // the API server could not judge the refused state
	isCreatable bool // a dry run found that the server would create desired but for live
	// isDriftRefused: the server only refuses to revert what others changed in live
	isDriftRefused bool
}

// newChild checks the arguments of the caller and stamps a copy of desired.
func (e *Ensurer) newChild(desired client.Object, o options) (*child, error) {
	c, err := e.identify(desired, o)
	if err != nil {
		return nil, err
	}
	if err := checkDesired(&c.Child, desired); err != nil {
		return nil, err
	}
	if err := c.options.check(&c.Subject); err != nil {
		return nil, err
	}
	if c.Owner != nil && c.Owner.GetDeletionTimestamp() != nil {
		return nil, c.Subject.Fail(ErrOwnerTerminating, "ensure", ownerName(c.Owner)+" is being deleted")
	}
	if err := place(&c.Child, desired); err != nil {
		return nil, err
	}
	if err := c.stamp(desired); err != nil {
		return nil, err
	}
	c.connect()
	c.loadRecord()
	if err := c.computeDigest(c.last); err != nil {
		return nil, err
	}
	return c, c.checkPaths()
}

// identify finds out which object is meant.
func (e *Ensurer) identify(obj client.Object, o options) (*child, error) {
	c := &child{}
	c.Ensurer, c.options = e, o
	c.Kind, c.Subject.IsSensitive, c.Older = kinds.None, true, o.migrateFrom
	if c.isNil {
		return nil, c.Subject.Refuse("", "an Option is nil")
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
		return nil, c.unknownKindError("it", err)
	}
	if o.controlled {
		err = e.checkOwner(&c.Child, o.owner)
		c.Owner = o.owner
	}
	return c, err
}

// connect makes what sends and watches the requests of a child whose desired state, key and controller are known.
func (c *child) connect() {
	c.backoff = backoff.Call{
		Table: c.attempts, Name: c.call, Child: &c.Child, Options: &c.options, Clock: c.clock,
	}
	c.contest = contest.Guard{
		Table: c.contests, Child: &c.Child, Server: &c.server, Clock: c.clock,
	}
	c.server = server.Session{
		Client: c.client, Reader: c.reader, Memory: c.memory, Child: &c.Child, Gate: &c.backoff,
	}
}

// unknownKindError returns the error for an object of unknown kind: a mistake in the code, or an API
// server that could not be asked.
func (c *child) unknownKindError(role string, err error) *fault.Error {
	unknown, ok := errors.AsType[*kinds.NoKindError](err)
	if !ok {
		return c.Subject.Request("ensure", err)
	}
	return c.Subject.UnknownKind(role, unknown.Unwrap())
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
func (c *child) stamp(desired client.Object) error {
	c.Desired = c.Kind.ShallowCopy(desired)
	if err := c.readOnce(); err != nil {
		return err
	}
	c.Desired.SetNamespace(c.Subject.Key.Namespace)
	if len(c.labels) > 0 {
		labels := maps.Clone(desired.GetLabels())
		if labels == nil {
			labels = make(map[string]string, len(c.labels))
		}
		maps.Copy(labels, c.labels)
		c.Desired.SetLabels(labels)
	}
	if c.Owner == nil {
		c.Controller = metav1.GetControllerOfNoCopy(c.Desired)
	} else if err := c.stampOwner(); err != nil {
		return err
	}
	c.splitOnce()
	return nil
}

func (c *child) stampOwner() error {
	owner, err := c.kinds.Of(c.Owner)
	if err != nil {
		return c.unknownKindError("the owner given to ensure.ControlledBy", err)
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
// Mostly, desired is the same as in the pass before, whose record is last. A checksum of its canonical
// form shows that for a tenth of the cost of a digest.
func (c *child) computeDigest(last memory.Record) error {
	err := c.Operator.Store.Set(c.Desired, "")
	if err == nil {
		err = c.computeChecksum()
	}
	switch {
	case err != nil:
	case last.Digest != "" && last.Checksum == c.Checksum:
		c.Digest = last.Digest
	default:
		c.Digest, err = c.digester.Object(c.WithoutIgnored(c.Desired))
	}
	if err != nil {
		return c.digestError(err)
	}
	return nil
}

// computeChecksum sets the checksum of desired. The seed differs in each process, so that nobody can
// construct two desired states with the same checksum; by chance, two have the same once in 2^64.
func (c *child) computeChecksum() error {
	buffer, _ := forms.Get().(*[]byte)
	defer forms.Put(buffer)
	form, err := canon.AppendObject((*buffer)[:0], c.WithoutIgnored(c.Desired))
	if err != nil {
		return err
	}
	c.Checksum = maphash.Bytes(c.seed, form)
	if cap(form) <= maxKeptForm {
		*buffer = form
	}
	return nil
}

// withDigest returns desired with its digest, as it is sent. A pass that sends nothing does not need the
// copy.
func (c *child) withDigest() (canon.Object, error) {
	if c.desiredWithDigest == nil {
		digest := c.Digest
		if c.adopted {
			digest = layer.AdoptedMark + digest
		}
		stamped := c.Kind.ShallowCopy(c.Desired)
		if err := c.Operator.Store.Set(stamped, digest); err != nil {
			return nil, c.digestError(err)
		}
		c.desiredWithDigest = stamped
	}
	return c.WithoutIgnored(c.desiredWithDigest), nil
}

func (c *child) digestError(err error) *fault.Error {
	return c.Subject.RefuseBecause(err, "cannot compute or store its digest: "+err.Error())
}
