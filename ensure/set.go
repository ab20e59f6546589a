package ensure

import (
	"cmp"
	"context"
	"errors"
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
// ensured and nothing is pruned. Put a contested child last, or give ContinueOnError.
func Set(ctx context.Context, e *Ensurer, owner client.Object, children []client.Object, opts ...SetOption) (Results, error) {
	results := Results{Children: make([]Result[client.Object], len(children)), desired: children}
	s, err := e.newSet(owner, children, resolve(opts))
	if err != nil {
		return results, published(err)
	}
	results.details, err = s.ensure(ctx, results.Children)
	if err != nil {
		return results, err
	}
	isGone := func(child Result[client.Object]) bool { return child.Operation == Gone }
	if s.prunesWhenReady && (results.Readiness(nil).State != readiness.Ready || slices.ContainsFunc(results.Children, isGone)) {
		return results, nil
	}
	results.Pruned, err = s.removeRest(ctx)
	return results, published(err)
}

// OnlyFor limits options to one of the children given to Set. The pointer identifies the child:
//
//	ensure.OnlyFor(statefulSet, ensure.Recreate(metav1.DeletePropagationOrphan))
func OnlyFor(child client.Object, opts ...ChildOption) SetOption {
	return setOption(func(o *options) { o.only = append(o.only, narrowed{child, opts}) })
}

// ContinueOnError makes Set ensure the children after one that failed, too, in order. The error joins those
// of the children: errors.Join makes it, and each is the *Error of its child. Reason is that of the first
// child that failed, and Retry waits for the first of the errors. Results has a Result for each child that
// succeeded. Nothing is pruned while a child fails.
//
// Set still stops if the next child would fail alike: if the owner is being deleted (ErrOwnerTerminating),
// or if ctx is done.
//
// With ContinueOnError, no child may rely on those before it. Put first whatever the others use, so that
// they find it in the usual case. If a child must not exist without another, such as a Job without the
// NetworkPolicy that confines its pods, ensure the latter in an earlier call.
func ContinueOnError() SetOption {
	return setOption(func(o *options) { o.continues = true })
}

// Results are the outcome of Set.
type Results struct {
	// Children has a Result for each child, in the order of the children. The Result of a child that failed,
	// or that Set did not come to, is zero: its Operation is empty.
	Children []Result[client.Object]
	// Pruned has the objects that are no longer desired, in the order of their deletion. Operation is
	// Deleting until an object is gone, Gone if somebody else deleted the object first, or Released if
	// the object was adopted. Live is the last known copy. If Operation is Deleting and Live has no
	// deletionTimestamp, this call sent the delete.
	Pruned []Result[client.Object]

	desired []client.Object
	details []detail // of the children, unless Set refused the call
}

// A detail is what Results know of a child beside its Result.
type detail struct {
	kind string
	err  error // if the child failed
}

// ResultOf returns the Result of a child that was given to Set. The pointer identifies the child. The
// Result is zero if child was not given to Set, if it failed, or if Set stopped before it.
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
	found, _ := r.first(nil, func(child Result[client.Object], err error) (readiness.Readiness, error) {
		return child.Readiness(err), nil
	})
	return found
}

// Explain is Readiness by Result.Explain: the reason comes from the pods and the events of a child.
//
// children are some of those that Set got, for a condition about a part of them. Then err only counts for
// the children that were not ensured, and comes after an earlier child that is not Ready. Of a joined err,
// only the error of the child itself counts:
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
	return part.first(err, func(child Result[client.Object], err error) (readiness.Readiness, error) {
		return child.Explain(ctx, reader, err)
	})
}

// first returns the first readiness that is not Ready, or Ready. err counts for a child that Set did not come to.
func (r Results) first(
	err error, readinessOf func(Result[client.Object], error) (readiness.Readiness, error),
) (readiness.Readiness, error) {
	for i, child := range r.Children {
		var known detail
		if i < len(r.details) {
			known = r.details[i]
		}
		if child.Operation == Gone {
			continue
		}
		found, explainErr := readinessOf(child, cmp.Or(known.err, err))
		if found.State == readiness.Ready {
			continue
		}
		if child.Operation != "" && known.kind != "" {
			found.Message = fmt.Sprintf("%s %q: %s", known.kind, child.Live.GetName(), found.Message)
		}
		return found, explainErr
	}
	return readiness.Readiness{State: readiness.Ready, Reason: string(readiness.Ready), Message: "all children are ready"}, nil
}

// part returns the Results of some children. A child that was not given to Set was not ensured.
func (r Results) part(children []client.Object) Results {
	part := Results{Children: make([]Result[client.Object], len(children)), details: make([]detail, len(children))}
	for to, child := range children {
		if from := r.indexOf(child); from >= 0 && from < len(r.details) {
			part.Children[to], part.details[to] = r.Children[from], r.details[from]
		}
	}
	return part
}

// A set is a call of Set.
type set struct {
	children        []*pass    // in order
	unwanted        []*removal // one for each kind to be pruned, in order
	prunesWhenReady bool
	continues       bool // after an error
}

// childKey tells children apart. The versions of a kind are views of the same objects.
type childKey struct {
	kind schema.GroupKind
	key  types.NamespacedName
}

func keyOf(c *layer.Child) childKey { return childKey{c.Kind.GVK.GroupKind(), c.Subject.Key} }

func (e *Ensurer) newSet(owner client.Object, children []client.Object, o options) (*set, error) {
	for _, part := range o.only {
		if !slices.ContainsFunc(children, part.isFor) {
			return nil, refuseCall("ensure.OnlyFor names none of the children: pass a pointer that ensure.Set got")
		}
	}
	o.controlled, o.owner = true, owner
	s := &set{prunesWhenReady: o.pruneReady, continues: o.continues}
	for _, desired := range children {
		p, err := e.newPass(desired, o.forChild(desired))
		if err != nil {
			return nil, err
		}
		if s.has(keyOf(&p.child)) {
			return nil, p.child.Subject.Refuse("", "occurs twice among the children")
		}
		s.children = append(s.children, p)
	}
	for _, kind := range o.prune {
		c, err := e.newRemovalOf(kind, o)
		if err != nil {
			return nil, err
		}
		s.unwanted = append(s.unwanted, c)
	}
	return s, nil
}

// ensure ensures the children, and puts the result of each into results. The error is as callers get it.
func (s *set) ensure(ctx context.Context, results []Result[client.Object]) ([]detail, error) {
	details := make([]detail, len(s.children))
	for i, p := range s.children {
		details[i].kind = p.child.Kind.GVK.Kind
	}
	var errs []error
	for i, p := range s.children {
		found, err := p.ensure(ctx)
		if err == nil {
			if s.prunes(p.child.Kind.GVK.GroupKind()) {
				p.layers.noteMade(found)
			}
			results[i] = resultOf[client.Object](found, &p.child.Subject)
			continue
		}
		err = published(err)
		if !s.continues {
			return details, err
		}
		details[i].err = err
		errs = append(errs, err)
		if ctx.Err() != nil || errors.Is(err, ErrOwnerTerminating) {
			break
		}
	}
	return details, errors.Join(errs...)
}

func (s *set) has(key childKey) bool {
	return slices.ContainsFunc(s.children, func(p *pass) bool { return keyOf(&p.child) == key })
}

// prunes reports whether objects of a kind are deleted that are no longer wanted.
func (s *set) prunes(kind schema.GroupKind) bool {
	return slices.ContainsFunc(s.unwanted, func(r *removal) bool { return r.pass.child.Kind.GVK.GroupKind() == kind })
}
