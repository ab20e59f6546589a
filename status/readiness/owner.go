package readiness

import (
	"context"
	"errors"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/internal/consistency"
	"github.com/trueup-go/trueup/internal/object"
)

var (
	deploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")
	replicaSetKind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
)

// OwnerOf returns a function that finds the object to reconcile when Explain may have another explanation
// for one of its children. The function takes what Explain reads: a pod, a ReplicaSet, or an event about a
// StatefulSet.
//
//	toSite := handler.EnqueueRequestsFromMapFunc(
//		readiness.OwnerOf(mgr.GetClient(), &Site{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}))
//	...
//	Watches(&corev1.Pod{}, toSite, builder.WithPredicates(predicates.Owned())).
//	WatchesMetadata(&appsv1.ReplicaSet{}, toSite, builder.WithPredicates(predicates.Primary())). // for Deployments
//	Watches(&corev1.Event{}, toSite). // for StatefulSets
//
// The function follows the owner references to controllers, from a pod to its ReplicaSet, the Deployment
// and the owner. It returns no request if it meets a controller that is neither of the kind of owner nor
// one of workloads, or that c does not find.
//
// workloads are the kinds of children whose pods count, in the form in which the operator watches them,
// such as &appsv1.Deployment{}. With a Deployment, the function also reads the metadata of ReplicaSets.
// With a manager's client, all reads come from the cache. If c does not know one of the kinds, the
// function logs the error and returns no request.
func OwnerOf(c client.Client, owner client.Object, workloads ...client.Object) func(context.Context, client.Object) []reconcile.Request {
	chain, invalid := newOwnerChain(c, owner, workloads)
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		if invalid != nil {
			log.FromContext(ctx).Error(invalid, "cannot find the owner of any object")
			return nil
		}
		requests, err := chain.follow(ctx, obj)
		if err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "cannot find the owner of an object", "name", obj.GetName())
		}
		return requests
	}
}

// An ownerChain is the kinds of controllers from a pod to the owner of its workload.
type ownerChain struct {
	client    client.Client
	owner     client.Object
	ownerKind schema.GroupKind
	workloads map[schema.GroupKind]client.Object // empty, in the form in which they are read
}

func newOwnerChain(c client.Client, owner client.Object, workloads []client.Object) (*ownerChain, error) {
	chain := &ownerChain{client: c, owner: owner, workloads: map[schema.GroupKind]client.Object{}}
	isUnusable := func(obj client.Object) bool { return object.IsUnusable(obj) }
	if isUnusable(owner) || slices.ContainsFunc(workloads, isUnusable) {
		return nil, errors.New("readiness.OwnerOf needs the kinds of objects, and got nil")
	}
	kind, err := c.GroupVersionKindFor(owner)
	if err != nil {
		return nil, err
	}
	chain.ownerKind = kind.GroupKind()
	for _, workload := range workloads {
		kind, err := c.GroupVersionKindFor(workload)
		if err != nil {
			return nil, err
		}
		chain.workloads[kind.GroupKind()] = workload
	}
	_, hasDeployments := chain.workloads[deploymentKind.GroupKind()]
	_, hasReplicaSets := chain.workloads[replicaSetKind.GroupKind()]
	if hasDeployments && !hasReplicaSets {
		replicaSet := &metav1.PartialObjectMetadata{}
		replicaSet.SetGroupVersionKind(replicaSetKind)
		chain.workloads[replicaSetKind.GroupKind()] = replicaSet
	}
	return chain, nil
}

// follow returns a request for the owner of the workload that obj belongs to.
func (o *ownerChain) follow(ctx context.Context, obj client.Object) ([]reconcile.Request, error) {
	kind, name := controllerOf(obj)
	for range len(o.workloads) + 1 { // each kind once: owner references may form a cycle
		key := client.ObjectKey{Namespace: obj.GetNamespace(), Name: name}
		if kind == o.ownerKind {
			namespaced, err := o.client.IsObjectNamespaced(o.owner)
			if err == nil && !namespaced {
				key.Namespace = ""
			}
			return []reconcile.Request{{NamespacedName: key}}, err
		}
		workload, ok := o.workloads[kind]
		if !ok {
			return nil, nil
		}
		live, _ := workload.DeepCopyObject().(client.Object)
		if err := o.client.Get(ctx, key, live, consistency.Off); err != nil {
			return nil, client.IgnoreNotFound(err) // usually, the workload of another owner, which is not in the cache
		}
		kind, name = controllerOf(live)
	}
	return nil, nil
}

// controllerOf returns the kind and the name of the controller of obj, or of the object that an event is
// about.
func controllerOf(obj client.Object) (kind schema.GroupKind, name string) {
	if event, ok := obj.(*corev1.Event); ok {
		return event.InvolvedObject.GroupVersionKind().GroupKind(), event.InvolvedObject.Name
	}
	controller := metav1.GetControllerOfNoCopy(obj)
	if controller == nil {
		return schema.GroupKind{}, ""
	}
	return schema.FromAPIVersionAndKind(controller.APIVersion, controller.Kind).GroupKind(), controller.Name
}

// TrimPod is a transform for the pods in a manager's cache. It keeps what Pods and Explain read, and the
// volumes, by which an operator finds the pods of a claim: of the metadata, all but the annotations and
// the managed fields; of the spec, the volumes; and the status. It returns an object of another kind as it
// is.
//
//	&corev1.Pod{}: {Transform: readiness.TrimPod}
func TrimPod(obj any) (any, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		pod.ManagedFields, pod.Annotations = nil, nil
		pod.Spec = corev1.PodSpec{Volumes: pod.Spec.Volumes}
	}
	return obj, nil
}
