package controller

import (
	"cmp"
	"context"
	"errors"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
)

// stock is what there is of a ReverseWordsApp, whether it could be made as it should be
// or not.
type stock struct {
	children []v1alpha1.Child
	// pods are those of the Deployment that count, by name.
	pods []corev1.Pod
}

// takeStock counts the children that were made, and looks in the manager's cache for those
// that were not: nil. It takes what the cache shows at that moment. To wait until our own
// writes show would be for ever where somebody's webhook takes the label off that the
// cache selects by, and nobody would be told of it.
func (r *Reconciler) takeStock(
	ctx context.Context, app *v1alpha1.ReverseWordsApp, deployment *appsv1.Deployment, service *corev1.Service,
) (stock, error) {
	names := namesFor(app.Name)
	var err error
	if deployment == nil {
		deployment = &appsv1.Deployment{}
		err = r.glance(ctx, app, names.deployment, deployment)
	}
	if service == nil {
		service = &corev1.Service{}
		err = errors.Join(err, r.glance(ctx, app, names.service, service))
	}
	if err != nil {
		return stock{}, err
	}
	var found stock
	for _, child := range []client.Object{deployment, service} {
		if metav1.IsControlledBy(child, app) {
			found.children = append(found.children,
				v1alpha1.Child{Kind: operator.Kind(child), Name: child.GetName(), UID: child.GetUID()})
		}
	}
	if metav1.IsControlledBy(deployment, app) {
		found.pods, err = r.podsOf(ctx, deployment)
	}
	return found, err
}

// glance leaves child as it is if the cache has none of that name.
func (r *Reconciler) glance(ctx context.Context, app *v1alpha1.ReverseWordsApp, name string, child client.Object) error {
	key := types.NamespacedName{Namespace: app.Namespace, Name: name}
	return client.IgnoreNotFound(r.client.Get(ctx, key, child, client.DisableReadYourWritesConsistency))
}

// podsOf are the Deployment's pods that are pending or running and to stay. A pod is the
// Deployment's if it is its ReplicaSet's, and that is the Deployment's: the label alone
// is anybody's.
func (r *Reconciler) podsOf(ctx context.Context, deployment *appsv1.Deployment) ([]corev1.Pod, error) {
	selected := []client.ListOption{
		client.InNamespace(deployment.Namespace), client.MatchingLabels(deployment.Spec.Selector.MatchLabels),
	}
	var replicaSets metav1.PartialObjectMetadataList
	replicaSets.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSetList"))
	if err := r.client.List(ctx, &replicaSets, selected...); err != nil {
		return nil, err
	}
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, selected...); err != nil {
		return nil, err
	}
	return thatCount(pods.Items, replicaSets.Items, deployment), nil
}

// thatCount sorts pods, and takes out of it what does not count.
func thatCount(pods []corev1.Pod, replicaSets []metav1.PartialObjectMetadata, deployment *appsv1.Deployment) []corev1.Pod {
	own := sets.New[types.UID]()
	for i := range replicaSets {
		if metav1.IsControlledBy(&replicaSets[i], deployment) {
			own.Insert(replicaSets[i].UID)
		}
	}
	counting := slices.DeleteFunc(pods, func(pod corev1.Pod) bool {
		owner := metav1.GetControllerOfNoCopy(&pod)
		alive := pod.Status.Phase == corev1.PodPending || pod.Status.Phase == corev1.PodRunning
		return owner == nil || !own.Has(owner.UID) || !alive || pod.DeletionTimestamp != nil
	})
	slices.SortFunc(counting, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return counting
}
