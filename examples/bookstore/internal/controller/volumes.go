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

// A database holds the existing objects of the database of a BookStore.
type database struct {
	identity v1alpha1.Database
	set      *appsv1.StatefulSet // nil if there is none of this BookStore
	taken    bool                // a set of somebody else has the name
	volumes  []volume            // by ordinal
	foreign  []volume            // claims of others with the name of one of the database's claims
	pods     []corev1.Pod        // that are the set's, or nobody's and once were
	left     []corev1.Pod        // of a deleted set of the same name, which still owns them
}

// A volume is a claim of a database, with the pod of the database that mounts the claim, if one
// does.
type volume struct {
	ordinal int32
	claim   *corev1.PersistentVolumeClaim
	pod     *corev1.Pod
}

// look returns the database of store, as the cache shows it. wanted is the identity by the
// templates, nil if they cannot be used.
func (r *Reconciler) look(ctx context.Context, store *v1alpha1.BookStore, wanted *v1alpha1.Database) (*database, error) {
	sets, err := r.cachedSets(ctx, store, wanted)
	if err != nil {
		return nil, err
	}
	return r.takeStock(ctx, store, wanted, sets, func(is v1alpha1.Database) ([]corev1.Pod, error) {
		var pods corev1.PodList
		err := r.client.List(ctx, &pods, client.InNamespace(store.Namespace), client.MatchingFields{claimsIndex: claims(is)})
		return pods.Items, err
	})
}

// cachedSets returns the sets of store in the cache, and sets of others with the name of one. Sets
// found by their owner may be outdated; sets read by their name are not.
func (r *Reconciler) cachedSets(
	ctx context.Context, store *v1alpha1.BookStore, wanted *v1alpha1.Database,
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
	for _, is := range identities(store, wanted) {
		names.Insert(is.StatefulSet)
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

// lookTwice reads the set and its pods from the server if the cache does not show them: the cache
// may not show them yet, or no longer.
func (r *Reconciler) lookTwice(ctx context.Context, store *v1alpha1.BookStore, wanted *v1alpha1.Database) (*database, error) {
	var sets appsv1.StatefulSetList
	if err := r.server.List(ctx, &sets, client.InNamespace(store.Namespace)); err != nil {
		return nil, err
	}
	return r.takeStock(ctx, store, wanted, sets.Items, func(is v1alpha1.Database) ([]corev1.Pod, error) {
		var pods corev1.PodList
		err := r.server.List(ctx, &pods, client.InNamespace(store.Namespace), client.MatchingLabels(is.Selector))
		return pods.Items, err
	})
}

// identities returns the possible identities of the database if there is no set.
func identities(store *v1alpha1.BookStore, wanted *v1alpha1.Database) []v1alpha1.Database {
	var all []v1alpha1.Database
	if is, ok := recorded(store); ok {
		all = append(all, is)
	}
	if wanted != nil {
		all = append(all, *wanted)
	}
	return all
}

// takeStock finds the objects of the database, by the identity of the set, or else by the known
// identity.
func (r *Reconciler) takeStock(
	ctx context.Context, store *v1alpha1.BookStore, wanted *v1alpha1.Database,
	sets []appsv1.StatefulSet, podsOf func(v1alpha1.Database) ([]corev1.Pod, error),
) (*database, error) {
	var set *appsv1.StatefulSet
	all := identities(store, wanted)
	if own := slices.IndexFunc(sets, func(set appsv1.StatefulSet) bool { return metav1.IsControlledBy(&set, store) }); own >= 0 {
		set = &sets[own]
		all = []v1alpha1.Database{identityOf(set)}
	}
	db := &database{}
	for _, is := range all {
		db = &database{identity: is, set: set}
		if set == nil {
			taken, err := r.isTaken(ctx, store, is, sets)
			if err != nil {
				return nil, err
			}
			db.taken = taken
		}
		pods, err := podsOf(is)
		if err != nil {
			return nil, err
		}
		var volumes corev1.PersistentVolumeClaimList
		err = r.client.List(ctx, &volumes, client.InNamespace(store.Namespace), client.MatchingFields{claimsIndex: claims(is)})
		if err != nil {
			return nil, err
		}
		db.classify(pods, volumes.Items)
		if !db.isNothing() {
			break
		}
	}
	return db, nil
}

// isTaken reports whether one of sets, none of which is store's, is called so, or whether the
// last set of another BookStore was: templates may call two alike.
func (r *Reconciler) isTaken(
	ctx context.Context, store *v1alpha1.BookStore, is v1alpha1.Database, sets []appsv1.StatefulSet,
) (bool, error) {
	if slices.ContainsFunc(sets, func(other appsv1.StatefulSet) bool { return other.Name == is.StatefulSet }) {
		return true, nil
	}
	var stores v1alpha1.BookStoreList
	err := r.client.List(ctx, &stores, client.InNamespace(store.Namespace), client.MatchingFields{claimsIndex: claims(is)},
		client.DisableReadYourWritesConsistency)
	return slices.ContainsFunc(stores.Items, func(other v1alpha1.BookStore) bool { return other.Name != store.Name }), err
}

// isNothing reports whether there is nothing that would be lost if the database were another.
func (db *database) isNothing() bool {
	return db.set == nil && len(db.volumes)+len(db.pods)+len(db.left) == 0
}

// classify finds the pods and claims of the database. A claim belongs to the database if the claim
// has the name and the labels that a StatefulSet sets, and one of the pods of the database or none
// mounts it. Finished pods mount nothing. A database of somebody else has no claims.
func (db *database) classify(pods []corev1.Pod, claims []corev1.PersistentVolumeClaim) {
	selector := labels.SelectorFromSet(db.identity.Selector)
	strangers := map[string]bool{} // claims that other pods mount
	for i := range pods {
		switch {
		case pods[i].Status.Phase == corev1.PodSucceeded, pods[i].Status.Phase == corev1.PodFailed:
			continue
		case db.isOwn(&pods[i], selector):
			db.pods = append(db.pods, pods[i])
			continue
		case !db.taken && isLeft(&pods[i], db.identity.StatefulSet):
			db.left = append(db.left, pods[i])
		}
		for _, claim := range claimsOf(&pods[i]) {
			strangers[claim] = true
		}
	}
	for i := range claims {
		claim := &claims[i]
		_, ordinal := parseClaim(claim.Name)
		found := volume{ordinal: ordinal, claim: claim, pod: db.podOf(claim.Name)}
		if !db.taken && selector.Matches(labels.Set(claim.Labels)) && (found.pod != nil || !strangers[claim.Name]) {
			db.volumes = append(db.volumes, found)
		} else {
			db.foreign = append(db.foreign, found)
		}
	}
	byOrdinal := func(a, b volume) int { return cmp.Compare(a.ordinal, b.ordinal) }
	slices.SortFunc(db.volumes, byOrdinal)
	slices.SortFunc(db.foreign, byOrdinal)
}

// isOwn reports whether the set controls pod. A pod without a controller belongs to a set that is
// being recreated around the pod, if the pod mounts the claim of its name.
func (db *database) isOwn(pod *corev1.Pod, selector labels.Selector) bool {
	if db.taken || !selector.Matches(labels.Set(pod.Labels)) {
		return false
	}
	controller := metav1.GetControllerOfNoCopy(pod)
	if controller == nil {
		return slices.Contains(claimsOf(pod), db.identity.ClaimTemplate+"-"+pod.Name)
	}
	return db.set != nil && controller.UID == db.set.UID
}

// isLeft reports whether pod belongs to a set that is gone: the pod will be deleted, or lose its
// controller.
func isLeft(pod *corev1.Pod, set string) bool {
	controller := metav1.GetControllerOfNoCopy(pod)
	return controller != nil && controller.Kind == "StatefulSet" && controller.Name == set
}

// podOf is the database's own pod that mounts the claim, and nil if none does.
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

func (v volume) isGoing() bool { return v.claim.DeletionTimestamp != nil }

func requestOf(size resource.Quantity) corev1.VolumeResourceRequirements {
	return corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}}
}
