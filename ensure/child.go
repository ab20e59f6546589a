package ensure

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/backoff"
	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/internal/delta"
)

// A child is one desired object during a call.
type child struct {
	*Ensurer
	kind
	options

	key         types.NamespacedName
	desired     client.Object          // a copy, stamped with namespace, owner and labels
	created     client.Object          // desired with the values that Once names, or nil
	unsent      []delta.Edit           // remove the values that Once names from desired
	kept        []delta.Edit           // add the parents of a value that stays to desired
	controller  *metav1.OwnerReference // that desired names, or nil
	stamped     client.Object          // desired with its digest, once there is something to send
	form        uint64                 // checksum of desired's canonical form
	digest      string
	last        memory.Record  // the last answer of the API server that was known when live was read
	lastApplied memory.Applied // by this Ensurer, for whichever owner
	seen        client.Object  // the object as it was read last, or nil
	unseen      bool           // the cache did not show the object
	ours        bool           // live may be written without ensure.Adopt
	adopted     bool           // somebody else created live
	alone       bool           // a dry run found that the server would create desired but for live
	unsure      bool           // the API server could not judge the refused state
	hasTry      bool           // the call may write during a contest
	requests    int            // sent so far, cached reads excepted

	call     string
	isRead   bool
	shown    client.Object              // live at the beginning of the call, nil if there was none
	before   *backoff.Attempt[question] // the last one when the call began; nil if there was none
	answered error                      // the error of the call while it backs off
}

func (c *child) id() memory.ChildKey { return memory.ChildKey{GVK: c.gvk, Key: c.key} }

// ownedID tells calls on behalf of different owners apart.
func (c *child) ownedID() memory.OwnedKey {
	id := memory.OwnedKey{ChildKey: c.id()}
	if c.controller != nil {
		id.Owner = c.controller.UID
	}
	return id
}

// newChild checks the arguments of the caller and stamps a copy of desired.
func (e *Ensurer) newChild(desired client.Object, o options) (*child, error) {
	c, err := e.identify(desired, o)
	if err != nil {
		return nil, err
	}
	if err := c.checkDesired(desired); err != nil {
		return nil, err
	}
	if err := c.checkOptions(); err != nil {
		return nil, err
	}
	if c.controlled && c.owner.GetDeletionTimestamp() != nil {
		return nil, c.fail(ErrOwnerTerminating, "ensure", c.ownerName()+" is being deleted")
	}
	if err := c.place(desired); err != nil {
		return nil, err
	}
	if err := c.stamp(desired); err != nil {
		return nil, err
	}
	return c, c.checkHandover()
}

// identify finds out which object is meant.
func (e *Ensurer) identify(obj client.Object, o options) (*child, error) {
	c := &child{Ensurer: e, options: o}
	if c.isNil {
		return nil, c.refuse("", "an Option is nil")
	}
	if isNil(obj) {
		return nil, c.refuse("", "desired is nil")
	}
	if e == nil || e.memory == nil {
		return nil, c.refuse("", "the Ensurer was not made by ensure.New")
	}
	if !e.isReadable(obj) {
		return nil, c.refuse("", fmt.Sprintf("desired is a %T: it must be a pointer to a struct that embeds no pointer", obj))
	}
	c.key = client.ObjectKeyFromObject(obj)
	if e.misuse != "" {
		return nil, c.refuse("", e.misuse)
	}
	kind, err := e.kindOf(obj)
	c.kind = kind
	if err != nil {
		return nil, c.unknownKind("it", err)
	}
	if c.controlled {
		err = c.checkOwner()
	}
	return c, err
}

// checkOptions refuses those that mean nothing for an object that is wanted.
func (c *child) checkOptions() error {
	switch {
	case c.propagation != "":
		return c.refuse("", "ensure.Propagation is for ensure.Absent and ensure.Prune: Object deletes nothing")
	case c.deleteAdopted:
		return c.refuse("", "ensure.DeleteAdopted is for ensure.Absent and ensure.Prune: Object deletes nothing")
	case c.prune != nil:
		return c.refuse("", "ensure.Prune is for ensure.Set")
	case c.only != nil:
		return c.refuse("", "ensure.OnlyFor names another object: give it the very pointer that ensure.Object is given")
	case c.ifMissing && (c.ifExists || c.adopt || c.recreate != "" || c.handsOver()):
		return c.refuse("", "ensure.IfMissing writes nothing to what exists: it goes with ensure.ControlledBy and ensure.DryRun only")
	case c.onDrift && c.recreate == "":
		return c.refuse("", "ensure.RecreateOnDrift has no meaning without ensure.Recreate")
	case c.recreate != "" && c.recreate != metav1.DeletePropagationBackground && c.recreate != metav1.DeletePropagationOrphan:
		return c.refuse("", fmt.Sprintf("ensure.Recreate takes Background or Orphan, not %q", c.recreate))
	}
	return nil
}

// checkDesired refuses fields that an apply cannot contain, and fields that only a copy of a live
// object has.
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
