package ensure

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/memory"
)

// A child is one desired object during a call.
type child struct {
	observation

	lastApplied memory.Applied // by this Ensurer, for whichever owner
	alone       bool           // a dry run found that the server would create desired but for live
	hasTry      bool           // the call may write during a contest
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
	c.recall()
	if err := c.computeDigest(c.last); err != nil {
		return nil, err
	}
	return c, c.checkHandover()
}

// identify finds out which object is meant.
func (e *Ensurer) identify(obj client.Object, o options) (*child, error) {
	c := &child{}
	c.target = target{Ensurer: e, options: o}
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
