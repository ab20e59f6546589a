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

// stock holds the existing objects of a ReverseWordsApp, whether or not all could be ensured.
type stock struct {
	children []v1alpha1.Child
	// pods are those of the Deployment that count, by name.
	pods []corev1.Pod
}

// takeStock returns the ensured children, and the children in the cache of each kind of which none
// was ensured (nil). It reads the cache as it is at that moment. Waiting until the cache shows our
// own writes could take for ever, if a webhook removes the label by which the cache selects, and
// nobody would notice.
func (r *Reconciler) takeStock(
	ctx context.Context, app *v1alpha1.ReverseWordsApp, deployment *appsv1.Deployment, service *corev1.Service,
) (stock, error) {
	children, err := r.cachedChildren(ctx, app)
	if err != nil {
		return stock{}, err
	}
	if deployment != nil {
		children = withInstead(children, deployment)
	}
	if service != nil {
		children = withInstead(children, service)
	}
	slices.SortFunc(children, func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(operator.Kind(a), operator.Kind(b)), cmp.Compare(a.GetName(), b.GetName()))
	})
	var found stock
	for _, child := range children {
		found.children = append(found.children,
			v1alpha1.Child{Kind: operator.Kind(child), Name: child.GetName(), UID: child.GetUID()})
		if deployment, ok := child.(*appsv1.Deployment); ok {
			pods, err := r.podsOf(ctx, deployment)
			if err != nil {
				return stock{}, err
			}
			found.pods = append(found.pods, pods...)
		}
	}
	return found, nil
}

// withInstead replaces all children of one kind by child.
func withInstead(children []client.Object, child client.Object) []client.Object {
	others := slices.DeleteFunc(children, func(other client.Object) bool { return operator.Kind(other) == operator.Kind(child) })
	return append(others, child)
}

// cachedChildren returns the children in the cache.
func (r *Reconciler) cachedChildren(ctx context.Context, app *v1alpha1.ReverseWordsApp) ([]client.Object, error) {
	return childrenOf(ctx, r.client, app, client.MatchingFields{ownerIndex: string(app.UID)}, client.DisableReadYourWritesConsistency)
}

// childrenOf are the Services and Deployments that app controls, whatever they are called.
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

// podsOf returns the pods of the Deployment that are pending or running and not in deletion. A pod
// belongs to the Deployment if one of the Deployment's ReplicaSets controls the pod: anybody may
// use the label.
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
	return thatCount(pods.Items, replicaSets.Items, deployment), nil
}

// thatCount returns the pods that belong to the Deployment, sorted.
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
