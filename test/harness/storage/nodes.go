package storage

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// again is the polling interval for a claim that waits for its node: for the settings, or for a
// pod.
const again = 100 * time.Millisecond

// claimsIndex finds pods by the claims that they mount.
const claimsIndex = "claims"

// Nodes does the nodes' part of every expansion, according to the settings of the cluster in this
// folder, until ctx ends. The storage driver of a cluster runs Nodes; a test that does this part by
// itself sets the nodes to [Off].
//
// Nodes follows the kubelet of Kubernetes 1.36 (pkg/volume/util/operationexecutor,
// node_expander.go, and pkg/volume/util/resize_util.go): it acts on claims that a running pod
// mounts and whose status is NodeResizePending or NodeResizeInProgress; it writes the status by two
// strategic merge patches with the resource version; the capacity becomes the allocated size, which
// stays; the conditions Resizing, FileSystemResizePending, ControllerResizeError and
// NodeResizeError are removed together. Offline, it writes only NodeResizeInProgress, as the kubelet
// does for a driver that answers FailedPrecondition for a volume in use, and the rest after another
// mount of the volume.
//
// The differences from a kubelet are:
//   - Nodes acts within a fraction of a second. A kubelet takes up to a minute or two, because it
//     checks a running pod's volumes when it synchronizes the pod.
//   - Nodes acts while the pod runs. A kubelet that mounts a volume expands it before it starts the
//     pod. Here, a restarted pod can run before its claim has grown.
//   - Nothing fails on a node: NodeResizeInfeasible and the condition NodeResizeError never occur.
//   - There are no events (FileSystemResizeSuccessful), and the writes come from a user
//     system:masters instead of a node.
//   - A claim that a pod mounts read-only is expanded as well. A generic ephemeral volume's claim is
//     not expanded.
func Nodes(ctx context.Context, config *rest.Config, dir string) error {
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Metrics: server.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	})
	if err != nil {
		return fmt.Errorf("cannot play the nodes: %w", err)
	}
	live, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("cannot play the nodes: %w", err)
	}
	if err := manager.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, claimsIndex, claimsOf); err != nil {
		return fmt.Errorf("cannot play the nodes: %w", err)
	}
	n := &nodes{cache: manager.GetCache(), live: live, dir: dir, users: map[types.UID]users{}}
	if err := ctrl.NewControllerManagedBy(manager).Named("nodes").For(&corev1.PersistentVolumeClaim{}).Complete(n); err != nil {
		return fmt.Errorf("cannot play the nodes: %w", err)
	}
	return manager.Start(ctx)
}

type nodes struct {
	cache client.Reader
	live  client.Client
	dir   string
	users map[types.UID]users // of the claims that wait; for one reconcile at a time
}

// Reconcile does the due work for one claim.
func (n *nodes) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	claim := &corev1.PersistentVolumeClaim{}
	if err := n.cache.Get(ctx, request.NamespacedName, claim); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !Pending(claim) {
		delete(n.users, claim.UID)
		return reconcile.Result{}, nil
	}
	settings, err := Read(n.dir)
	if err != nil {
		return reconcile.Result{}, err
	}
	pods, err := n.mounting(ctx, claim)
	if err != nil {
		return reconcile.Result{}, err
	}
	if n.users[claim.UID] == nil {
		n.users[claim.UID] = usersOf(pods)
	}
	if settings.Nodes == Off || len(pods) == 0 {
		return reconcile.Result{RequeueAfter: again}, nil
	}
	if settings.Nodes == Offline && n.users[claim.UID].include(claim, pods) {
		return reconcile.Result{RequeueAfter: again}, n.start(ctx, claim)
	}
	return reconcile.Result{}, FinishResize(ctx, n.live, request.NamespacedName)
}

func (n *nodes) start(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage] == corev1.PersistentVolumeClaimNodeResizeInProgress {
		return nil
	}
	return StartResize(ctx, n.live, client.ObjectKeyFromObject(claim))
}

// mounting lists the running pods that mount the claim.
func (n *nodes) mounting(ctx context.Context, claim *corev1.PersistentVolumeClaim) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := n.cache.List(ctx, &pods, client.InNamespace(claim.Namespace), client.MatchingFields{claimsIndex: claim.Name})
	if err != nil {
		return nil, fmt.Errorf("cannot list the pods that mount claim %s: %w", client.ObjectKeyFromObject(claim), err)
	}
	var running []corev1.Pod
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning {
			running = append(running, pod)
		}
	}
	return running, nil
}

func claimsOf(pod client.Object) []string {
	var claims []string
	for _, volume := range pod.(*corev1.Pod).Spec.Volumes {
		if volume.PersistentVolumeClaim != nil {
			claims = append(claims, volume.PersistentVolumeClaim.ClaimName)
		}
	}
	return claims
}
