package cookbook_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/ensuretest"
)

// Each test asserts the requests that docs/cookbook.md gives for its recipe. Converge waits for a second after a
// write, which takes no time in a bubble of synctest.

const digest = "metadata.annotations[spec-hash.trueup-go.github.io/shop-operator]"

func TestAutoscaled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := newFake(t, shop("web"))
		earlier := eachPass(c, "web", func(ctx context.Context, shop *Shop) (any, error) {
			deployment := deploymentFor(shop)
			deployment.Spec.Replicas = new(int32(5))
			return ensure.Object(ctx, e, deployment, ensure.ControlledBy(shop))
		})
		require.Len(t, ensuretest.Converge(t, c, earlier), 1)
		replicas := func() int32 { return *get(t, c, "default", "web", &appsv1.Deployment{}).Spec.Replicas }

		pass := eachPass(c, "web", func(ctx context.Context, shop *Shop) (any, error) { return ensureAutoscaled(ctx, e, shop) })
		require.Equal(t, []string{
			"patch Deployment default/web: changed nothing but metadata.managedFields",
			"apply Deployment default/web: " + digest,
			"apply HorizontalPodAutoscaler default/web: created",
		}, shown(ensuretest.Converge(t, c, pass)))
		require.Equal(t, int32(5), replicas())
		require.Equal(t, int32(10), get(t, c, "default", "web", &autoscalingv2.HorizontalPodAutoscaler{}).Spec.MaxReplicas)

		scaled := get(t, c, "default", "web", &appsv1.Deployment{})
		scaled.Spec.Replicas = new(int32(8))
		require.NoError(t, c.Update(t.Context(), scaled, client.FieldOwner("autoscaler")))
		require.Equal(t, []string{"apply Deployment default/web: changed nothing"}, shown(ensuretest.Converge(t, c, pass)))
		require.Equal(t, int32(8), replicas())
		require.Empty(t, ensuretest.Converge(t, c, pass))
	})
}

func TestRollout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := newFake(t, shop("web"))
		pass := eachPass(c, "web", func(ctx context.Context, shop *Shop) (any, error) { return ensureWithSettings(ctx, e, shop) })
		require.Len(t, ensuretest.Converge(t, c, pass), 2)

		web := get(t, c, "default", "web", &Shop{})
		web.Spec.Settings["COLOR"] = "red"
		require.NoError(t, c.Update(t.Context(), web))
		require.Equal(t, []string{
			"apply ConfigMap default/web: data[COLOR], " + digest,
			"apply Deployment default/web: " + digest + ", spec.template.metadata.annotations[shop.example.com/settings]",
		}, shown(ensuretest.Converge(t, c, pass)))

		labelled := get(t, c, "default", "web", &corev1.ConfigMap{})
		labelled.Labels = map[string]string{"team": "blue"}
		require.NoError(t, c.Update(t.Context(), labelled))
		require.Empty(t, ensuretest.Converge(t, c, pass), "a label restarts no pod")

		web = get(t, c, "default", "web", &Shop{})
		web.Spec.Files = map[string][]byte{"logo.png": {0x89}}
		require.NoError(t, c.Update(t.Context(), web))
		require.Equal(t, []string{
			"apply ConfigMap default/web: binaryData[logo.png], " + digest,
			"apply Deployment default/web: " + digest + ", spec.template.metadata.annotations[shop.example.com/settings]",
		}, shown(ensuretest.Converge(t, c, pass)), "binary data restarts the pods, too")
	})
}

func TestOptional(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scheme := newScheme(t)
		scheme.AddKnownTypeWithName(monitorKind, &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(monitorKind.GroupVersion().WithKind("ServiceMonitorList"), &unstructured.UnstructuredList{})
		web := shop("web")
		web.Spec.Metrics = true
		c := ensuretest.NewClient(scheme, web)
		r := &MonitoredReconciler{Client: c, ensure: ensure.New(c, c.APIReader(), "shop-operator")}
		pass := eachPass(c, "web", r.Reconcile)

		require.NoError(t, r.SetupWithManager(newManager(t, shopKind)))
		require.Equal(t, []string{"apply Service default/web: created"}, shown(ensuretest.Converge(t, c, pass)))

		require.NoError(t, r.SetupWithManager(newManager(t, shopKind, monitorKind))) // after a restart
		require.Equal(t, []string{"apply ServiceMonitor default/web: created"}, shown(ensuretest.Converge(t, c, pass)))
		require.Empty(t, ensuretest.Converge(t, c, pass))

		web = get(t, c, "default", "web", &Shop{})
		web.Spec.Metrics = false
		require.NoError(t, c.Update(t.Context(), web))
		require.Equal(t, []string{"get Shop default/web", "delete ServiceMonitor default/web: gone"}, shown(ensuretest.Converge(t, c, pass)))
	})
}

func TestClusterScoped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := newFake(t, shop("web"))
		r := &ViewerReconciler{Client: c, ensure: e}
		require.NoError(t, r.SetupWithManager(newManager(t, shopKind)))
		pass := eachPass(c, "web", r.Reconcile)

		require.Equal(t, []string{
			"patch Shop default/web: metadata.finalizers",
			"apply ClusterRole shop-viewer:default:web: created",
		}, shown(ensuretest.Converge(t, c, pass)))
		require.Empty(t, ensuretest.Converge(t, c, pass))

		web := get(t, c, "default", "web", &Shop{})
		require.Equal(t, []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(web)}}, shopOfViewer(t.Context(), viewerOf(web)))
		require.Empty(t, shopOfViewer(t.Context(), &rbacv1.ClusterRole{}))
		_, err := ensure.Object(t.Context(), e, viewerOf(web), ensure.ControlledBy(web))
		require.ErrorIs(t, err, ensure.ErrRefused)

		require.NoError(t, c.Delete(t.Context(), web))
		require.Equal(t, []string{
			"delete ClusterRole shop-viewer:default:web: gone",
			"get ClusterRole shop-viewer:default:web: failed: NotFound",
			"patch Shop default/web: gone",
		}, shown(ensuretest.Converge(t, c, pass)))
	})
}

func TestCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := shop("web")
		web.Spec.Copies = []string{"east", "west"}
		c, e := newFake(t, web)
		r := &CopyReconciler{Client: c, server: c.APIReader(), ensure: e}
		require.NoError(t, r.SetupWithManager(newManager(t, shopKind)))
		pass := eachPass(c, "web", r.Reconcile)
		require.Equal(t, []string{
			"patch Shop default/web: metadata.finalizers",
			"apply ConfigMap east/default.web: created",
			"apply ConfigMap west/default.web: created",
		}, shown(ensuretest.Converge(t, c, pass)))
		require.Empty(t, ensuretest.Converge(t, c, pass))

		east := get(t, c, "east", "default.web", &corev1.ConfigMap{})
		require.Equal(t, []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(web)}}, shopOfCopy(t.Context(), east))
		require.Empty(t, shopOfCopy(t.Context(), &corev1.ConfigMap{}))

		other := &corev1.ConfigMap{}
		other.Namespace, other.Name, other.Labels = "east", "other", east.Labels
		require.NoError(t, c.Create(t.Context(), other))
		web = get(t, c, "default", "web", &Shop{})
		web.Spec.Copies = []string{"east"}
		require.NoError(t, c.Update(t.Context(), web))
		require.ElementsMatch(t, []string{
			"delete ConfigMap west/default.web: gone",
			"get ConfigMap east/other", // a person made it, so it stays
		}, shown(ensuretest.Converge(t, c, pass)))
		require.Empty(t, ensuretest.Converge(t, c, pass))

		require.NoError(t, c.Delete(t.Context(), get(t, c, "default", "web", &Shop{})))
		require.Equal(t, []string{
			"list ConfigMapList",
			"delete ConfigMap east/default.web: gone",
			"patch Shop default/web: gone",
		}, shown(ensuretest.Converge(t, c, pass)))
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(other), other))
	})
}

func TestImport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := newFake(t, shop("web"))
		pass := eachPass(c, "web", (&ImportReconciler{Client: c, ensure: e}).Reconcile)
		require.Equal(t, []string{"apply Job default/web-import: created", "patch status of Shop default/web: status.conditions"},
			shown(ensuretest.Converge(t, c, pass)))

		job := get(t, c, "default", "web-import", &batchv1.Job{})
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		require.NoError(t, c.Status().Update(t.Context(), job))
		require.Len(t, ensuretest.Converge(t, c, pass), 1)
		require.True(t, meta.IsStatusConditionTrue(get(t, c, "default", "web", &Shop{}).Status.Conditions, "Imported"))

		require.NoError(t, c.Delete(t.Context(), job)) // as after the TTL
		require.Empty(t, ensuretest.Converge(t, c, pass), "the Job does not run again")
	})
}

func TestHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := newFake(t, shop("blue"), shop("green"))
		blue, green := get(t, c, "default", "blue", &Shop{}), get(t, c, "default", "green", &Shop{})
		passOf := func(owner *Shop) func(context.Context) error {
			return func(ctx context.Context) error {
				_, err := ensure.Object(ctx, e, deploymentFor(shop("web")), ensure.ControlledBy(owner))
				return err
			}
		}
		require.Len(t, ensuretest.Converge(t, c, passOf(blue)), 1)
		require.ErrorIs(t, passOf(green)(t.Context()), ensure.ErrForeign)

		deployment := get(t, c, "default", "web", &appsv1.Deployment{})
		require.NoError(t, handOver(t.Context(), c, deployment, blue, green))
		require.ErrorIs(t, passOf(blue)(t.Context()), ensure.ErrForeign)
		require.Equal(t, []string{
			"apply Deployment default/web: " + digest,
			"patch Deployment default/web: changed nothing but metadata.managedFields",
		}, shown(ensuretest.Converge(t, c, passOf(green))))
		require.Empty(t, ensuretest.Converge(t, c, passOf(green)))
		deployment = get(t, c, "default", "web", &appsv1.Deployment{})
		require.Len(t, deployment.OwnerReferences, 1)
		require.True(t, metav1.IsControlledBy(deployment, green))
		require.Len(t, deployment.ManagedFields, 1, "the reference belongs to the field owner alone")
	})
}

func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := newFake(t, shop("a"), shop("b"))
		r := &IndexReconciler{Client: c, ensure: e}
		require.NoError(t, r.SetupWithManager(newManager(t, shopKind)))
		pass := func(ctx context.Context) error {
			_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: "default"}})
			return err
		}
		require.Equal(t, []string{"apply ConfigMap default/shops: created"}, shown(ensuretest.Converge(t, c, pass)))
		require.Empty(t, ensuretest.Converge(t, c, pass))

		require.NoError(t, c.Delete(t.Context(), shop("a")))
		require.Equal(t, []string{"apply ConfigMap default/shops: data[a], " + digest}, shown(ensuretest.Converge(t, c, pass)))
		require.NoError(t, c.Delete(t.Context(), shop("b")))
		require.Equal(t, []string{
			"delete ConfigMap default/shops: gone",
			"get ConfigMap default/shops: failed: NotFound",
		}, shown(ensuretest.Converge(t, c, pass)))
		require.Empty(t, ensuretest.Converge(t, c, pass))
	})
}

// TestSharedIsWrittenInBatches changes the index often: without batches, that is a contest.
func TestSharedIsWrittenInBatches(t *testing.T) {
	for name, test := range map[string]struct {
		wait      time.Duration
		contested bool
	}{
		"at once":   {0, true},
		"batchTime": {batchTime, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, e := newFake(t)
				r := &IndexReconciler{Client: c, ensure: e}
				for i := range 40 {
					require.NoError(t, c.Create(t.Context(), shop(fmt.Sprint("shop", i))))
					_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "default"}})
					require.NoError(t, err)
					<-time.After(test.wait)
				}
				index := get(t, c, "default", indexName, &corev1.ConfigMap{})
				require.Equal(t, test.contested, len(index.Data) < 40)
			})
		})
	}
}

func TestEnqueueNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := workqueue.NewTypedRateLimitingQueue(ensure.RateLimiter())
		defer queue.ShutDown()
		enqueue := enqueueNamespace()
		enqueue.Create(t.Context(), event.CreateEvent{Object: shop("a")}, queue)
		enqueue.Update(t.Context(), event.UpdateEvent{ObjectNew: shop("b")}, queue)
		enqueue.Delete(t.Context(), event.DeleteEvent{Object: shop("c")}, queue)
		enqueue.Generic(t.Context(), event.GenericEvent{Object: shop("d")}, queue)

		begin := time.Now()
		request, _ := queue.Get()
		require.Equal(t, "default", request.Name)
		require.Equal(t, batchTime, time.Since(begin))
		queue.Done(request)
		require.Zero(t, queue.Len())
	})
}

func TestClusters(t *testing.T) {
	r, mgr := &FleetReconciler{}, newManager(t, shopKind)
	remote, err := cluster.New(mgr.GetConfig(), func(o *cluster.Options) { o.Scheme = mgr.GetScheme() })
	require.NoError(t, err)
	require.NoError(t, r.SetupWithManager(mgr, remote, remote))
	require.Len(t, r.ensurers, 2)
	require.Equal(t, "web", sameName(t.Context(), shop("web"))[0].Name)

	synctest.Test(t, func(t *testing.T) {
		c, _ := newFake(t, shop("web"))
		east, eastEnsurer := newFake(t)
		west, westEnsurer := newFake(t)
		r := &FleetReconciler{Client: c, ensurers: []*ensure.Ensurer{eastEnsurer, westEnsurer}}
		pass := eachPass(c, "web", r.Reconcile)

		require.Equal(t, []string{"patch Shop default/web: metadata.finalizers"}, shown(ensuretest.Converge(t, c, pass)))
		for _, remote := range []*ensuretest.Client{east, west} {
			require.Equal(t, []string{"apply Deployment default/web: created"}, shown(remote.Requests()))
			require.Empty(t, ensuretest.Converge(t, remote, pass))
		}

		require.NoError(t, c.Delete(t.Context(), get(t, c, "default", "web", &Shop{})))
		require.Equal(t, []string{"patch Shop default/web: gone"}, shown(ensuretest.Converge(t, c, pass)))
		for _, remote := range []*ensuretest.Client{east, west} {
			err := remote.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "web"}, &appsv1.Deployment{})
			require.True(t, apierrors.IsNotFound(err))
		}
	})
}

func TestCaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newFake(t, shop("web"))
		cached := cachedBy(c, managerOptions())
		e := newEnsurer(cached, c.APIReader())
		pass := eachPass(cached, "web", func(ctx context.Context, shop *Shop) (any, error) {
			return ensure.Object(ctx, e, deploymentFor(shop), ensure.ControlledBy(shop))
		})
		require.Equal(t, []string{"apply Deployment default/web: created"}, shown(ensuretest.Converge(t, c, pass)))
		require.Empty(t, ensuretest.Converge(t, c, pass))

		live := get(t, c, "default", "web", &appsv1.Deployment{})
		live.Labels = nil // the cache no longer shows the Deployment
		require.NoError(t, c.Update(t.Context(), live))
		require.Equal(t, []string{
			"get Shop default/web",
			"apply Deployment default/web: failed: Conflict",
			"get Deployment default/web",
			"apply Deployment default/web: metadata.labels[app.kubernetes.io/managed-by]",
		}, shown(ensuretest.Converge(t, c, pass)))

		e = newEnsurer(cached, c.APIReader())
		require.Empty(t, ensuretest.Converge(t, c, pass), "nothing is read after a restart")
	})
}

// cachedBy returns a client that shows Deployments as the cache with those options does.
func cachedBy(c *ensuretest.Client, options ctrl.Options) client.Client {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if err := c.Get(ctx, key, obj, opts...); err != nil {
				return err
			}
			if _, ok := obj.(*appsv1.Deployment); !ok {
				return nil
			}
			for _, children := range options.Cache.ByObject {
				if !children.Label.Matches(labels.Set(obj.GetLabels())) {
					return apierrors.NewNotFound(appsv1.Resource("deployments"), key.Name)
				}
			}
			_, err := options.Cache.DefaultTransform(obj)
			return err
		},
	})
}

// TestCachedEnsurer reads from a cache that no test starts. There is no API server that could answer.
func TestCachedEnsurer(t *testing.T) {
	e, err := newCachedEnsurer(newManager(t, corev1.SchemeGroupVersion.WithKind("Secret")))
	require.NoError(t, err)
	_, err = ensure.Object(t.Context(), e, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
	require.ErrorAs(t, err, new(*cache.ErrCacheNotStarted))
}

func TestCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := newFake(t, shop("web"))
		pass := eachPass(c, "web", func(ctx context.Context, shop *Shop) (any, error) { return ensureCredentials(ctx, e, shop) })
		secret := func() *corev1.Secret { return get(t, c, "default", "web-credentials", &corev1.Secret{}) }
		edit := func(key, value string) {
			live := secret()
			live.Data[key] = []byte(value)
			require.NoError(t, c.Update(t.Context(), live))
		}
		require.Equal(t, []string{"apply Secret default/web-credentials: created"}, shown(ensuretest.Converge(t, c, pass)))
		require.Empty(t, ensuretest.Converge(t, c, pass))
		generated := string(secret().Data["password"])
		require.Len(t, generated, 26)

		edit("user", "nobody")
		require.Equal(t, []string{
			"patch Secret default/web-credentials: changed nothing but metadata.managedFields",
			"apply Secret default/web-credentials: data[user]",
		}, shown(ensuretest.Converge(t, c, pass)))
		require.Equal(t, generated, string(secret().Data["password"]))
		edit("user", "nobody")
		require.Equal(t, []string{"apply Secret default/web-credentials: data[user]"}, shown(ensuretest.Converge(t, c, pass)))

		edit("password", "chosen")
		require.Empty(t, ensuretest.Converge(t, c, pass))
		require.Equal(t, "chosen", string(secret().Data["password"]))

		require.NoError(t, c.Delete(t.Context(), secret()))
		require.Equal(t, []string{"get Shop default/web", "apply Secret default/web-credentials: created"}, shown(ensuretest.Converge(t, c, pass)))
		require.NotEqual(t, generated, string(secret().Data["password"]))
	})
}

func TestConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := newFake(t, shop("web"))
		pass := eachPass(c, "web", func(ctx context.Context, shop *Shop) (any, error) {
			return ensureConnection(ctx, e, c, c.APIReader(), shop)
		})
		secret := func() *corev1.Secret { return get(t, c, "default", "web-connection", &corev1.Secret{}) }

		require.Equal(t, []string{
			"get Secret default/web-connection: failed: NotFound",
			"apply Secret default/web-connection: created",
		}, shown(ensuretest.Converge(t, c, pass)))
		require.Empty(t, ensuretest.Converge(t, c, pass))
		require.Equal(t, fmt.Sprintf("amqp://web:%s@queue/", secret().Data["password"]), string(secret().Data["url"]))

		rotated := secret()
		rotated.Data["password"] = []byte("chosen")
		require.NoError(t, c.Update(t.Context(), rotated))
		require.Equal(t, []string{"apply Secret default/web-connection: data[url], " + digest}, shown(ensuretest.Converge(t, c, pass)))
		require.Equal(t, "amqp://web:chosen@queue/", string(secret().Data["url"]))
		require.Equal(t, "chosen", string(secret().Data["password"]))

		removed := secret()
		delete(removed.Data, "password")
		require.NoError(t, c.Update(t.Context(), removed))
		require.Equal(t, []string{
			"get Secret default/web-connection",
			"apply Secret default/web-connection: data[password], data[url], " + digest,
			"patch Secret default/web-connection: changed nothing but metadata.managedFields",
			"apply Secret default/web-connection: " + digest,
		}, shown(ensuretest.Converge(t, c, pass)))
		require.Len(t, secret().Data["password"], 26)
		require.Equal(t, fmt.Sprintf("amqp://web:%s@queue/", secret().Data["password"]), string(secret().Data["url"]))
		require.Empty(t, ensuretest.Converge(t, c, pass))

		rotated = secret()
		rotated.Data["password"] = []byte("again")
		require.NoError(t, c.Update(t.Context(), rotated))
		require.Equal(t, []string{"apply Secret default/web-connection: data[url], " + digest}, shown(ensuretest.Converge(t, c, pass)))
		require.Equal(t, "amqp://web:again@queue/", string(secret().Data["url"]))
		require.Equal(t, "again", string(secret().Data["password"]))
	})
}

func TestConditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := newFake(t, shop("web"))
		covered, licenceErr := false, errors.New("no route to the licence server")
		r := &ReportingReconciler{Client: c, ensure: e, isCovered: func(context.Context, *Shop) (bool, error) { return covered, licenceErr }}
		pass := eachPass(c, "web", r.Reconcile)
		conditions := func() (shown []string) {
			for _, condition := range get(t, c, "default", "web", &Shop{}).Status.Conditions {
				shown = append(shown, fmt.Sprint(condition.Type, " ", condition.Status, " ", condition.Reason))
			}
			return shown
		}

		require.ErrorIs(t, pass(t.Context()), licenceErr)
		require.Equal(t, []string{"Deployed False InProgress", "Exposed True Ready", "Licensed Unknown NoAnswer", "Ready False InProgress"}, conditions())

		deployment := get(t, c, "default", "web", &appsv1.Deployment{})
		deployment.Status = appsv1.DeploymentStatus{
			ObservedGeneration: deployment.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
		}
		require.NoError(t, c.Status().Update(t.Context(), deployment))
		licenceErr = nil
		require.Len(t, ensuretest.Converge(t, c, pass), 1)
		require.Equal(t, []string{"Deployed True Ready", "Exposed True Ready", "Licensed False NotCovered", "Ready False NotCovered"}, conditions())

		covered = true
		require.Len(t, ensuretest.Converge(t, c, pass), 1)
		require.Equal(t, []string{"Deployed True Ready", "Exposed True Ready", "Licensed True Covered", "Ready True Ready"}, conditions())
		require.Empty(t, ensuretest.Converge(t, c, pass))
	})
}
