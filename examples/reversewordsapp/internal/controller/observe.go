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

// liveObjects are the existing objects of a ReverseWordsApp.
type liveObjects struct {
	children []v1alpha1.Child
	// pods are the active pods of the Deployment, sorted by name.
	pods []corev1.Pod
}

// observe returns the live objects of app. deployment and service are the children that were ensured, or
// nil; for a kind without one, observe returns the children in the cache. observe does not wait until
// the cache shows the operator's own writes. Such a wait would not end if a webhook removed the label
// that selects the objects in the cache.
func (r *Reconciler) observe(
	ctx context.Context, app *v1alpha1.ReverseWordsApp, deployment *appsv1.Deployment, service *corev1.Service,
) (liveObjects, error) {
	children, err := r.cachedChildren(ctx, app)
	if err != nil {
		return liveObjects{}, err
	}
	if deployment != nil {
		children = replaceKind(children, deployment)
	}
	if service != nil {
		children = replaceKind(children, service)
	}
	slices.SortFunc(children, func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(operator.Kind(a), operator.Kind(b)), cmp.Compare(a.GetName(), b.GetName()))
	})
	var found liveObjects
	for _, child := range children {
		found.children = append(found.children,
			v1alpha1.Child{Kind: operator.Kind(child), Name: child.GetName(), UID: child.GetUID()})
		if deployment, ok := child.(*appsv1.Deployment); ok {
			pods, err := r.podsOf(ctx, deployment)
			if err != nil {
				return liveObjects{}, err
			}
			found.pods = append(found.pods, pods...)
		}
	}
	return found, nil
}

// replaceKind replaces all children of the kind of child by child.
func replaceKind(children []client.Object, child client.Object) []client.Object {
	others := slices.DeleteFunc(children, func(other client.Object) bool { return operator.Kind(other) == operator.Kind(child) })
	return append(others, child)
}

// cachedChildren returns the children in the cache.
func (r *Reconciler) cachedChildren(ctx context.Context, app *v1alpha1.ReverseWordsApp) ([]client.Object, error) {
	return childrenOf(ctx, r.client, app, client.MatchingFields{ownerIndex: string(app.UID)}, client.DisableReadYourWritesConsistency)
}

// childrenOf returns the Services and Deployments that app controls.
func childrenOf(
	ctx context.Context, reader client.Reader, app *v1alpha1.ReverseWordsApp, opts ...client.ListOption,
) ([]client.Object, error) {
	var deployments appsv1.DeploymentList
	var services corev1.ServiceList
	opts = append(opts, client.InNamespace(app.Namespace))
	if err := errors.Join(reader.List(ctx, &deployments, opts...), reader.List(ctx, &services, opts...)); err != nil {
		return nil, err
	}
	var children []client.Object
	for i := range services.Items {
		children = append(children, &services.Items[i])
	}
	for i := range deployments.Items {
		children = append(children, &deployments.Items[i])
	}
	return slices.DeleteFunc(children, func(child client.Object) bool { return !metav1.IsControlledBy(child, app) }), nil
}

// podsOf returns the active pods of the Deployment. A label does not prove that a pod belongs to the
// Deployment, so podsOf follows the owner references.
func (r *Reconciler) podsOf(ctx context.Context, deployment *appsv1.Deployment) ([]corev1.Pod, error) {
	selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
	if err != nil {
		return nil, err
	}
	selected := []client.ListOption{client.InNamespace(deployment.Namespace), client.MatchingLabelsSelector{Selector: selector}}
	var replicaSets metav1.PartialObjectMetadataList
	replicaSets.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSetList"))
	if err := r.client.List(ctx, &replicaSets, selected...); err != nil {
		return nil, err
	}
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, selected...); err != nil {
		return nil, err
	}
	return activePods(pods.Items, replicaSets.Items, deployment), nil
}

// activePods returns the pods that a ReplicaSet of the Deployment controls, and that are pending or running
// and not being deleted. The result is sorted by name.
func activePods(pods []corev1.Pod, replicaSets []metav1.PartialObjectMetadata, deployment *appsv1.Deployment) []corev1.Pod {
	own := sets.New[types.UID]()
	for i := range replicaSets {
		if metav1.IsControlledBy(&replicaSets[i], deployment) {
			own.Insert(replicaSets[i].UID)
		}
	}
	active := slices.DeleteFunc(pods, func(pod corev1.Pod) bool {
		owner := metav1.GetControllerOfNoCopy(&pod)
		alive := pod.Status.Phase == corev1.PodPending || pod.Status.Phase == corev1.PodRunning
		return owner == nil || !own.Has(owner.UID) || !alive || pod.DeletionTimestamp != nil
	})
	slices.SortFunc(active, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return active
}
