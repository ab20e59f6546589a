package ensure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trueup-go/trueup/internal/answer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/hash"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// Prune makes Set delete objects of the given kinds that are not among the children: those that
// the owner controls, by UID, and that carry the digest of this field owner. Objects of other
// people, operators and owners are never deleted. Objects that the operator creates for the
// same owner by other calls are deleted, so pass all children of a pruned kind to Set. Pruning
// begins when all children match, and goes through the kinds in reverse order and
// through the objects of a kind from the newest to the oldest, and stops at the first error.
//
// An empty object of each kind is enough, such as &corev1.ConfigMap{}; for unstructured objects,
// apiVersion and kind count. Keep a kind in the list for as long as old objects of that kind may exist.
// The objects are listed from the cache, in the owner's namespace; a client without a cache sends
// one request for each kind and pass. The operator needs the verbs get, list, watch and delete for
// these kinds. A kind that the API server does not serve has no objects, as for Absent.
// If the cache strips managed fields, each object is read from the API server before it is
// deleted.
//
// Before the first deletion, Set reads the owner from the API server, which takes the verb get for
// the owner's kind. If the owner has another generation than the one given to Set (another
// resourceVersion, if its kind has no generation), was replaced, or is being deleted, it may want
// other children by now: the error is a Conflict, and nothing is deleted.
//
// Each delete request names the UID and the resourceVersion that were read. Dependents are deleted
// afterwards, unless Propagation says otherwise. Adopted objects are Released, as by Absent, unless
// DeleteAdopted is given. Objects without a digest, or with the digest of another field owner or
// Store, are not found; use Absent. Objects of a former field owner that MigrateFrom names are found.
func Prune(kinds ...client.Object) Option {
	if len(kinds) == 0 {
		kinds = []client.Object{nil} // is refused
	}
	return func(o *options) { o.prune = append(o.prune, kinds...) }
}

// newRemovalOf returns the removal of objects of a kind that the owner may control. It has no name.
func (e *Ensurer) newRemovalOf(like client.Object, o options) (*removal, error) {
	o.prune, o.only = nil, nil
	if isNil(like) {
		return nil, e.refuseCall("ensure.Prune needs an object of each kind, such as &corev1.ConfigMap{}")
	}
	c, err := e.identify(like, o)
	if err != nil {
		return nil, err
	}
	if c.owner.GetDeletionTimestamp() != nil {
		return nil, c.fail(ErrOwnerTerminating, "ensure", c.ownerName()+" is being deleted")
	}
	c.key.Namespace, c.key.Name = c.owner.GetNamespace(), ""
	c.propagation = cmp.Or(c.propagation, metav1.DeletePropagationBackground)
	c.desired, c.call = c.empty(like), callPrune
	r := &removal{withdrawal{c}}
	if _, err := r.emptyList(); err != nil { // before anything is written
		return nil, err
	}
	return r, c.stampOwner()
}

// removeRest deletes what is no longer wanted.
func (s *set) removeRest(ctx context.Context) ([]Result[client.Object], error) {
	var removed []Result[client.Object]
	isOwnerCurrent := false
	for _, kind := range slices.Backward(s.unwanted) {
		members, err := kind.members(ctx)
		if kind.isUninstalled(err) {
			continue // nor can there be objects of it
		}
		if err := kind.ended(err); err != nil {
			return removed, err
		}
		for _, live := range members {
			r := kind.named(live)
			if s.has(r.member()) {
				continue
			}
			if live.GetDeletionTimestamp() == nil {
				err := r.contest().tryToWrite()
				if err == nil && !isOwnerCurrent {
					err = r.checkOwnerIsCurrent(ctx)
				}
				if err != nil {
					err = r.ended(err)
					r.report().countRequests(outcome{}, err)
					return removed, err
				}
				isOwnerCurrent = true
			}
			found, err := r.finish(r.removeMember(ctx, live))
			if err != nil {
				return removed, err
			}
			if found.operation == Unchanged {
				continue
			}
			if found.live == nil { // gone
				found.live = live
			}
			removed = append(removed, resultOf[client.Object](found))
		}
	}
	return removed, nil
}

// named returns the removal of live.
func (r *removal) named(live client.Object) *removal {
	named := *r.child
	named.key, named.seen = client.ObjectKeyFromObject(live), live
	named.show(live)
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
			if isDynamic(own) {
				own.GetObjectKind().SetGroupVersionKind(r.gvk)
			}
			members = append(members, own)
		}
		return nil
	})
	if err != nil {
		return nil, r.requestError("list", err)
	}
	slices.SortFunc(members, func(a, b client.Object) int {
		return cmp.Or(b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time), cmp.Compare(b.GetName(), a.GetName()))
	})
	return members, nil
}

// isMember reports whether this field owner, or a former name of this field owner, created live for
// this owner. A digest alone does not show that: Deployments copy their annotations to their
// ReplicaSets.
func (r *removal) isMember(live client.Object) bool {
	controller := metav1.GetControllerOfNoCopy(live)
	if controller == nil || !r.isWanted(controller) {
		return false
	}
	if r.store.Get(live) != "" {
		return !managedfields.IsDisowned(live, r.fieldOwner)
	}
	return slices.ContainsFunc(r.migrateFrom, func(name string) bool {
		digest := hash.DefaultStore(name).Get(live)
		mayGo := digest != "" && (r.deleteAdopted || !strings.HasPrefix(digest, adoptedMark))
		return mayGo && !managedfields.IsDisowned(live, name)
	})
}

// removeMember deletes live, unless live is no member any more: then the outcome is Unchanged.
func (r *removal) removeMember(ctx context.Context, live client.Object) (outcome, error) {
	if live.GetDeletionTimestamp() != nil {
		return r.letGo(ctx, live)
	}
	if len(live.GetManagedFields()) > 0 {
		found, err := r.discard(ctx, live)
		if err == nil || !hasMoved(err) {
			return found, err
		}
		r.unseen = true
	}
	// The cached copy is outdated, or has no managed fields, without which a copied digest looks like
	// ours. So the API server is asked.
	return r.removeFromServer(ctx, func(live client.Object) (outcome, error) {
		switch {
		case live == nil:
			return outcome{operation: Gone}, nil
		case !r.isMember(live):
			return outcome{live: live, operation: Unchanged}, nil
		case live.GetDeletionTimestamp() != nil:
			return r.letGo(ctx, live)
		}
		return r.discard(ctx, live)
	})
}

// discard deletes live, or gives up our fields if live was adopted.
func (r *removal) discard(ctx context.Context, live client.Object) (outcome, error) {
	if _, adopted := r.digestOn(live); adopted && !r.deleteAdopted {
		return r.giveUp(ctx, live)
	}
	return r.delete(ctx, live)
}

// list returns the objects of the kind in the namespace of the owner. The items belong to the cache.
func (r *removal) list(ctx context.Context) (client.ObjectList, error) {
	list, err := r.emptyList()
	if err != nil {
		return nil, err
	}
	if err := r.backsOff(); err != nil {
		return nil, err
	}
	opts := []client.ListOption{client.InNamespace(r.owner.GetNamespace()), client.UnsafeDisableDeepCopy}
	bounded := newPatience(ctx, readWait)
	defer bounded.end()
	err = r.client.List(bounded, list, opts...) //nolint:contextcheck // it is made from ctx
	if bounded.ranOut(ctx, err) {
		if err := r.endlessWait("list"); err != nil {
			return nil, err
		}
		err = r.client.List(ctx, list, append(opts, client.DisableReadYourWritesConsistency)...)
	}
	if err != nil {
		r.noteReadFailure(err)
		return nil, r.requestError("list", err)
	}
	return list, nil
}

// emptyList returns a new list to read into.
func (r *removal) emptyList() (client.ObjectList, error) {
	gvk := r.gvk
	gvk.Kind += "List"
	switch r.desired.(type) {
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
		return nil, r.refuse("", fmt.Sprintf("its kind cannot be pruned: %s is no list type of the client's scheme", gvk.Kind))
	}
	return list, nil
}

// checkOwnerIsCurrent asks the server whether the owner is still the one that was given: a
// cache that is behind, such as that of a replica that has just become the leader, shows an
// older one, which may want other children.
func (r *removal) checkOwnerIsCurrent(ctx context.Context) error {
	current := &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: r.controller.APIVersion, Kind: r.controller.Kind},
	}
	if err := r.ask(); err != nil {
		return err
	}
	switch err := r.reader.Get(ctx, client.ObjectKeyFromObject(r.owner), current); {
	case answer.IsGone(err):
		return r.conflict("prune", r.ownerName()+" is gone", nil)
	case err != nil:
		failed := r.requestError("prune", err)
		if r.isSensitive(current.GroupVersionKind().GroupKind()) {
			failed.detail = answer.Describe(err)
		}
		failed.detail = strings.TrimSuffix("cannot read "+r.ownerName()+": "+failed.detail, ": ")
		return failed
	}
	switch {
	case r.owner.GetUID() != "" && current.GetUID() != r.owner.GetUID():
		return r.conflict("prune", r.ownerName()+" was replaced meanwhile", nil)
	case current.GetDeletionTimestamp() != nil:
		return r.conflict("prune", r.ownerName()+" is being deleted", nil)
	case isChanged(r.owner, current):
		return r.conflict("prune", r.ownerName()+" was changed meanwhile", nil)
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
