package migration_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/ensuretest"
)

// The fake API server sets no defaults. test/suites/ensure/migration migrates an operator on a real API server.
// Converge waits for a second after a write, which takes no time in a bubble of synctest.

const (
	digest      = "metadata.annotations[spec-hash.trueup-go.github.io/shop-operator]"
	takeOver    = "patch Deployment default/web: changed nothing but metadata.managedFields"
	storeDigest = "apply Deployment default/web: " + digest
	restartedAt = "spec.template.metadata.annotations[shop.example.com/restarted-at]"
	confirmed   = "apply Deployment default/web: changed nothing"
)

type ensureFunc = func(context.Context, *ensure.Ensurer, *Shop) (ensure.Result[*appsv1.Deployment], error)

// TestFromCreateOrUpdate requires the two writes of metadata, after which nothing is left to do.
func TestFromCreateOrUpdate(t *testing.T) {
	for name, after := range map[string]ensureFunc{"migrated": ensureDeployment, "released": ensureWithoutReplicas} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, e := newFake(t)
				result, err := createOrUpdate(t.Context(), client.WithFieldOwner(c, "manager"), get(t, c, &Shop{}))
				require.NoError(t, err)
				require.Equal(t, controllerutil.OperationResultCreated, result)
				before := get(t, c, &appsv1.Deployment{}).Spec

				var causes []ensure.Cause
				pass := eachPass(c, func(ctx context.Context, shop *Shop) (any, error) {
					result, err := after(ctx, e, shop)
					causes = append(causes, result.Cause)
					return nil, err
				})
				require.Equal(t, []string{takeOver, storeDigest}, shown(ensuretest.Converge(t, c, pass)))
				require.Equal(t, []ensure.Cause{ensure.Migrated, "", ""}, causes)
				require.Equal(t, before, get(t, c, &appsv1.Deployment{}).Spec)
				require.Empty(t, ensuretest.Converge(t, c, pass))
			})
		})
	}
}

func TestFromApply(t *testing.T) {
	for name, test := range map[string]struct {
		owner string
		after ensureFunc
		want  []string
	}{
		"another field owner": {"shop-operator", ensureRenamed, []string{takeOver, storeDigest}},
		"the same field owner": {
			"shop-controller",
			func(ctx context.Context, e *ensure.Ensurer, shop *Shop) (ensure.Result[*appsv1.Deployment], error) {
				return ensure.Object(ctx, e, deploymentFor(shop), ensure.ControlledBy(shop))
			},
			[]string{"apply Deployment default/web: metadata.annotations[spec-hash.trueup-go.github.io/shop-controller]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := newFake(t)
				require.NoError(t, applyDeployment(t.Context(), c, get(t, c, &Shop{})))
				before := get(t, c, &appsv1.Deployment{}).Spec

				e := ensure.New(c, c.APIReader(), test.owner)
				if test.owner == "shop-operator" {
					_, err := ensure.Object(t.Context(), e, deploymentFor(web()), ensure.ControlledBy(get(t, c, &Shop{})))
					require.ErrorIs(t, err, ensure.ErrForeign, "without MigrateFrom")
				}
				pass := eachPass(c, func(ctx context.Context, shop *Shop) (any, error) { return test.after(ctx, e, shop) })
				require.Equal(t, test.want, shown(ensuretest.Converge(t, c, pass)))
				require.Equal(t, before, get(t, c, &appsv1.Deployment{}).Spec)
				require.Empty(t, ensuretest.Converge(t, c, pass))
			})
		})
	}
}

// TestRestart restarts pods by a patch of the operator's own, under the name that MigrateFrom gives and under another.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := newFake(t)
		pass := eachPass(c, func(ctx context.Context, shop *Shop) (any, error) { return ensureDeployment(ctx, e, shop) })
		require.Len(t, ensuretest.Converge(t, c, pass), 1)

		own := client.WithFieldOwner(c, "shop-operator-restarts")
		require.NoError(t, restart(t.Context(), own, get(t, c, &appsv1.Deployment{}), time.Now()))
		require.Equal(t, []string{confirmed}, shown(ensuretest.Converge(t, c, pass)))
		require.NotEmpty(t, get(t, c, &appsv1.Deployment{}).Spec.Template.Annotations)

		later := time.Now().Add(time.Hour)
		require.NoError(t, restart(t.Context(), client.WithFieldOwner(c, "manager"), get(t, c, &appsv1.Deployment{}), later))
		err := pass(t.Context())
		require.ErrorIs(t, err, ensure.ErrRefused)
		require.ErrorContains(t, err, restartedAt)
	})
}

// A failure is a T that keeps the text of a failure.
type failure struct {
	*testing.T
	text string
}

func (f *failure) Fatalf(format string, args ...any) { f.text = fmt.Sprintf(format, args...) }

func TestSorted(t *testing.T) {
	settings := map[string]string{}
	for i := range 50 {
		settings[fmt.Sprint("SETTING_", i)] = "on"
	}
	for name, test := range map[string]struct {
		list func(map[string]string) []corev1.EnvVar
		want string
	}{
		"in the order of the map": {variablesInOrderOfMap, "desired is not deterministic: each call has other values in spec.template.spec.containers[name=shop].env"},
		"sorted":                  {variables, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, e := newFake(t)
				found := &failure{T: t}
				for range 10 { // Converge misses the defect if the map has one order in three passes
					ensuretest.Converge(found, c, eachPass(c, func(ctx context.Context, shop *Shop) (any, error) {
						desired := deploymentFor(shop)
						desired.Spec.Template.Spec.Containers[0].Env = test.list(settings)
						return ensure.Object(ctx, e, desired, ensure.ControlledBy(shop))
					}))
				}
				if test.want == "" {
					require.Empty(t, found.text)
				}
				require.Contains(t, found.text, test.want)
			})
		})
	}
}

// TestMustReload produces each result of the table on the page.
func TestMustReload(t *testing.T) {
	c, e := newFake(t)
	owner := get(t, c, &Shop{})
	old := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Data: map[string]string{"color": "blue"}}
	require.NoError(t, controllerutil.SetControllerReference(owner, old, c.Scheme()))
	require.NoError(t, client.WithFieldOwner(c, "manager").Create(t.Context(), old))

	desired := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Data: map[string]string{"color": "blue"}}
	for _, step := range []struct {
		does      string
		before    func()
		operation ensure.Operation
		cause     ensure.Cause
		reloads   bool
	}{
		{"takes over", func() {}, ensure.Updated, ensure.Migrated, false},
		{"has nothing to do", func() {}, ensure.Unchanged, "", false},
		{"labels", func() { desired.Labels = map[string]string{"team": "blue"} }, ensure.Updated, ensure.DesiredChanged, false},
		{"changes the data", func() { desired.Data["color"] = "red" }, ensure.Updated, ensure.DesiredChanged, true},
		{"reverts", func() {
			edited := get(t, c, &corev1.ConfigMap{})
			edited.Data["color"] = "green"
			require.NoError(t, c.Update(t.Context(), edited))
		}, ensure.Updated, ensure.Drifted, true},
		{"creates", func() { require.NoError(t, c.Delete(t.Context(), get(t, c, &corev1.ConfigMap{}))) }, ensure.Created, ensure.Missing, false},
	} {
		step.before()
		result, err := ensure.Object(t.Context(), e, desired, ensure.ControlledBy(owner), ensure.MigrateFrom("manager"))
		require.NoError(t, err, step.does)
		require.Equal(t, step.operation, result.Operation, step.does)
		require.Equal(t, step.cause, result.Cause, step.does)
		require.Equal(t, step.reloads, mustReload(result), step.does)
	}
}

// TestTablesAreComplete requires a row for each result of controllerutil, and for each reason of an event about a write.
func TestTablesAreComplete(t *testing.T) {
	page, err := os.ReadFile("../migration.md")
	require.NoError(t, err)
	for name, result := range map[string]controllerutil.OperationResult{
		"OperationResultNone":              controllerutil.OperationResultNone,
		"OperationResultCreated":           controllerutil.OperationResultCreated,
		"OperationResultUpdated":           controllerutil.OperationResultUpdated,
		"OperationResultUpdatedStatus":     controllerutil.OperationResultUpdatedStatus,
		"OperationResultUpdatedStatusOnly": controllerutil.OperationResultUpdatedStatusOnly,
	} {
		require.True(t, bytes.Contains(page, []byte("\n| `"+name+"`")), "no row for %s, which is %q", name, result)
	}
	_, events, found := bytes.Cut(page, []byte("\n## Events\n"))
	require.True(t, found)
	reasons := []ensure.Cause{ensure.DesiredChanged, ensure.Drifted, ensure.Adopted, ensure.Migrated, ensure.Unwanted}
	for _, reason := range append(reasons, ensure.Cause(ensure.Created)) {
		require.True(t, bytes.Contains(events, []byte("`"+reason+"`")), "no row for events with the reason %s", reason)
	}
}

// TestHostNetwork shows that a typed object cannot specify false, and that an unstructured object can.
func TestHostNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := newFake(t)
		typed := eachPass(c, func(ctx context.Context, shop *Shop) (any, error) {
			desired := deploymentFor(shop)
			desired.Spec.Template.Spec.HostNetwork = false
			return ensure.Object(ctx, e, desired, ensure.ControlledBy(shop))
		})
		unstructured := eachPass(c, func(ctx context.Context, shop *Shop) (any, error) { return ensureWithoutHostNetwork(ctx, e, shop) })
		edit := func() {
			live := get(t, c, &appsv1.Deployment{})
			live.Spec.Template.Spec.HostNetwork = true
			require.NoError(t, c.Update(t.Context(), live))
		}
		hostNetwork := func() bool { return get(t, c, &appsv1.Deployment{}).Spec.Template.Spec.HostNetwork }
		ensuretest.Converge(t, c, typed)

		edit()
		require.Equal(t, []string{confirmed}, shown(ensuretest.Converge(t, c, typed)))
		require.True(t, hostNetwork())

		ensuretest.Converge(t, c, unstructured)
		require.False(t, hostNetwork())
		edit()
		require.Len(t, ensuretest.Converge(t, c, unstructured), 1)
		require.False(t, hostNetwork())
		require.Empty(t, ensuretest.Converge(t, c, unstructured))
	})
}

func TestFinalizer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newFake(t)
		deletions, errOnce := 0, errors.New("no answer")
		deleteRecord := func(context.Context) (err error) {
			if deletions++; deletions == 1 {
				err = errOnce
			}
			return err
		}
		before := eachPass(c, func(ctx context.Context, shop *Shop) (bool, error) {
			return handleFinalizer(ctx, c, shop, deleteRecord)
		})
		require.Equal(t, []string{"update Shop default/web: metadata.finalizers"}, shown(ensuretest.Converge(t, c, before)))

		after := eachPass(c, func(ctx context.Context, shop *Shop) (any, error) { return handle(ctx, c, shop, deleteRecord) })
		require.Empty(t, ensuretest.Converge(t, c, after))
		require.NoError(t, c.Delete(t.Context(), get(t, c, &Shop{})))
		require.Equal(t, []string{"patch Shop default/web: gone"}, shown(ensuretest.Converge(t, c, after)))
		require.Equal(t, 2, deletions)
	})
}

func TestHandleFinalizerDeletes(t *testing.T) {
	c, _ := newFake(t)
	shop := get(t, c, &Shop{})
	errRecord := errors.New("no answer")
	failing := func(context.Context) error { return errRecord }
	for _, step := range []struct {
		deleteRecord func(context.Context) error
		done         bool
		err          error
	}{{failing, false, nil}, {failing, true, errRecord}, {func(context.Context) error { return nil }, true, nil}} {
		done, err := handleFinalizer(t.Context(), c, shop, step.deleteRecord)
		require.ErrorIs(t, err, step.err)
		require.Equal(t, step.done, done)
		if shop.DeletionTimestamp.IsZero() {
			require.NoError(t, c.Delete(t.Context(), shop))
			shop = get(t, c, &Shop{})
		}
	}
}

func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := newFake(t)
		before := eachPass(c, func(ctx context.Context, shop *Shop) (any, error) {
			result, err := ensureDeployment(ctx, e, shop)
			return nil, errors.Join(err, updateStatus(ctx, c, shop, result.Live))
		})
		require.NoError(t, before(t.Context()))
		require.NoError(t, before(t.Context()))
		require.Equal(t, []string{
			"apply Deployment default/web: created",
			"update status of Shop default/web: status.conditions",
			"update status of Shop default/web: changed nothing",
		}, shown(c.Requests()))

		after := eachPass(c, func(ctx context.Context, shop *Shop) (any, error) {
			result, err := ensureDeployment(ctx, e, shop)
			return nil, errors.Join(err, patchStatus(ctx, c, shop, result, err))
		})
		require.Len(t, ensuretest.Converge(t, c, after), 1)
		require.Empty(t, ensuretest.Converge(t, c, after))

		deployment := get(t, c, &appsv1.Deployment{})
		deployment.Status = appsv1.DeploymentStatus{
			ObservedGeneration: deployment.Generation, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 3,
		}
		require.NoError(t, c.Status().Update(t.Context(), deployment))
		require.NoError(t, before(t.Context()))
		require.Equal(t, metav1.ConditionTrue, get(t, c, &Shop{}).Status.Conditions[0].Status)
	})
}

func TestSetup(t *testing.T) {
	r := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil })
	require.NoError(t, setupWithFilter(newManager(t), r))
	require.NoError(t, setup(newManager(t), r))
}
