package scale

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// settle waits until the built-in controllers have handled the children, and the instance's cache
// shows the result.
func (t *Trial) settle(ctx context.Context, o *instance, namespace string) error {
	for cause, effect := range map[schema.GroupVersionKind]schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Service"):    discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"),
		appsv1.SchemeGroupVersion.WithKind("Deployment"): appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
	} {
		if err := until(ctx, func(ctx context.Context) error { return t.answered(ctx, namespace, cause, effect) }); err != nil {
			return err
		}
	}
	return until(ctx, o.rolledOut)
}

// answered returns nil once the number of objects that a controller makes equals the number of
// objects that cause them.
func (t *Trial) answered(ctx context.Context, namespace string, cause, effect schema.GroupVersionKind) error {
	causes, err := t.count(ctx, namespace, cause)
	if err != nil {
		return err
	}
	effects, err := t.count(ctx, namespace, effect)
	if err != nil {
		return err
	}
	if causes != effects {
		return fmt.Errorf("there are %d %ss for %d %ss", effects, effect.Kind, causes, cause.Kind)
	}
	return nil
}

// count has the server count, and send one object only.
func (t *Trial) count(ctx context.Context, namespace string, kind schema.GroupVersionKind) (int64, error) {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(kind)
	if err := t.admin.List(ctx, &list, client.InNamespace(namespace), client.Limit(1)); err != nil {
		return 0, fmt.Errorf("cannot count %ss: %w", kind.Kind, err)
	}
	return int64(len(list.Items)) + ptr.Deref(list.RemainingItemCount, 0), nil
}

// rolledOut returns nil once the instance's cache shows the final state of every Deployment.
// Nothing changes the other children.
func (o *instance) rolledOut(ctx context.Context) error {
	var deployments appsv1.DeploymentList
	if err := o.manager.GetClient().List(ctx, &deployments, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range deployments.Items {
		if deployment := &deployments.Items[i]; !isRolledOut(deployment) {
			return fmt.Errorf("the Deployment %s is under way", deployment.Name)
		}
	}
	return nil
}

// isRolledOut reports whether the Deployment's controller has written its final status.
func isRolledOut(d *appsv1.Deployment) bool {
	for _, condition := range d.Status.Conditions {
		if condition.Type == appsv1.DeploymentProgressing && condition.Status == corev1.ConditionTrue {
			return condition.Reason == "NewReplicaSetAvailable" && d.Status.ObservedGeneration == d.Generation
		}
	}
	return false
}
