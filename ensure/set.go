package ensure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/backoff"
	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/kinds"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/hash"
	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/object"
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
	for i, c := range s.children {
		found, err := c.ensure(ctx)
		if err != nil {
			return results, published(err)
		}
		results.Children[i] = resultOf[client.Object](found, &c.Subject)
		results.kinds = append(results.kinds, c.Kind.GVK.Kind)
	}
	if s.prunesOnceReady && results.Readiness(nil).State != readiness.Ready {
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

// Prune makes Set delete objects of the given kinds that are not among the children. An object is
// deleted if the owner, by its UID, controls the object, and the object has the digest of our field
// owner. Objects of other people, operators and owners are never deleted. Objects that the operator
// creates for the same owner by other calls are deleted, so pass all children of a pruned kind to Set.
// Pruning begins when all children match, and stops at the first error. The order of the kinds is
// reversed, and the newest object of a kind is deleted first.
//
// Pass an empty object of each kind, such as &corev1.ConfigMap{}; unstructured objects need apiVersion
// and kind. Keep a kind in the list for as long as old objects of that kind may exist. The objects are
// listed from the cache, in the owner's namespace; a client without a cache sends one request for each
// kind in each call. The operator needs the verbs get, list, watch and delete for these kinds. A kind
// that the API server does not serve has no objects, as for Absent. If the cache strips managed fields,
// each object is read from the API server before it is deleted.
//
// Before the first deletion, Set reads the owner from the API server, which takes the verb get for the
// owner's kind. If the owner was replaced, is being deleted, or has another generation than the owner
// given to Set (another resourceVersion, if its kind has no generation), its children may have changed:
// the error is a Conflict, and nothing is deleted.
//
// The UID and the resourceVersion that were read are preconditions of each delete request. Dependents
// are deleted afterwards, unless Propagation specifies another policy. Adopted objects are Released, as
// by Absent, unless DeleteAdopted is given. Prune ignores objects without a digest, with the digest of
// another Store, or with managed fields that show no apply of our field owner: use Absent for them. The
// digest and the apply may be those of a former field owner that FormerFieldOwners names.
func Prune(kinds ...client.Object) Option {
	if len(kinds) == 0 {
		kinds = []client.Object{nil} // is refused
	}
	return func(o *options) { o.prune = append(o.prune, kinds...) }
}

// PruneOnceReady is Prune, except that Set deletes nothing until all children are ready, as package
// readiness defines it. Use it if children with new names replace those with former names, which
// continue to serve until then. The next call prunes when the children are ready, so the operator must
// watch their status: predicates.Owned passes those events.
//
//	ensure.PruneOnceReady(&appsv1.Deployment{}, &corev1.Service{})
//
// Prune and PruneOnceReady together wait for all their kinds.
func PruneOnceReady(kinds ...client.Object) Option {
	prune := Prune(kinds...)
	return func(o *options) {
		prune(o)
		o.pruneReady = true
	}
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
	children        []*child   // in order
	unwanted        []*removal // one for each kind to be pruned, in order
	prunesOnceReady bool
}

// memberKey tells children apart. The versions of a kind are views of the same objects.
type memberKey struct {
	kind schema.GroupKind
	key  types.NamespacedName
}

func memberOf(c *child) memberKey { return memberKey{c.Kind.GVK.GroupKind(), c.Subject.Key} }

func (e *Ensurer) newSet(owner client.Object, children []client.Object, o options) (*set, error) {
	if err := checkSetOptions(children, o); err != nil {
		return nil, err
	}
	s := &set{prunesOnceReady: o.pruneReady}
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
		c, err := e.newChild(desired, own)
		if err != nil {
			return nil, err
		}
		if s.has(memberOf(c)) {
			return nil, c.Subject.Refuse("", "occurs twice among the children")
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

func (s *set) has(member memberKey) bool {
	return slices.ContainsFunc(s.children, func(c *child) bool { return memberOf(c) == member })
}

// removeRest deletes what is no longer wanted.
func (s *set) removeRest(ctx context.Context) ([]Result[client.Object], error) {
	var removed []Result[client.Object]
	isOwnerCurrent := false
	for _, kind := range slices.Backward(s.unwanted) {
		members, err := kind.members(ctx)
		if kind.server.IsUninstalled(err) {
			continue // nor can there be objects of it
		}
		if err := kind.backoff.End(err, kind.server.Requests, false); err != nil {
			return removed, err
		}
		for _, live := range members {
			r := kind.named(live)
			if s.has(memberOf(r.child)) {
				continue
			}
			if live.GetDeletionTimestamp() == nil {
				err := r.contest.Try()
				if err == nil && !isOwnerCurrent {
					err = r.checkOwnerIsCurrent(ctx)
				}
				if err != nil {
					err = r.backoff.End(err, r.server.Requests, false)
					r.reporter.Ended(&r.server, layer.Outcome{}, err)
					return removed, err
				}
				isOwnerCurrent = true
			}
			found, err := r.removeMember(ctx, live)
			found, err = r.finish(ctx, found, err)
			if err != nil {
				return removed, err
			}
			if found.Operation == layer.Unchanged {
				continue
			}
			if found.Live == nil { // gone
				found.Live = live
			}
			removed = append(removed, resultOf[client.Object](found, &r.Subject))
		}
	}
	return removed, nil
}

// newRemovalOf returns the removal of objects of a kind that the owner may control. It has no name.
func (e *Ensurer) newRemovalOf(like client.Object, o options) (*removal, error) {
	o.prune, o.only = nil, nil
	if object.IsNil(like) {
		return nil, refuseCall("ensure.Prune needs an object of each kind, such as &corev1.ConfigMap{}")
	}
	c, err := e.identify(like, o)
	if err != nil {
		return nil, err
	}
	if c.Owner.GetDeletionTimestamp() != nil {
		return nil, c.Subject.Fail(ErrOwnerTerminating, "ensure", ownerName(c.Owner)+" is being deleted")
	}
	c.Subject.Key.Namespace, c.Subject.Key.Name = c.Owner.GetNamespace(), ""
	c.propagation = cmp.Or(c.propagation, metav1.DeletePropagationBackground)
	c.Desired, c.call = c.Kind.Empty(like), backoff.Prune
	r := &removal{withdrawal{c}}
	if _, err := r.emptyList(); err != nil { // before anything is written
		return nil, err
	}
	err = c.stampOwner()
	c.connect()
	return r, err
}

// named returns the removal of live.
func (r *removal) named(live client.Object) *removal {
	named := *r.child
	named.Subject.Key = client.ObjectKeyFromObject(live)
	named.connect()
	named.server.LastRead = live
	named.backoff.Begin(live)
	return &removal{withdrawal{&named}}
}

// members are the objects of the kind that were made for the owner, the newest first.
func (r *removal) members(ctx context.Context) ([]client.Object, error) {
	list, err := r.list(ctx)
	if err != nil {
		return nil, err
	}
	var members []client.Object
	err = meta.EachListItem(list, func(item runtime.Object) error {
		if live, ok := item.(client.Object); ok && r.isMember(live) {
			own, _ := live.DeepCopyObject().(client.Object) // the cache's is everybody's
			if kinds.IsDynamic(own) {
				own.GetObjectKind().SetGroupVersionKind(r.Kind.GVK)
			}
			members = append(members, own)
		}
		return nil
	})
	if err != nil {
		return nil, r.Subject.Request("list", err)
	}
	slices.SortFunc(members, func(a, b client.Object) int {
		return cmp.Or(b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time), cmp.Compare(b.GetName(), a.GetName()))
	})
	return members, nil
}

// list returns the objects of the kind in the namespace of the owner. The items belong to the cache.
func (r *removal) list(ctx context.Context) (client.ObjectList, error) {
	list, err := r.emptyList()
	if err != nil {
		return nil, err
	}
	return list, r.server.List(ctx, list, r.Owner.GetNamespace())
}

// emptyList returns a new list to read into.
func (r *removal) emptyList() (client.ObjectList, error) {
	gvk := r.Kind.GVK
	gvk.Kind += "List"
	switch r.Desired.(type) {
	case runtime.Unstructured:
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		return list, nil
	case *metav1.PartialObjectMetadata:
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk)
		return list, nil
	}
	obj, err := r.client.Scheme().New(gvk)
	list, ok := obj.(client.ObjectList)
	if err != nil || !ok {
		return nil, r.Subject.Refuse("", fmt.Sprintf("its kind cannot be pruned: %s is not a list type of the client's scheme", gvk.Kind))
	}
	return list, nil
}

// isMember reports whether this field owner, or a former name of this field owner, created live for
// this owner. A digest alone does not show that: Deployments copy their annotations to their
// ReplicaSets.
func (r *removal) isMember(live client.Object) bool {
	controller := metav1.GetControllerOfNoCopy(live)
	if controller == nil || !r.IsWanted(controller) {
		return false
	}
	if r.Operator.Store.Get(live) != "" {
		return !managedfields.IsDisowned(live, r.Operator.FieldOwner)
	}
	return slices.ContainsFunc(r.Operator.Former, func(name string) bool {
		digest := hash.DefaultStore(name).Get(live)
		mayGo := digest != "" && (r.deleteAdopted || !strings.HasPrefix(digest, layer.AdoptedMark))
		return mayGo && !managedfields.IsDisowned(live, name)
	})
}

// removeMember deletes live, unless live is no member any more: then the outcome is Unchanged.
func (r *removal) removeMember(ctx context.Context, live client.Object) (layer.Outcome, error) {
	if live.GetDeletionTimestamp() != nil {
		return r.removeOurFinalizers(ctx, live)
	}
	if managedfields.HasAny(live) {
		found, err := r.discard(ctx, live)
		if err == nil || !fault.IsRace(err) {
			return found, err
		}
		r.isMissingFromCache = true
	}
	// The cached copy is outdated, or has no managed fields, without which a copied digest looks like
	// ours. So the API server is asked.
	return r.removeFromServer(ctx, func(live client.Object) (layer.Outcome, error) {
		switch {
		case live == nil:
			return layer.Outcome{Operation: layer.Gone}, nil
		case !r.isMember(live):
			return layer.Outcome{Live: live, Operation: layer.Unchanged}, nil
		case live.GetDeletionTimestamp() != nil:
			return r.removeOurFinalizers(ctx, live)
		}
		return r.discard(ctx, live)
	})
}

// discard deletes live, or gives up our fields if live was adopted.
func (r *removal) discard(ctx context.Context, live client.Object) (layer.Outcome, error) {
	if _, adopted := r.Operator.Find(live); adopted && !r.deleteAdopted {
		return r.releaseObject(ctx, live)
	}
	return r.deleteLive(ctx, live, r.propagation)
}

// checkOwnerIsCurrent asks the server whether the owner is still the one that was given: a
// cache that is behind, such as that of a replica that has just become the leader, shows an
// older one, which may want other children.
func (r *removal) checkOwnerIsCurrent(ctx context.Context) error {
	switch current, end, err := r.server.ReadOwner(ctx); {
	case fault.IsKnown(err):
		return err
	case err != nil:
		failed := r.Subject.Request("prune", err)
		if r.kinds.IsSensitive(schema.FromAPIVersionAndKind(r.Controller.APIVersion, r.Controller.Kind).GroupKind()) {
			failed.Detail = answer.Describe(err)
		}
		failed.Detail = strings.TrimSuffix("cannot read "+ownerName(r.Owner)+": "+failed.Detail, ": ")
		return failed
	case end != "":
		return r.Subject.Conflict("prune", ownerName(r.Owner)+" "+end, nil)
	case isChanged(r.Owner, current):
		return r.Subject.Conflict("prune", ownerName(r.Owner)+" was changed meanwhile", nil)
	}
	return nil
}

// isChanged reports whether current may want something else than owner did, which is an
// earlier copy, or one that the caller made of the UID alone.
func isChanged(owner, current client.Object) bool {
	if owner.GetGeneration() != 0 {
		return owner.GetGeneration() != current.GetGeneration()
	}
	return owner.GetResourceVersion() != "" && owner.GetResourceVersion() != current.GetResourceVersion()
}
