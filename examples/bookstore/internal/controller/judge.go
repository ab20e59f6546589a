package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/status/readiness"
)

// eventLead is how long before the condition DatabaseReady turns False the event may occur that explains
// the condition. The operator sees the cause first and writes the condition then.
const eventLead = 10 * time.Second

// judge returns the readiness of the first child that is not ready, with the reason of its pods. If a child
// was not ensured, the reason comes from err. A stale copy, which does not include the last write, is not
// ready.
func (r *Reconciler) judge(
	ctx context.Context, store *v1alpha1.BookStore, children []ensure.Result[client.Object], err error,
) (current readiness.Readiness, listErr error) {
	for _, child := range children {
		current = child.Readiness(err)
		if child.Live == nil {
			return current, nil
		}
		if current.State == readiness.Ready {
			continue
		}
		switch live := child.Live.(type) {
		case *appsv1.Deployment:
			current, _, listErr = r.judgeByPods(ctx, child)
		case *appsv1.StatefulSet:
			current, listErr = r.judgeDatabase(ctx, child, live, lastReady(store))
		}
		current.Message = fmt.Sprintf("%s %q: %s", operator.Kind(child.Live), child.Live.GetName(), current.Message)
		return current, listErr
	}
	return readiness.Readiness{State: readiness.Ready, Reason: string(readiness.Ready), Message: "all is ready"}, nil
}

// judgeByPods returns the readiness of a workload with the reason of its pods.
func (r *Reconciler) judgeByPods(ctx context.Context, child ensure.Result[client.Object]) (readiness.Readiness, []corev1.Pod, error) {
	pods, err := readiness.Pods(ctx, r.client, child.Live)
	return child.Readiness(nil, pods...), pods, err
}

// judgeDatabase also finds out whether the API server refuses pods or claims, unless a pod has a problem.
func (r *Reconciler) judgeDatabase(
	ctx context.Context, child ensure.Result[client.Object], set *appsv1.StatefulSet, since time.Time,
) (readiness.Readiness, error) {
	current, pods, err := r.judgeByPods(ctx, child)
	if err != nil || current.Reason != string(readiness.InProgress) {
		return current, err
	}
	refusal, err := readiness.Refusal(ctx, r.client, set, pods, since)
	if refusal != "" {
		current = notReady(readiness.ReasonFailedCreate, refusal)
	}
	return current, err
}

// lastReady returns when the database was last ready, as far as known.
func lastReady(store *v1alpha1.BookStore) time.Time {
	ready := meta.FindStatusCondition(store.Status.Conditions, v1alpha1.DatabaseReadyCondition)
	switch {
	case ready == nil:
		return time.Time{}
	case ready.Status == metav1.ConditionTrue:
		return ready.LastTransitionTime.Time
	}
	return ready.LastTransitionTime.Add(-eventLead)
}

// progress are the reasons of conditions that may become True without intervention.
var progress = []string{
	"Unavailable", "Conflict", v1alpha1.ReasonProvisioning, v1alpha1.ReasonResizing, v1alpha1.ReasonFileSystemResizePending,
}

// isProblem reports whether current is worth an event. ensure has recorded the failure err of a child
// already, and each new pod of the database waits for its volume.
func isProblem(current readiness.Readiness, err error) bool {
	isUnbound := current.Reason == corev1.PodReasonUnschedulable &&
		strings.Contains(strings.ToLower(current.Message), "persistentvolumeclaim")
	isRecorded := err != nil && current.Reason == ensure.Reason(err)
	return !isUnbound && !isRecorded && !slices.Contains(progress, current.Reason)
}
