package acts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	wordsv1alpha1 "github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/cluster"
)

const (
	namespace = "default"
	// othersFinalizer is a foreign finalizer that delays the deletion of Deployments.
	othersFinalizer = "example.org/backup"
)

func number(n int) string { return strconv.Itoa(n) }

func metadata(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func application(i int) *appv1alpha1.Application {
	return &appv1alpha1.Application{ObjectMeta: metadata("app-" + number(i))}
}

func words(i int) *wordsv1alpha1.ReverseWordsApp {
	return &wordsv1alpha1.ReverseWordsApp{ObjectMeta: metadata("words-" + number(i))}
}

func applicationDeployment(i int) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metadata("app-" + number(i) + "-deployment-microservice")}
}

func wordsDeployment(i int) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metadata("dp-words-" + number(i))}
}

// patch sends a patch as a user.
func (e *environment) patch(ctx context.Context, obj client.Object, format string, args ...any) error {
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, format, args...))
	return e.admin.Patch(ctx, obj, patch, client.FieldOwner("people"))
}

func (e *environment) create(ctx context.Context) error {
	for i := range e.plan.Objects {
		reversed := words(i)
		reversed.Spec.ServiceType = corev1.ServiceTypeClusterIP // there is nobody to make load balancers
		for _, obj := range []client.Object{application(i), reversed} {
			if err := e.admin.Create(ctx, obj); err != nil {
				return err
			}
		}
		if err := pass(ctx, e.plan.Pace); err != nil {
			return err
		}
	}
	return e.untilReady(ctx)
}

func (e *environment) change(ctx context.Context) error {
	for i := range e.plan.Objects {
		if err := e.patch(ctx, application(i), `{"spec":{"title":"Universe"}}`); err != nil {
			return err
		}
		if err := e.patch(ctx, words(i), `{"spec":{"replicas":2}}`); err != nil {
			return err
		}
		if err := pass(ctx, e.plan.Pace); err != nil {
			return err
		}
	}
	return e.untilReady(ctx)
}

// remove deletes the last quarter of the ReverseWordsApps.
func (e *environment) remove(ctx context.Context) error {
	for i := e.plan.Objects - e.plan.quarter(); i < e.plan.Objects; i++ {
		if err := e.admin.Delete(ctx, words(i)); err != nil {
			return err
		}
	}
	return e.untilRemoved(ctx, e.plan.quarter())
}

// untilRemoved waits until so many ReverseWordsApps have lost their finalizer since the start.
func (e *environment) untilRemoved(ctx context.Context, count int) error {
	return e.untilFigures(ctx, fmt.Sprintf("sum(trueup_finalizer_held_seconds_count) >= %d", count))
}

// blockDeletion deletes the first quarter of the ReverseWordsApps, whose Deployments a finalizer of
// another program holds.
func (e *environment) blockDeletion(ctx context.Context) (end func() error, err error) {
	for i := range e.plan.quarter() {
		if err := e.patch(ctx, wordsDeployment(i), `{"metadata":{"finalizers":[%q]}}`, othersFinalizer); err != nil {
			return nil, err
		}
		if err := e.admin.Delete(ctx, words(i)); err != nil {
			return nil, err
		}
	}
	return func() error {
		for i := range e.plan.quarter() {
			if err := e.removeFinalizer(ctx, wordsDeployment(i)); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// removeFinalizer removes a finalizer, where the garbage collector's may be, too.
func (e *environment) removeFinalizer(ctx context.Context, deployment *appsv1.Deployment) error {
	return e.until(ctx, func(ctx context.Context) error {
		if err := e.admin.Get(ctx, client.ObjectKeyFromObject(deployment), deployment); err != nil {
			return client.IgnoreNotFound(err)
		}
		left := slices.DeleteFunc(deployment.Finalizers, func(name string) bool { return name == othersFinalizer })
		list, err := json.Marshal(left)
		if err != nil {
			return err
		}
		version := deployment.ResourceVersion
		return e.patch(ctx, deployment, `{"metadata":{"resourceVersion":%q,"finalizers":%s}}`, version, list)
	})
}

// editChildren edits some children and deletes others.
func (e *environment) editChildren(ctx context.Context) error {
	for i := range e.plan.Objects {
		if err := e.patch(ctx, applicationDeployment(i), `{"spec":{"replicas":4}}`); err != nil {
			return err
		}
		service := &corev1.Service{ObjectMeta: metadata("app-" + number(i) + "-service-microservice")}
		if i%2 == 0 {
			if err := e.admin.Delete(ctx, service); err != nil {
				return err
			}
		}
		if err := pass(ctx, e.plan.Pace/2); err != nil {
			return err
		}
	}
	return e.untilFigures(ctx, `trueup_ensure_writes_total{operation="Updated",cause="Drifted"}`)
}

// contest has somebody want another number of pods, for a while after the operator noticed.
func (e *environment) contest(ctx context.Context) error {
	striking, stop := context.WithCancel(ctx)
	group, striking := errgroup.WithContext(striking)
	group.Go(func() error {
		for pass(striking, e.plan.Pace) == nil {
			err := e.patch(striking, applicationDeployment(0), `{"spec":{"replicas":7}}`)
			if err != nil && striking.Err() == nil {
				return err
			}
		}
		return nil
	})
	err := e.untilFigures(ctx, `trueup_ensure_contests_total > 0`)
	if err == nil {
		err = e.rest(ctx)
	}
	stop()
	return errors.Join(err, group.Wait())
}

// refuseUpdates changes the specs of Applications whose Deployments a policy does not let the operators
// change, until end.
func (e *environment) refuseUpdates(ctx context.Context) (end func() error, err error) {
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"},
		},
	}}
	policy := admission.HandlerFunc(func(_ context.Context, request admission.Request) admission.Response {
		if slices.Contains(e.users, request.UserInfo.Username) {
			return admission.Denied("no changes today")
		}
		return admission.Allowed("")
	})
	stop, err := e.cluster.MutatingWebhook(ctx, "no-changes", rules, policy)
	if err != nil {
		return nil, err
	}
	for i := 1; i < e.plan.Objects/2; i++ {
		if err := e.patch(ctx, application(i), `{"spec":{"amountPods":2}}`); err != nil {
			return nil, err
		}
		if err := pass(ctx, e.plan.Pace); err != nil {
			return nil, err
		}
	}
	return stop, e.untilFigures(ctx, `trueup_ensure_requests_total{operation="Failed",cause="Forbidden"} > 0`)
}

// outage kills the API server and starts it again.
func (e *environment) outage(ctx context.Context) error {
	if err := e.cluster.Kill(cluster.APIServer); err != nil {
		return err
	}
	if err := pass(ctx, e.plan.Outage); err != nil {
		return err
	}
	return e.cluster.Restart(ctx, cluster.APIServer)
}

// untilReady waits until every object reports that its latest generation is ready.
func (e *environment) untilReady(ctx context.Context) error {
	return e.until(ctx, func(ctx context.Context) error {
		for i := range e.plan.Objects {
			app := application(i)
			if err := e.admin.Get(ctx, client.ObjectKeyFromObject(app), app); err != nil {
				return err
			}
			if err := ready(app, app.Status.Conditions); err != nil {
				return err
			}
			reversed := words(i)
			err := e.admin.Get(ctx, client.ObjectKeyFromObject(reversed), reversed)
			if apierrors.IsNotFound(err) {
				continue // it was deleted
			}
			if err != nil {
				return err
			}
			if err := ready(reversed, reversed.Status.Conditions); err != nil {
				return err
			}
		}
		return nil
	})
}

func ready(obj client.Object, conditions []metav1.Condition) error {
	is := meta.FindStatusCondition(conditions, "Ready")
	if is == nil || is.Status != metav1.ConditionTrue || is.ObservedGeneration != obj.GetGeneration() {
		return fmt.Errorf("%s is not ready: %+v", obj.GetName(), is)
	}
	return nil
}
