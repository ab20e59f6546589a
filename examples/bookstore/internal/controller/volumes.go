package controller

import (
	"cmp"
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
)

// A database has the live objects of the database of a BookStore.
type database struct {
	identity  v1alpha1.Database
	set       *appsv1.StatefulSet // nil if this BookStore has none
	nameTaken bool                // another owner has a set of the same name
	volumes   []volume            // by ordinal
	foreign   []volume            // claims of other owners with a name of this database's claims
	pods      []corev1.Pod        // pods of the set, and orphaned pods of a former set
	leftover  []corev1.Pod        // pods whose controller is a deleted set of the same name
}

// A volume is a claim, and the pod of the database that mounts the claim, or nil.
type volume struct {
	ordinal int32
	claim   *corev1.PersistentVolumeClaim
	pod     *corev1.Pod
}

// observe returns the database of store from the cache. desired is the identity according to the
// templates, or nil if the templates cannot be used.
func (r *Reconciler) observe(ctx context.Context, store *v1alpha1.BookStore, desired *v1alpha1.Database) (*database, error) {
	sets, err := r.cachedSets(ctx, store, desired)
	if err != nil {
		return nil, err
	}
	return r.findDatabase(ctx, store, desired, sets, func(identity v1alpha1.Database) ([]corev1.Pod, error) {
		var pods corev1.PodList
		err := r.client.List(ctx, &pods, client.InNamespace(store.Namespace), client.MatchingFields{claimsIndex: claimPrefix(identity)})
		return pods.Items, err
	})
}

// cachedSets returns the sets of store in the cache, and sets of other owners with their names. The list
// by owner may be stale, so cachedSets reads each set again by its name.
func (r *Reconciler) cachedSets(
	ctx context.Context, store *v1alpha1.BookStore, desired *v1alpha1.Database,
) ([]appsv1.StatefulSet, error) {
	var own appsv1.StatefulSetList
	err := r.client.List(ctx, &own, client.InNamespace(store.Namespace),
		client.MatchingFields{ownerIndex: string(store.UID)}, client.DisableReadYourWritesConsistency)
	if err != nil {
		return nil, err
	}
	names := sets.New[string]()
	for i := range own.Items {
		names.Insert(own.Items[i].Name)
	}
	for _, identity := range identities(store, desired) {
		names.Insert(identity.StatefulSet)
	}
	var found []appsv1.StatefulSet
	for name := range names {
		var set appsv1.StatefulSet
		err := r.client.Get(ctx, client.ObjectKey{Namespace: store.Namespace, Name: name}, &set)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if err == nil {
			found = append(found, set)
		}
	}
	return found, nil
}

// observeUncached is like observe, but reads the set and its pods from the server, since the cache may be
// stale.
func (r *Reconciler) observeUncached(ctx context.Context, store *v1alpha1.BookStore, desired *v1alpha1.Database) (*database, error) {
	var sets appsv1.StatefulSetList
	if err := r.server.List(ctx, &sets, client.InNamespace(store.Namespace)); err != nil {
		return nil, err
	}
	return r.findDatabase(ctx, store, desired, sets.Items, func(identity v1alpha1.Database) ([]corev1.Pod, error) {
		var pods corev1.PodList
		err := r.server.List(ctx, &pods, client.InNamespace(store.Namespace), client.MatchingLabels(identity.Selector))
		return pods.Items, err
	})
}

// identities returns the possible identities of a database without a set.
func identities(store *v1alpha1.BookStore, desired *v1alpha1.Database) []v1alpha1.Database {
	var all []v1alpha1.Database
	if identity, ok := recordedIdentity(store); ok {
		all = append(all, identity)
	}
	if desired != nil {
		all = append(all, *desired)
	}
	return all
}

// findDatabase returns the objects of the database. The identity is that of the set of store. Without a
// set, findDatabase uses the first identity that has objects.
func (r *Reconciler) findDatabase(
	ctx context.Context, store *v1alpha1.BookStore, desired *v1alpha1.Database,
	sets []appsv1.StatefulSet, podsOf func(v1alpha1.Database) ([]corev1.Pod, error),
) (*database, error) {
	var set *appsv1.StatefulSet
	all := identities(store, desired)
	if own := slices.IndexFunc(sets, func(set appsv1.StatefulSet) bool { return metav1.IsControlledBy(&set, store) }); own >= 0 {
		set = &sets[own]
		all = []v1alpha1.Database{identityOf(set)}
	}
	db := &database{}
	for _, identity := range all {
		db = &database{identity: identity, set: set}
		if set == nil {
			nameTaken, err := r.isNameTaken(ctx, store, identity, sets)
			if err != nil {
				return nil, err
			}
			db.nameTaken = nameTaken
		}
		pods, err := podsOf(identity)
		if err != nil {
			return nil, err
		}
		var volumes corev1.PersistentVolumeClaimList
		err = r.client.List(ctx, &volumes, client.InNamespace(store.Namespace), client.MatchingFields{claimsIndex: claimPrefix(identity)})
		if err != nil {
			return nil, err
		}
		db.classify(pods, volumes.Items)
		if !db.isEmpty() {
			break
		}
	}
	return db, nil
}

// isNameTaken reports whether another owner has a set of that name, or another BookStore has a database
// with these claims: the templates may give two databases the same name.
func (r *Reconciler) isNameTaken(
	ctx context.Context, store *v1alpha1.BookStore, identity v1alpha1.Database, sets []appsv1.StatefulSet,
) (bool, error) {
	if slices.ContainsFunc(sets, func(other appsv1.StatefulSet) bool { return other.Name == identity.StatefulSet }) {
		return true, nil
	}
	var stores v1alpha1.BookStoreList
	err := r.client.List(ctx, &stores, client.InNamespace(store.Namespace), client.MatchingFields{claimsIndex: claimPrefix(identity)},
		client.DisableReadYourWritesConsistency)
	return slices.ContainsFunc(stores.Items, func(other v1alpha1.BookStore) bool { return other.Name != store.Name }), err
}

// isEmpty reports whether there are no objects of the database.
func (db *database) isEmpty() bool {
	return db.set == nil && len(db.volumes)+len(db.pods)+len(db.leftover) == 0
}

// classify sorts pods and claims into those of the database and those of others. A claim belongs to the
// database if the name and the labels match, and if no pod or a pod of the database mounts the claim.
// Finished pods do not count. If another owner has the name, no claim belongs to this database.
func (db *database) classify(pods []corev1.Pod, claims []corev1.PersistentVolumeClaim) {
	selector := labels.SelectorFromSet(db.identity.Selector)
	mountedByOthers := map[string]bool{} // by the name of the claim
	for i := range pods {
		switch {
		case pods[i].Status.Phase == corev1.PodSucceeded, pods[i].Status.Phase == corev1.PodFailed:
			continue
		case db.isOwn(&pods[i], selector):
			db.pods = append(db.pods, pods[i])
			continue
		case !db.nameTaken && isLeftover(&pods[i], db.identity.StatefulSet):
			db.leftover = append(db.leftover, pods[i])
		}
		for _, claim := range claimsOf(&pods[i]) {
			mountedByOthers[claim] = true
		}
	}
	for i := range claims {
		claim := &claims[i]
		_, ordinal := parseClaim(claim.Name)
		found := volume{ordinal: ordinal, claim: claim, pod: db.podOf(claim.Name)}
		if !db.nameTaken && selector.Matches(labels.Set(claim.Labels)) && (found.pod != nil || !mountedByOthers[claim.Name]) {
			db.volumes = append(db.volumes, found)
		} else {
			db.foreign = append(db.foreign, found)
		}
	}
	byOrdinal := func(a, b volume) int { return cmp.Compare(a.ordinal, b.ordinal) }
	slices.SortFunc(db.volumes, byOrdinal)
	slices.SortFunc(db.foreign, byOrdinal)
}

// isOwn reports whether the set controls pod. While the set is being recreated, the pods have no
// controller, and are recognised by their claim.
func (db *database) isOwn(pod *corev1.Pod, selector labels.Selector) bool {
	if db.nameTaken || !selector.Matches(labels.Set(pod.Labels)) {
		return false
	}
	controller := metav1.GetControllerOfNoCopy(pod)
	if controller == nil {
		return slices.Contains(claimsOf(pod), db.identity.ClaimTemplate+"-"+pod.Name)
	}
	return db.set != nil && controller.UID == db.set.UID
}

// isLeftover reports whether the controller of pod is a StatefulSet with that name. If the set is gone,
// the garbage collector will delete the pod or remove the owner reference.
func isLeftover(pod *corev1.Pod, set string) bool {
	controller := metav1.GetControllerOfNoCopy(pod)
	return controller != nil && controller.Kind == "StatefulSet" && controller.Name == set
}

// podOf returns the pod of the database that mounts the claim, or nil.
func (db *database) podOf(claim string) *corev1.Pod {
	for i := range db.pods {
		if slices.Contains(claimsOf(&db.pods[i]), claim) {
			return &db.pods[i]
		}
	}
	return nil
}

func claimsOf(pod *corev1.Pod) []string {
	var claims []string
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim != nil {
			claims = append(claims, volume.PersistentVolumeClaim.ClaimName)
		}
	}
	return claims
}

func (v volume) request() resource.Quantity {
	return v.claim.Spec.Resources.Requests[corev1.ResourceStorage]
}

func (v volume) capacity() resource.Quantity {
	return v.claim.Status.Capacity[corev1.ResourceStorage]
}

func (v volume) isBound() bool { return v.claim.Status.Phase == corev1.ClaimBound }

func (v volume) isDeleting() bool { return v.claim.DeletionTimestamp != nil }

func requestOf(size resource.Quantity) corev1.VolumeResourceRequirements {
	return corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}}
}
