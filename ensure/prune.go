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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/kinds"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/object"
)

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
// A cache may show a new object later than in the next call. If this Ensurer made an object in a call of Set
// with Prune for its kind, and no list has shown the object since, it is read from the API server once it
// is no longer among the children. Objects that were made in another way, or by another process, are deleted
// when a list shows them: in the reconcile for the event that the cache gets then.
//
// Before the first deletion, Set reads the owner from the API server, which takes the verb get for the
// owner's kind. If the owner was replaced, is being deleted, or has another generation than the owner
// given to Set (another resourceVersion, if its kind has no generation), its children may have changed:
// the error is a Conflict, and nothing is deleted.
//
// The UID and the resourceVersion that were read are preconditions of each delete request. Dependents
// are deleted afterwards, unless Pruning.Propagation specifies another policy. Adopted objects are
// Released, as by Absent, unless Pruning.DeleteAdopted is called. Prune ignores objects without a digest,
// or with managed fields that show no apply of our field owner: use Absent for them. The digest may also
// be where it is by default, and digest and apply may be those of a former field owner that
// FormerFieldOwners names.
//
// If Set gets Prune twice, the kinds are joined. WhenReady and DeleteAdopted of either hold for all kinds,
// and so does the last Propagation.
func Prune(kinds ...client.Object) Pruning { return Pruning{kinds: kinds} }

// A Pruning is the SetOption that Prune returns. Each method returns a changed copy:
//
//	ensure.Prune(&appsv1.Deployment{}, &corev1.Service{}).WhenReady()
type Pruning struct {
	kinds         []client.Object
	whenReady     bool
	propagation   metav1.DeletionPropagation
	deleteAdopted bool
}

// WhenReady makes Set delete nothing until all children are ready, as package readiness defines it. Use it
// if children with new names replace those with former names, which continue to serve until then. The next
// call prunes when the children are ready, so the operator must watch their status: predicates.Owned
// passes those events.
func (p Pruning) WhenReady() Pruning {
	p.whenReady = true
	return p
}

// Propagation decides what happens to the dependents of a pruned object, as the option Propagation does
// for Absent.
func (p Pruning) Propagation(policy metav1.DeletionPropagation) Pruning {
	p.propagation = policy
	return p
}

// DeleteAdopted makes Set delete adopted objects, which somebody else created. Without DeleteAdopted, Set
// only gives up our fields.
func (p Pruning) DeleteAdopted() Pruning {
	p.deleteAdopted = true
	return p
}

func (Pruning) isForSet() {}

func (o *options) addPruning(p Pruning) {
	if len(p.kinds) == 0 {
		p.kinds = []client.Object{nil} // is refused
	}
	o.prune = append(o.prune, p.kinds...)
	o.pruneReady = o.pruneReady || p.whenReady
	o.propagation = cmp.Or(p.propagation, o.propagation)
	o.deleteAdopted = o.deleteAdopted || p.deleteAdopted
}

// removeRest deletes what is no longer wanted.
func (s *set) removeRest(ctx context.Context) ([]Result[client.Object], error) {
	var removed []Result[client.Object]
	isOwnerCurrent := false
	for _, kind := range slices.Backward(s.unwanted) {
		members, err := kind.members(ctx)
		if kind.pass.server.IsUninstalled(err) {
			continue // nor can there be objects of it
		}
		if _, err := kind.pass.end(ctx, layer.Outcome{}, err); err != nil {
			return removed, err
		}
		for _, live := range members {
			r := kind.named(live)
			if s.has(keyOf(&r.pass.child)) {
				continue
			}
			if live.GetDeletionTimestamp() == nil {
				err := r.pass.layers.mayWrite()
				if err == nil && !isOwnerCurrent {
					err = r.checkOwnerIsCurrent(ctx)
				}
				if err != nil {
					_, err = r.pass.end(ctx, layer.Outcome{}, err)
					return removed, err
				}
				isOwnerCurrent = true
			}
			found, err := r.removeMember(ctx, live)
			found, err = r.pass.endRemoval(ctx, found, err)
			if err != nil {
				return removed, err
			}
			r.pass.layers.forgetMade(live)
			if found.Operation == layer.Unchanged || found.Live == nil && isUnlisted(live) {
				continue
			}
			if found.Live == nil { // gone
				found.Live = live
			}
			removed = append(removed, resultOf[client.Object](found, &r.pass.child.Subject))
		}
	}
	return removed, nil
}

// newRemovalOf returns the removal of objects of a kind that the owner may control. It has no name.
func (e *Ensurer) newRemovalOf(like client.Object, o options) (*removal, error) {
	if object.IsNil(like) {
		return nil, refuseCall("ensure.Prune needs an object of each kind, such as &corev1.ConfigMap{}")
	}
	p, err := e.identify(like, o)
	if err != nil {
		return nil, err
	}
	c := &p.child
	if c.Owner.GetDeletionTimestamp() != nil {
		return nil, c.Subject.Fail(ErrOwnerTerminating, "ensure", ownerName(c.Owner)+" is being deleted")
	}
	c.Subject.Key.Namespace, c.Subject.Key.Name = c.Owner.GetNamespace(), ""
	c.Desired = c.Kind.Empty(like)
	r := &removal{p}
	if _, err := r.emptyList(); err != nil { // before anything is written
		return nil, err
	}
	err = p.stampOwner()
	p.options.propagation = cmp.Or(o.propagation, metav1.DeletePropagationBackground)
	p.connect(layer.Prune)
	return r, err
}

// named returns the removal of live.
func (r *removal) named(live client.Object) *removal {
	named := &pass{ensurer: r.pass.ensurer, options: r.pass.options, child: r.pass.child}
	named.child.Subject.Key = client.ObjectKeyFromObject(live)
	named.connect(layer.Prune)
	named.server.LastRead, named.server.IsCacheBehind = live, isUnlisted(live)
	named.layers.begin(live)
	return &removal{named}
}

// members are the objects of the kind that were made for the owner, the newest first. Those that no list has shown come first.
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
				own.GetObjectKind().SetGroupVersionKind(r.pass.child.Kind.GVK)
			}
			members = append(members, own)
		}
		return nil
	})
	if err != nil {
		return nil, r.pass.child.Subject.Request("list", err)
	}
	slices.SortFunc(members, func(a, b client.Object) int {
		return cmp.Or(b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time), cmp.Compare(b.GetName(), a.GetName()))
	})
	return append(r.pass.layers.unlisted(list), members...), nil
}

// isUnlisted reports whether live is an object that no list has shown: it has a name and a UID only.
func isUnlisted(live client.Object) bool { return live.GetResourceVersion() == "" }

// list returns the objects of the kind in the namespace of the owner. The items belong to the cache.
func (r *removal) list(ctx context.Context) (client.ObjectList, error) {
	list, err := r.emptyList()
	if err != nil {
		return nil, err
	}
	return list, r.pass.server.List(ctx, list, r.pass.child.Owner.GetNamespace())
}

// emptyList returns a new list to read into.
func (r *removal) emptyList() (client.ObjectList, error) {
	gvk := r.pass.child.Kind.GVK
	gvk.Kind += "List"
	switch r.pass.child.Desired.(type) {
	case runtime.Unstructured:
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		return list, nil
	case *metav1.PartialObjectMetadata:
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk)
		return list, nil
	}
	obj, err := r.pass.ensurer.client.Scheme().New(gvk)
	list, ok := obj.(client.ObjectList)
	if err != nil || !ok {
		return nil, r.pass.child.Subject.Refuse("",
			fmt.Sprintf("its kind cannot be pruned: %s is not a list type of the client's scheme", gvk.Kind))
	}
	return list, nil
}

// isMember reports whether this field owner, or a former name of this field owner, created live for
// this owner. A digest alone does not show that: Deployments copy their annotations to their
// ReplicaSets.
func (r *removal) isMember(live client.Object) bool {
	controller := metav1.GetControllerOfNoCopy(live)
	if controller == nil || !r.pass.child.IsWanted(controller) {
		return false
	}
	operator := r.pass.child.Operator
	digest, isAdopted := operator.Find(live)
	mayGo := !isAdopted || r.pass.options.deleteAdopted || !managedfields.IsDisowned(live, operator.FieldOwner)
	return digest != "" && mayGo
}

// removeMember deletes live, unless live is no member any more: then the outcome is Unchanged. Without managed fields, a copied
// digest looks like ours, so the API server is asked.
func (r *removal) removeMember(ctx context.Context, live client.Object) (layer.Outcome, error) {
	cached := live
	if live.GetDeletionTimestamp() == nil && !managedfields.HasAny(live) {
		cached = nil
	}
	return r.removeLatest(ctx, cached, func(live client.Object) (layer.Outcome, error) {
		switch {
		case live == nil:
			return layer.Outcome{Operation: layer.Gone}, nil
		case !r.isMember(live):
			return layer.Outcome{Live: live, Operation: layer.Unchanged}, nil
		case live.GetDeletionTimestamp() != nil:
			return r.dropFinalizers(ctx, live)
		}
		return r.discard(ctx, live)
	})
}

// discard deletes live, or gives up our fields if live was adopted.
func (r *removal) discard(ctx context.Context, live client.Object) (layer.Outcome, error) {
	if _, adopted := r.pass.child.Operator.Find(live); adopted && !r.pass.options.deleteAdopted {
		return r.pass.layers.giveUp(ctx, live)
	}
	return r.pass.delete(ctx, live, r.pass.options.propagation)
}

// checkOwnerIsCurrent asks the server whether the owner is still the one that was given: a
// cache that is behind, such as that of a replica that has just become the leader, shows an
// older one, which may want other children.
func (r *removal) checkOwnerIsCurrent(ctx context.Context) error {
	switch current, end, err := r.pass.server.ReadOwner(ctx); {
	case fault.IsFault(err):
		return err
	case err != nil:
		failed := r.pass.child.Subject.Request("prune", err)
		owner := r.pass.child.Controller
		if r.pass.ensurer.kinds.IsSensitive(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()) {
			failed.Detail = answer.Describe(err)
		}
		failed.Detail = strings.TrimSuffix("cannot read "+ownerName(r.pass.child.Owner)+": "+failed.Detail, ": ")
		return failed
	case end != "":
		return r.pass.child.Subject.Conflict("prune", ownerName(r.pass.child.Owner)+" "+end, nil)
	case isChanged(r.pass.child.Owner, current):
		return r.pass.child.Subject.Conflict("prune", ownerName(r.pass.child.Owner)+" was changed meanwhile", nil)
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
