package readiness

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/consistency"
	"github.com/trueup-go/trueup/internal/object"
)

// Pods returns the active pods of workload, sorted by name. Active pods are pending or running, and
// not being deleted. workload is a Deployment, ReplicaSet, StatefulSet, DaemonSet or Job, typed or
// unstructured, as it was read; a nil workload has no pods.
//
// A pod belongs to the workload if the workload's selector matches, and the pod's owner reference
// names the workload as the controller. A label alone proves nothing, since everybody can add labels.
// The controllers of a Deployment's pods are the ReplicaSets that the Deployment controls.
//
// For an object of another kind, the error has the class Refused, which ensure.Retry and ensure.Reason
// recognize.
//
// Pods lists the pods in the workload's namespace with the selector and, for a Deployment, the
// metadata of ReplicaSets. With a manager's client, both come from the cache: the operator needs the
// verbs list and watch for pods and, for a Deployment, for replicasets. Unless the manager's options
// limit the cache, the cache holds all pods of the watched namespaces. To reconcile when the result
// changes, watch pods and, for a Deployment, the metadata of ReplicaSets, with OwnerOf: a ReplicaSet may
// reach the cache after its pods.
func Pods(ctx context.Context, reader client.Reader, workload client.Object) ([]corev1.Pod, error) {
	if object.IsUnusable(workload) {
		return nil, nil
	}
	pods, err := podsOf(ctx, reader, workload)
	if err != nil {
		kind := cmp.Or(workload.GetObjectKind().GroupVersionKind().Kind, reflect.TypeOf(workload).Elem().Name())
		return nil, fmt.Errorf("cannot list the pods of %s %q: %w", kind, client.ObjectKeyFromObject(workload), err)
	}
	return pods, nil
}

func podsOf(ctx context.Context, reader client.Reader, workload client.Object) ([]corev1.Pod, error) {
	workload, err := typed(workload)
	if err != nil {
		return nil, err
	}
	selector, err := podSelector(workload)
	if err != nil {
		return nil, err
	}
	selected := []client.ListOption{
		client.InNamespace(workload.GetNamespace()), client.MatchingLabelsSelector{Selector: selector}, consistency.Off,
	}
	controllers, err := podControllers(ctx, reader, workload, selected)
	if err != nil {
		return nil, err
	}
	var pods corev1.PodList
	if err := reader.List(ctx, &pods, selected...); err != nil {
		return nil, err
	}
	active := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool {
		controller := metav1.GetControllerOfNoCopy(&pod)
		return controller == nil || !controllers.Has(controller.UID) || !isActive(&pod)
	})
	slices.SortFunc(active, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return active, nil
}

// podSelector returns the selector of a workload. Without a selector, the workload has no pods.
func podSelector(workload client.Object) (labels.Selector, error) {
	switch workload := workload.(type) {
	case *appsv1.Deployment:
		return metav1.LabelSelectorAsSelector(workload.Spec.Selector)
	case *appsv1.ReplicaSet:
		return metav1.LabelSelectorAsSelector(workload.Spec.Selector)
	case *appsv1.StatefulSet:
		return metav1.LabelSelectorAsSelector(workload.Spec.Selector)
	case *appsv1.DaemonSet:
		return metav1.LabelSelectorAsSelector(workload.Spec.Selector)
	case *batchv1.Job:
		return metav1.LabelSelectorAsSelector(workload.Spec.Selector)
	}
	return nil, fmt.Errorf("%w: it is none of the kinds that readiness.Pods supports", answer.ErrRefused)
}

// podControllers returns the UIDs of the objects that control the pods of a workload: of the
// ReplicaSets of a Deployment, and otherwise of the workload itself.
func podControllers(
	ctx context.Context, reader client.Reader, workload client.Object, selected []client.ListOption,
) (sets.Set[types.UID], error) {
	if _, ok := workload.(*appsv1.Deployment); !ok {
		return sets.New(workload.GetUID()), nil
	}
	var replicaSets metav1.PartialObjectMetadataList
	replicaSets.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSetList"))
	if err := reader.List(ctx, &replicaSets, selected...); err != nil {
		return nil, err
	}
	controllers := sets.New[types.UID]()
	for i := range replicaSets.Items {
		if metav1.IsControlledBy(&replicaSets.Items[i], workload) {
			controllers.Insert(replicaSets.Items[i].UID)
		}
	}
	return controllers, nil
}

func isActive(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && (pod.Status.Phase == corev1.PodPending || pod.Status.Phase == corev1.PodRunning)
}
