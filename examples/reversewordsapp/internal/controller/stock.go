package controller

import (
	"cmp"
	"context"
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

// takeStock reads from the manager's cache, which shows what was just written.
func (r *Reconciler) takeStock(ctx context.Context, app *v1alpha1.ReverseWordsApp) (stock, error) {
	var found stock
	names := namesFor(app.Name)
	deployment, service := &appsv1.Deployment{}, &corev1.Service{}
	for _, child := range []struct {
		name string
		live client.Object
	}{{names.deployment, deployment}, {names.service, service}} {
		err := r.client.Get(ctx, types.NamespacedName{Namespace: app.Namespace, Name: child.name}, child.live)
		if client.IgnoreNotFound(err) != nil {
			return stock{}, err
		}
		if metav1.IsControlledBy(child.live, app) {
			found.children = append(found.children,
				v1alpha1.Child{Kind: operator.Kind(child.live), Name: child.name, UID: child.live.GetUID()})
		}
	}
	if !metav1.IsControlledBy(deployment, app) {
		return found, nil
	}
	pods, err := r.podsOf(ctx, deployment)
	found.pods = pods
	return found, err
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
