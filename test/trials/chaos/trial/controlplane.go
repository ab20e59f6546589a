package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// A slow API server works for slowRun and stands still for slowStop, again and again.
const slowRun, slowStop = 20 * time.Millisecond, 80 * time.Millisecond

// otherAdmission has an API server with another admission policy: it rewrites pods, and refuses some Services.
const otherAdmission = "--enable-admission-plugins=AlwaysPullImages,DenyServiceExternalIPs"

func controlPlaneFaults() []choice {
	return []choice{
		{"API server killed", 0, 6 * time.Second, killed(cluster.APIServer)},
		{"API server frozen", time.Second, 8 * time.Second, frozen(cluster.APIServer)},
		{"API server slow", 3 * time.Second, 10 * time.Second, slowServer},
		{"API server with another admission policy", 4 * time.Second, 10 * time.Second, otherPolicy},
		{"etcd killed", 0, 3 * time.Second, killed(cluster.Etcd)},
		{"controllers killed", 0, 3 * time.Second, func(ctx context.Context, e *environment, last lasting) error {
			return errors.Join(e.cluster.Kill(cluster.ControllerManager), last(), e.restartControllers(ctx))
		}},
		{"API server killed for long", 10 * time.Second, 18 * time.Second, func(ctx context.Context, e *environment, last lasting) error {
			return errors.Join(killed(cluster.APIServer)(ctx, e, last), e.restartControllers(ctx))
		}},
	}
}

func killed(component cluster.Component) func(context.Context, *environment, lasting) error {
	return func(ctx context.Context, e *environment, last lasting) error {
		return errors.Join(e.cluster.Kill(component), last(), e.cluster.Restart(ctx, component))
	}
}

func frozen(component cluster.Component) func(context.Context, *environment, lasting) error {
	return func(_ context.Context, e *environment, last lasting) error {
		return errors.Join(e.cluster.Freeze(component), last(), e.cluster.Resume(component))
	}
}

func slowServer(ctx context.Context, e *environment, last lasting) error {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan error)
	go func() {
		var err error
		for err == nil && ctx.Err() == nil {
			err = errors.Join(
				e.cluster.Freeze(cluster.APIServer), pass(ctx, slowStop),
				e.cluster.Resume(cluster.APIServer), pass(ctx, slowRun))
		}
		if errors.Is(err, context.Canceled) {
			err = e.cluster.Resume(cluster.APIServer)
		}
		done <- err
	}()
	err := last()
	stop()
	return errors.Join(err, <-done)
}

func otherPolicy(ctx context.Context, e *environment, last lasting) error {
	if err := e.cluster.RestartWith(ctx, cluster.APIServer, otherAdmission); err != nil {
		return err
	}
	return errors.Join(last(), e.cluster.RestartWith(ctx, cluster.APIServer))
}

// restartControllers restarts the components whose informers may not notice for a minute that the API server is back.
func (e *environment) restartControllers(ctx context.Context) error {
	for _, component := range []cluster.Component{cluster.ControllerManager, cluster.Scheduler, cluster.Kwok, cluster.StorageDriver} {
		if err := e.cluster.Restart(ctx, component); err != nil {
			return err
		}
	}
	return nil
}

// finishPods deletes pods that are in deletion, as a kubelet does in the end. kwok tries that once only, even if the API
// server does not answer.
func (e *environment) finishPods(ctx context.Context) error {
	var pods corev1.PodList
	if err := e.admin.List(ctx, &pods); err != nil {
		return fmt.Errorf("cannot list the pods: %w", err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.DeletionTimestamp == nil {
			continue
		}
		err := e.admin.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
		if err != nil && !isTooLate(err) {
			return fmt.Errorf("cannot delete a pod: %w", err)
		}
	}
	return nil
}
