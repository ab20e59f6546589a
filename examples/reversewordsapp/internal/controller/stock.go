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

// takeStock counts the children that were made, and of a kind of which none was (nil) those
// in the manager's cache. It takes what the cache shows at that moment. To wait until our own
// writes show would be for ever where somebody's webhook takes the label off that the
// cache selects by, and nobody would be told of it.
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

// withInstead has child take the place of all others of its kind.
func withInstead(children []client.Object, child client.Object) []client.Object {
	others := slices.DeleteFunc(children, func(other client.Object) bool { return operator.Kind(other) == operator.Kind(child) })
	return append(others, child)
}

// cachedChildren are what the cache shows of childrenOf.
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

// podsOf are the Deployment's pods that are pending or running and to stay. A pod is the
// Deployment's if it is its ReplicaSet's, and that is the Deployment's: the label alone
// is anybody's.
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
