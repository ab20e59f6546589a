package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/status/readiness"
)

// A database has the live objects of the database of a BookStore.
type database struct {
	identity  v1alpha1.Database
	set       *appsv1.StatefulSet // nil if this BookStore has none
	nameTaken bool                // another owner has a set of the same name
	volumes   []volume            // by ordinal
	foreign   []volume            // claims of other owners with a name of this database's claims, by ordinal
	pods      []corev1.Pod        // pods of the set, and orphaned pods of a former set
	leftover  []corev1.Pod        // pods whose controller is a deleted set of the same name
}

// A volume is a claim, and the pod of the database that mounts the claim, or nil. A leftover pod may mount
// a foreign claim.
type volume struct {
	ordinal int32
	claim   *corev1.PersistentVolumeClaim
	pod     *corev1.Pod
	// lacksClass: the claim gets no volume, because its StorageClass does not exist; see findMissingClasses.
	lacksClass bool
}

// observe returns the database of store. A live set of store decides the identity. Without a set, observe
// uses the first identity that has objects: the one in the status, or that of the desired set, which is nil
// if the templates cannot be used. reader reads sets and pods, from the cache or, where the cache may be
// stale, from the API server.
func (r *Reconciler) observe(
	ctx context.Context, store *v1alpha1.BookStore, desired *appsv1.StatefulSet, reader client.Reader,
) (*database, error) {
	var own appsv1.StatefulSetList
	err := r.client.List(ctx, &own, client.InNamespace(store.Namespace),
		client.MatchingFields{databaseIndex: string(store.UID)}, client.DisableReadYourWritesConsistency)
	if err != nil {
		return nil, err
	}
	var identities []v1alpha1.Database
	for i := range own.Items {
		identities = append(identities, identityOf(&own.Items[i]))
	}
	if identity, ok := recordedIdentity(store); ok {
		identities = append(identities, identity)
	}
	if desired != nil {
		identities = append(identities, identityOf(desired))
	}
	db := &database{}
	for _, identity := range identities {
		db, err = r.observeAs(ctx, store, identity, reader)
		if err != nil || db.set != nil || len(db.volumes)+len(db.pods)+len(db.leftover) > 0 {
			break
		}
	}
	return db, err
}

// observeAs returns the database of store if it has that identity. If store has a set with the name, that set
// decides the identity. The templates may give two databases the same name: then another owner has a set of
// the name, or another BookStore has a database with these claims.
func (r *Reconciler) observeAs(
	ctx context.Context, store *v1alpha1.BookStore, identity v1alpha1.Database, reader client.Reader,
) (*database, error) {
	namespace := client.InNamespace(store.Namespace)
	db, set := &database{identity: identity}, &appsv1.StatefulSet{}
	switch err := reader.Get(ctx, client.ObjectKey{Namespace: store.Namespace, Name: identity.StatefulSet}, set); {
	case apierrors.IsNotFound(err):
		var stores v1alpha1.BookStoreList
		if err := r.client.List(ctx, &stores, namespace, byClaims(identity), client.DisableReadYourWritesConsistency); err != nil {
			return nil, err
		}
		db.nameTaken = slices.ContainsFunc(stores.Items, func(other v1alpha1.BookStore) bool { return other.Name != store.Name })
	case err != nil:
		return nil, err
	case metav1.IsControlledBy(set, store):
		db.set, db.identity = set, identityOf(set)
	default:
		db.nameTaken = true
	}

	podsOf := client.ListOption(byClaims(db.identity))
	if reader == r.server {
		podsOf = client.MatchingLabels(db.identity.Selector) // the API server does not have the index
	}
	var pods corev1.PodList
	if err := reader.List(ctx, &pods, namespace, podsOf); err != nil {
		return nil, err
	}
	var claims corev1.PersistentVolumeClaimList
	if err := r.client.List(ctx, &claims, namespace, byClaims(db.identity)); err != nil {
		return nil, err
	}
	db.classify(pods.Items, claims.Items)
	return db, nil
}

// byClaims selects objects in the cache by the names of the database's claims.
func byClaims(identity v1alpha1.Database) client.MatchingFields {
	return client.MatchingFields{databaseIndex: claimPrefix(identity)}
}

// classify sorts pods and claims into those of the database and those of others. A claim belongs to the
// database if the name and the labels match, and if no pod or a pod of the database mounts the claim.
// Finished pods do not count. If another owner has the name, no claim belongs to this database.
func (db *database) classify(pods []corev1.Pod, claims []corev1.PersistentVolumeClaim) {
	selector := labels.SelectorFromSet(db.identity.Selector)
	var others []corev1.Pod
	for _, pod := range pods {
		switch {
		case pod.Status.Phase == corev1.PodSucceeded, pod.Status.Phase == corev1.PodFailed:
			continue
		case db.isOwn(&pod, selector):
			db.pods = append(db.pods, pod)
			continue
		case !db.nameTaken && isLeftover(&pod, db.identity.StatefulSet):
			db.leftover = append(db.leftover, pod)
		}
		others = append(others, pod)
	}
	for i := range claims {
		claim := &claims[i]
		_, ordinal := parseClaim(claim.Name)
		found := volume{ordinal: ordinal, claim: claim, pod: mounting(db.pods, claim.Name)}
		isFree := found.pod != nil || mounting(others, claim.Name) == nil
		if isFree && !db.nameTaken && selector.Matches(labels.Set(claim.Labels)) {
			db.volumes = append(db.volumes, found)
			continue
		}
		found.pod = cmp.Or(found.pod, mounting(db.leftover, claim.Name))
		db.foreign = append(db.foreign, found)
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

// mounting returns the first of pods that mounts the claim, or nil.
func mounting(pods []corev1.Pod, claim string) *corev1.Pod {
	for i := range pods {
		if slices.Contains(claimsOf(&pods[i]), claim) {
			return &pods[i]
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

// describeFormerPods returns text about pods that are not ready and not as the set specifies. The controller of the set
// does not replace such a pod.
func (db *database) describeFormerPods(set *appsv1.StatefulSet) string {
	if set == nil || set.Status.ObservedGeneration != set.Generation {
		return ""
	}
	var texts []string
	for i := range db.pods {
		pod := &db.pods[i]
		isFormer := pod.Labels[appsv1.ControllerRevisionHashLabelKey] != set.Status.UpdateRevision
		if isFormer && pod.DeletionTimestamp == nil && readiness.Of(pod).State != readiness.Ready {
			texts = append(texts, fmt.Sprintf("; pod %q is of a former version of the spec, and is replaced once it is ready, or by "+
				"kubectl delete pod -n %s %s", pod.Name, pod.Namespace, pod.Name))
		}
	}
	return strings.Join(texts, "")
}

// isUnbound reports whether the claim never had a volume.
func (v volume) isUnbound() bool {
	return v.claim.Status.Phase == corev1.ClaimPending && v.claim.Spec.VolumeName == ""
}

func (v volume) requested() *resource.Quantity { return v.claim.Spec.Resources.Requests.Storage() }

func (v volume) capacity() *resource.Quantity { return v.claim.Status.Capacity.Storage() }

func requestOf(size resource.Quantity) corev1.VolumeResourceRequirements {
	return corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}}
}
