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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
)

// A database is what there is of the database of a BookStore.
type database struct {
	set     *appsv1.StatefulSet // nil if there is none of this BookStore
	taken   bool                // somebody else's set has its name
	volumes []volume            // by ordinal
	foreign []volume            // claims with the name of one of the database's that are not its own
	pods    []corev1.Pod        // that are the set's, or nobody's and once were
	left    []corev1.Pod        // that a set of the same name has left, and whose owner it still is
}

// A volume is a claim of a database, and the pod of the database that mounts it, if one
// does.
type volume struct {
	ordinal int32
	claim   *corev1.PersistentVolumeClaim
	pod     *corev1.Pod
}

// look takes stock of the database of store, as the cache shows it.
func (r *Reconciler) look(ctx context.Context, store *v1alpha1.BookStore) (*database, error) {
	return r.takeStock(ctx, store, r.client, client.MatchingFields{storeIndex: store.Name})
}

// lookTwice asks the server for the set and its pods: what the cache does not show, it may
// not show yet, or no longer.
func (r *Reconciler) lookTwice(ctx context.Context, store *v1alpha1.BookStore) (*database, error) {
	return r.takeStock(ctx, store, r.server, client.MatchingLabels(databaseSelector(store)))
}

func (r *Reconciler) takeStock(
	ctx context.Context, store *v1alpha1.BookStore, reader client.Reader, ofPods client.ListOption,
) (*database, error) {
	db := &database{}
	set := &appsv1.StatefulSet{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: store.Namespace, Name: namesFor(store.Name).database}, set)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return nil, err
	case err == nil && metav1.IsControlledBy(set, store):
		db.set = set
	case err == nil:
		db.taken = true
	}
	var pods corev1.PodList
	if err := reader.List(ctx, &pods, client.InNamespace(store.Namespace), ofPods); err != nil {
		return nil, err
	}
	var claims corev1.PersistentVolumeClaimList
	err = r.client.List(ctx, &claims, client.InNamespace(store.Namespace), client.MatchingFields{storeIndex: store.Name})
	if err != nil {
		return nil, err
	}
	db.classify(store, pods.Items, claims.Items)
	return db, nil
}

// classify tells the database's own pods and claims from others. A claim is its own if it has
// the name and the labels that a StatefulSet gives it, and is mounted by one of the
// database's pods or by none. Pods that have come to their end mount nothing.
func (db *database) classify(store *v1alpha1.BookStore, pods []corev1.Pod, claims []corev1.PersistentVolumeClaim) {
	selector := labels.SelectorFromSet(databaseSelector(store))
	strangers := map[string]bool{} // claims that other pods mount
	for i := range pods {
		switch {
		case pods[i].Status.Phase == corev1.PodSucceeded, pods[i].Status.Phase == corev1.PodFailed:
			continue
		case db.isOwn(&pods[i], selector):
			db.pods = append(db.pods, pods[i])
			continue
		case !db.taken && isLeft(&pods[i], namesFor(store.Name).database):
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
		if selector.Matches(labels.Set(claim.Labels)) && (found.pod != nil || !strangers[claim.Name]) {
			db.volumes = append(db.volumes, found)
		} else {
			db.foreign = append(db.foreign, found)
		}
	}
	byOrdinal := func(a, b volume) int { return cmp.Compare(a.ordinal, b.ordinal) }
	slices.SortFunc(db.volumes, byOrdinal)
	slices.SortFunc(db.foreign, byOrdinal)
}

// isOwn reports whether the set controls pod. Those that nobody controls are what a set
// left that is being re-created around them, if they mount the claim of their name.
func (db *database) isOwn(pod *corev1.Pod, selector labels.Selector) bool {
	if !selector.Matches(labels.Set(pod.Labels)) {
		return false
	}
	controller := metav1.GetControllerOfNoCopy(pod)
	if controller == nil {
		return slices.Contains(claimsOf(pod), claimTemplate+"-"+pod.Name)
	}
	return db.set != nil && controller.UID == db.set.UID
}

// isLeft reports whether pod is one of a set that is gone: it either goes too, or is about
// to be nobody's.
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
