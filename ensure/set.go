package ensure

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/status/readiness"
)

// Set creates or updates the children of owner in order, as Object does with ControlledBy(owner). Set
// stops at the first error, which is the *Error of the failed child, and returns the Results so far.
//
//	deployment, service := deploymentFor(site), serviceFor(site)
//	children, err := ensure.Set(ctx, e, site, []client.Object{deployment, service},
//		ensure.Prune(&corev1.ConfigMap{}))
//	if err != nil {
//		return ensure.Retry(ctx, err)
//	}
//	set.Child(conditions, "Deployed", ensure.ResultOf(children, deployment).Readiness(nil))
//
// opts apply to each child; OnlyFor limits options to one child. With Prune, objects that are no longer
// among the children are deleted once all children match.
//
// Before Set writes anything, it refuses a child that Object would refuse (ErrRefused), and two
// children of the same kind and name.
//
// While a child fails, as with ErrContested, ErrImmutable or ErrForeign, the children after it are not
// ensured and nothing is pruned. Put a contested child last, or ensure it in a separate call and join
// the errors.
func Set(ctx context.Context, e *Ensurer, owner client.Object, children []client.Object, opts ...Option) (Results, error) {
	results := Results{Children: make([]Result[client.Object], len(children)), desired: children}
	s, err := e.newSet(owner, children, resolve(opts))
	if err != nil {
		return results, published(err)
	}
	for i, p := range s.children {
		found, err := p.ensure(ctx)
		if err != nil {
			return results, published(err)
		}
		results.Children[i] = resultOf[client.Object](found, &p.child.Subject)
		results.kinds = append(results.kinds, p.child.Kind.GVK.Kind)
	}
	if s.prunesWhenReady && results.Readiness(nil).State != readiness.Ready {
		return results, nil
	}
	results.Pruned, err = s.removeRest(ctx)
	return results, published(err)
}

// OnlyFor limits options to one of the children given to Set. The pointer identifies the child:
//
//	ensure.OnlyFor(statefulSet, ensure.Recreate(metav1.DeletePropagationOrphan))
//
// Object accepts OnlyFor for its only child, because Recreate requires OnlyFor for some kinds.
func OnlyFor(child client.Object, opts ...Option) Option {
	return func(o *options) { o.only = append(o.only, narrowed{child, opts}) }
}

// Results are the outcome of Set.
type Results struct {
	// Children has a Result for each child, in the order of the children. The Results of a failed child
	// and of all later children are zero: their Operation is empty.
	Children []Result[client.Object]
	// Pruned has the objects that are no longer desired, in the order of their deletion. Operation is
	// Deleting until an object is gone, Gone if somebody else deleted the object first, or Released if
	// the object was adopted. Live is the last known copy. If Operation is Deleting and Live has no
	// deletionTimestamp, this call sent the delete.
	Pruned []Result[client.Object]

	desired []client.Object
	kinds   []string // of the children that were ensured
}

// ResultOf returns the Result of a child that was given to Set. The pointer identifies the child. The
// Result is zero if child was not given to Set, or if Set stopped before it.
func ResultOf[T client.Object](results Results, child T) Result[T] {
	i := results.indexOf(child)
	if i < 0 || i >= len(results.Children) {
		return Result[T]{}
	}
	found := results.Children[i]
	live, _ := found.Live.(T)
	return Result[T]{
		Live: live, Operation: found.Operation, Cause: found.Cause, Changes: found.Changes, Kept: found.Kept, Stale: found.Stale,
	}
}

// indexOf returns the index of a child that was given to Set, or -1.
func (r Results) indexOf(child client.Object) int {
	return slices.IndexFunc(r.desired, func(desired client.Object) bool { return isSame(desired, child) })
}

// hasStale lets Retry take Results.
func (r Results) hasStale() bool {
	for _, child := range r.Children {
		if child.Stale {
			return true
		}
	}
	return false
}

// Readiness returns the readiness of all children, for a condition. r and err are the results of Set:
//
//	children, err := ensure.Set(ctx, e, site, []client.Object{deployment, service})
//	set.Child(conditions, "Deployed", children.Readiness(err))
//
// The readiness is
//
//   - InProgress, with the Reason and the text of err, if Set failed;
//   - otherwise that of the first child that is not Ready, by Result.Readiness. The message begins with
//     the kind and the name of the child. A child that is Gone, because of IfExists, does not count.
//   - Ready if there is no such child.
func (r Results) Readiness(err error) readiness.Readiness {
	if err != nil {
		return Result[client.Object]{}.Readiness(err)
	}
	found, _ := r.first(func(child Result[client.Object]) (readiness.Readiness, error) { return child.Readiness(nil), nil })
	return found
}

// Explain is Readiness by Result.Explain: the reason comes from the pods and the events of a child.
//
// children are some of those that Set got, for a condition about a part of them. Then err only counts for
// the children that were not ensured, and comes after an earlier child that is not Ready:
//
//	database, explainErr := children.Explain(ctx, r.client, err, databaseService, statefulSet)
func (r Results) Explain(
	ctx context.Context, reader client.Reader, err error, children ...client.Object,
) (found readiness.Readiness, explainErr error) {
	part := r
	if len(children) > 0 {
		part = r.part(children)
	} else if err != nil {
		return Result[client.Object]{}.Explain(ctx, reader, err)
	}
	return part.first(func(child Result[client.Object]) (readiness.Readiness, error) { return child.Explain(ctx, reader, err) })
}

// first returns the first readiness that is not Ready, or Ready.
func (r Results) first(readinessOf func(Result[client.Object]) (readiness.Readiness, error)) (readiness.Readiness, error) {
	for i, child := range r.Children {
		if child.Operation == Gone {
			continue
		}
		found, err := readinessOf(child)
		if found.State == readiness.Ready {
			continue
		}
		if child.Operation != "" && i < len(r.kinds) {
			found.Message = fmt.Sprintf("%s %q: %s", r.kinds[i], child.Live.GetName(), found.Message)
		}
		return found, err
	}
	return readiness.Readiness{State: readiness.Ready, Reason: string(readiness.Ready), Message: "all children are ready"}, nil
}

// part returns the Results of some children. A child that was not given to Set was not ensured.
func (r Results) part(children []client.Object) Results {
	part := Results{Children: make([]Result[client.Object], len(children)), kinds: make([]string, len(children))}
	for to, child := range children {
		if from := r.indexOf(child); from >= 0 && from < len(r.kinds) {
			part.Children[to], part.kinds[to] = r.Children[from], r.kinds[from]
		}
	}
	return part
}

// A set is a call of Set.
type set struct {
	children        []*pass    // in order
	unwanted        []*removal // one for each kind to be pruned, in order
	prunesWhenReady bool
}

// childKey tells children apart. The versions of a kind are views of the same objects.
type childKey struct {
	kind schema.GroupKind
	key  types.NamespacedName
}

func keyOf(c *layer.Child) childKey { return childKey{c.Kind.GVK.GroupKind(), c.Subject.Key} }

func (e *Ensurer) newSet(owner client.Object, children []client.Object, o options) (*set, error) {
	if err := checkSetOptions(children, o); err != nil {
		return nil, err
	}
	s := &set{prunesWhenReady: o.pruneReady}
	for _, desired := range children {
		own := o.of(desired)
		switch {
		case own.controlled:
			return nil, refuseCall(ownerTwice)
		case own.prune != nil, own.propagation != "", own.deleteAdopted:
			return nil, refuseCall(
				"ensure.Prune, ensure.Propagation and ensure.DeleteAdopted are for the whole Set, not for ensure.OnlyFor")
		}
		own.controlled, own.owner = true, owner
		p, err := e.newPass(desired, own)
		if err != nil {
			return nil, err
		}
		if s.has(keyOf(&p.child)) {
			return nil, p.child.Subject.Refuse("", "occurs twice among the children")
		}
		s.children = append(s.children, p)
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

// checkSetOptions refuses options that have no effect in a Set.
func checkSetOptions(children []client.Object, o options) error {
	switch {
	case o.controlled:
		return refuseCall(ownerTwice)
	case o.propagation != "" && o.prune == nil:
		return refuseCall("ensure.Propagation has no meaning without ensure.Prune")
	case o.deleteAdopted && o.prune == nil:
		return refuseCall("ensure.DeleteAdopted has no meaning without ensure.Prune")
	}
	for _, part := range o.only {
		if !slices.ContainsFunc(children, part.isFor) {
			return refuseCall("ensure.OnlyFor names none of the children: pass a pointer that ensure.Set got")
		}
	}
	return nil
}

const ownerTwice = "ensure.ControlledBy has no meaning here: the owner is an argument of ensure.Set"

func (s *set) has(key childKey) bool {
	return slices.ContainsFunc(s.children, func(p *pass) bool { return keyOf(&p.child) == key })
}
