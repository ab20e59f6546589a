package ensure

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Set creates or updates the children of owner in order, as Object does with
// ControlledBy(owner). It stops at the first error, which is the *Error of that child, and returns
// the Results so far.
//
//	deployment, service := deploymentFor(site), serviceFor(site)
//	children, err := ensure.Set(ctx, e, site, []client.Object{deployment, service},
//		ensure.Prune(&corev1.ConfigMap{}))
//	if err != nil {
//		return ensure.Retry(ctx, err)
//	}
//	deployed := readiness.Of(ensure.ResultOf(children, deployment).Live)
//
// opts apply to each child; OnlyFor limits options to one of them. With Prune, objects that are no
// longer among the children are deleted once all children match.
//
// A child that Object would refuse (ErrRefused), and two children of the same kind and name, are
// found before anything is written.
//
// While a child fails, as with ErrContested, ErrImmutable or ErrForeign, the children after it are
// not ensured and nothing is pruned. Put a child that others fight over last, or ensure it in a call
// of its own and join the errors.
func Set(ctx context.Context, e *Ensurer, owner client.Object, children []client.Object, opts ...Option) (Results, error) {
	results := Results{
		Children: make([]Result[client.Object], len(children)), desired: children, found: make([]outcome, len(children)),
	}
	s, err := e.newSet(owner, children, resolve(opts))
	if err != nil {
		return results, err
	}
	for i, c := range s.children {
		found, err := c.ensure(ctx)
		if err != nil {
			return results, err
		}
		results.Children[i], results.found[i] = resultOf[client.Object](found), found
	}
	results.Pruned, err = s.removeRest(ctx)
	return results, err
}

// OnlyFor limits options to one of the children given to Set, which is identified by its pointer:
//
//	ensure.OnlyFor(statefulSet, ensure.Recreate(metav1.DeletePropagationOrphan))
//
// Object accepts OnlyFor for its only child, because Recreate requires it for some kinds.
func OnlyFor(child client.Object, opts ...Option) Option {
	return func(o *options) { o.only = append(o.only, narrowed{child, opts}) }
}

// Results are the outcome of Set.
type Results struct {
	// Children holds a Result for each child, in their order. Those of the child that failed
	// and of the ones that come after it are zero: their Operation is empty.
	Children []Result[client.Object]
	// Pruned are the objects that were no longer wanted, in the order in which they were
	// deleted: Operation is Deleting until one is gone, Gone for one that somebody else
	// deleted first, or Released for one that was adopted. Live is the object as it was last
	// seen; without a deletionTimestamp the delete was sent just now.
	Pruned []Result[client.Object]

	desired []client.Object
	found   []outcome // of Children
}

// ResultOf returns the Result of a child that was given to Set, which is identified by its
// pointer. The Result is zero if child was not given to Set, or if Set stopped before it.
func ResultOf[T client.Object](results Results, child T) Result[T] {
	i := slices.IndexFunc(results.desired, func(desired client.Object) bool { return isSame(desired, child) })
	if i < 0 {
		return Result[T]{}
	}
	return resultOf[T](results.found[i])
}

// A set is a call of Set.
type set struct {
	children []*child   // in order
	unwanted []*removal // one for each kind to be pruned, in order
}

// memberKey tells children apart. The versions of a kind are views of the same objects.
type memberKey struct {
	kind schema.GroupKind
	key  types.NamespacedName
}

func (c *child) member() memberKey { return memberKey{c.gvk.GroupKind(), c.key} }

func (e *Ensurer) newSet(owner client.Object, children []client.Object, o options) (*set, error) {
	if err := checkSetOptions(e, children, o); err != nil {
		return nil, err
	}
	s := &set{}
	for _, desired := range children {
		own := o.of(desired)
		switch {
		case own.controlled:
			return nil, e.refuseCall(ownerTwice)
		case own.prune != nil, own.propagation != "", own.deleteAdopted:
			return nil, e.refuseCall(
				"ensure.Prune, ensure.Propagation and ensure.DeleteAdopted are for the whole Set, not for ensure.OnlyFor")
		}
		own.controlled, own.owner = true, owner
		c, err := e.newChild(desired, own)
		if err != nil {
			return nil, err
		}
		if s.has(c.member()) {
			return nil, c.refuse("", "is there twice among the children")
		}
		s.children = append(s.children, c)
	}
	o.controlled, o.owner = true, owner
	for _, kind := range o.prune {
		c, err := e.newRemovalOf(kind, o)
		if err != nil {
			return nil, err
		}
		s.unwanted = append(s.unwanted, c)
	}
	return s, nil
}

func (s *set) has(member memberKey) bool {
	return slices.ContainsFunc(s.children, func(c *child) bool { return c.member() == member })
}

// checkSetOptions refuses options that have no effect in a Set.
func checkSetOptions(e *Ensurer, children []client.Object, o options) error {
	switch {
	case o.controlled:
		return e.refuseCall(ownerTwice)
	case o.propagation != "" && o.prune == nil:
		return e.refuseCall("ensure.Propagation has no meaning without ensure.Prune")
	case o.deleteAdopted && o.prune == nil:
		return e.refuseCall("ensure.DeleteAdopted has no meaning without ensure.Prune")
	}
	for _, part := range o.only {
		if !slices.ContainsFunc(children, part.isFor) {
			return e.refuseCall("ensure.OnlyFor names none of the children: give it the very pointer that ensure.Set is given")
		}
	}
	return nil
}

const ownerTwice = "ensure.ControlledBy has no meaning here: the owner is an argument of ensure.Set"
