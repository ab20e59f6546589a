package migration_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/ensuretest"
)

// The fake API server sets no defaults. test/suites/ensure/migration migrates an operator on a real API server.
// Converge waits for a second after a write, which takes no time in a bubble of synctest.

const (
	digest       = "metadata.annotations[spec-hash.trueup-go.github.io/shop-operator]"
	changeOwners = "patch Deployment default/web: changed nothing but metadata.managedFields"
	storeDigest  = "apply Deployment default/web: " + digest
	confirmed    = "apply Deployment default/web: changed nothing"
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
				require.Equal(t, []string{storeDigest, changeOwners}, shown(ensuretest.Converge(t, c, pass)))
				require.Equal(t, []ensure.Cause{ensure.Migrated, "", ""}, causes)
				require.Equal(t, before, get(t, c, &appsv1.Deployment{}).Spec)
				require.Empty(t, ensuretest.Converge(t, c, pass))
			})
		})
	}
}

func ensureWithoutReplicas(ctx context.Context, e *ensure.Ensurer, shop *Shop) (ensure.Result[*appsv1.Deployment], error) {
	desired := deploymentFor(shop)
	desired.Spec.Replicas = nil
	return ensure.Object(ctx, e, desired, ensure.ControlledBy(shop),
		ensure.MigrateFrom("manager"), ensure.Release("spec.replicas"))
}

// TestRelease requires that the replicas stay, whether an apply of ours had the field or not, and that their owner is shown.
func TestRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := newFake(t)
		ensuretest.Converge(t, c, eachPass(c, func(ctx context.Context, shop *Shop) (any, error) { return ensureDeployment(ctx, e, shop) }))
		pass := eachPass(c, func(ctx context.Context, shop *Shop) (any, error) { return ensureWithoutReplicas(ctx, e, shop) })
		require.Equal(t, []string{changeOwners, storeDigest}, shown(ensuretest.Converge(t, c, pass)))
		require.Equal(t, int32(3), *get(t, c, &appsv1.Deployment{}).Spec.Replicas)
		require.Equal(t, []string{"shop-operator Apply", "shop-operator-released Update"}, managers(get(t, c, &appsv1.Deployment{})))
	})
}

func managers(obj client.Object) (found []string) {
	for _, entry := range obj.GetManagedFields() {
		found = append(found, entry.Manager+" "+string(entry.Operation))
	}
	slices.Sort(found)
	return found
}

// TestRetire renames a container: the old one stays until it is retired, in the first release or in a later one.
func TestRetire(t *testing.T) {
	const container = "spec.template.spec.containers[name=web]"
	for name, isFirst := range map[string]bool{"in the first release": true, "in a later one": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, e := newFake(t)
				shop := get(t, c, &Shop{})
				old := deploymentFor(shop)
				old.Namespace, old.Spec.Template.Spec.Containers[0].Name = shop.Namespace, "web"
				require.NoError(t, controllerutil.SetControllerReference(shop, old, c.Scheme()))
				require.NoError(t, c.Create(t.Context(), old, client.FieldOwner("manager")))
				containers := func() int { return len(get(t, c, &appsv1.Deployment{}).Spec.Template.Spec.Containers) }

				if !isFirst {
					told, err := ensure.Object(t.Context(), e, deploymentFor(shop),
						ensure.ControlledBy(shop), ensure.MigrateFrom("manager"), ensure.DryRun())
					require.NoError(t, err)
					result, err := ensureDeployment(t.Context(), e, shop)
					require.NoError(t, err)
					require.Equal(t, ensure.Migrated, result.Cause)
					require.Equal(t, []ensure.KeptField{{Path: container, Manager: "manager"}}, result.Kept)
					require.Equal(t, result.Kept, told.Kept)
					require.Equal(t, 2, containers())
					e = ensure.New(c, c.APIReader(), "shop-operator")
				}
				result, err := ensureRetired(t.Context(), e, shop)
				require.NoError(t, err)
				require.Equal(t, ensure.Migrated, result.Cause)
				require.Contains(t, result.Changes, ensure.Change{Path: container, Manager: "manager"})
				require.Empty(t, result.Kept)
				require.Equal(t, 1, containers())
				require.Equal(t, []string{"shop-operator Apply"}, managers(result.Live))
				require.Empty(t, ensuretest.Converge(t, c, eachPass(c, func(ctx context.Context, shop *Shop) (any, error) {
					return ensureRetired(ctx, e, shop)
				})))
			})
		})
	}
}

// applyDeployment is an apply in each pass.
func applyDeployment(ctx context.Context, c client.Client, shop *Shop) error {
	owner := metav1ac.OwnerReference().WithAPIVersion("shop.example.com/v1").WithKind("Shop").
		WithName(shop.Name).WithUID(shop.UID).WithController(true).WithBlockOwnerDeletion(true)
	deployment := appsv1ac.Deployment(shop.Name, shop.Namespace).WithOwnerReferences(owner).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(shop.Spec.Replicas).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labelsOf(shop))).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(labelsOf(shop)).
				WithSpec(corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("shop").WithImage(shop.Spec.Image)))))
	return c.Apply(ctx, deployment, client.FieldOwner("shop-controller"), client.ForceOwnership)
}

func TestFromApply(t *testing.T) {
	for name, test := range map[string]struct {
		owner    string
		settings []ensure.Setting
		want     []string
	}{
		"another field owner": {
			"shop-operator", []ensure.Setting{ensure.FormerFieldOwners("shop-controller")}, []string{changeOwners, storeDigest},
		},
		"the same field owner": {
			"shop-controller", nil, []string{"apply Deployment default/web: metadata.annotations[spec-hash.trueup-go.github.io/shop-controller]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, another := newFake(t)
				shop := get(t, c, &Shop{})
				require.NoError(t, applyDeployment(t.Context(), c, shop))
				before := get(t, c, &appsv1.Deployment{}).Spec
				_, err := ensure.Object(t.Context(), another, deploymentFor(shop), ensure.ControlledBy(shop))
				require.ErrorIs(t, err, ensure.ErrForeign, "without FormerFieldOwners")

				e := ensure.New(c, c.APIReader(), test.owner, test.settings...)
				pass := eachPass(c, func(ctx context.Context, shop *Shop) (any, error) {
					return ensure.Object(ctx, e, deploymentFor(shop), ensure.ControlledBy(shop))
				})
				require.Equal(t, test.want, shown(ensuretest.Converge(t, c, pass)))
				require.Equal(t, before, get(t, c, &appsv1.Deployment{}).Spec)
				require.Empty(t, ensuretest.Converge(t, c, pass))
			})
		})
	}
}

// TestFromApplyWithFewerFields requires that fields which a former field owner applied go.
func TestFromApplyWithFewerFields(t *testing.T) {
	c, _ := newFake(t)
	shop := get(t, c, &Shop{})
	require.NoError(t, applyDeployment(t.Context(), c, shop))
	desired := deploymentFor(shop)
	desired.Spec.Replicas = nil
	e := ensure.New(c, c.APIReader(), "shop-operator", ensure.FormerFieldOwners("shop-controller"))
	result, err := ensure.Object(t.Context(), e, desired, ensure.ControlledBy(shop))
	require.NoError(t, err)
	require.Equal(t, ensure.Migrated, result.Cause)
	require.Nil(t, result.Live.Spec.Replicas)
}

// TestOwnWrites restarts pods by a patch of the operator's own, under the name that MigrateFrom gives and under another.
func TestOwnWrites(t *testing.T) {
	for _, name := range []string{"shop-operator-restarts", "manager"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, e := newFake(t)
				pass := eachPass(c, func(ctx context.Context, shop *Shop) (any, error) { return ensureDeployment(ctx, e, shop) })
				require.Len(t, ensuretest.Converge(t, c, pass), 1)

				restarted := get(t, c, &appsv1.Deployment{})
				patch := client.MergeFrom(restarted.DeepCopy())
				restarted.Spec.Template.Annotations = map[string]string{"shop.example.com/restarted-at": "today"}
				require.NoError(t, client.WithFieldOwner(c, name).Patch(t.Context(), restarted, patch))
				requests := shown(ensuretest.Converge(t, c, pass))
				require.Equal(t, []string{confirmed}, requests)
				require.NotEmpty(t, get(t, c, &appsv1.Deployment{}).Spec.Template.Annotations)
				require.Empty(t, ensuretest.Converge(t, c, pass))
			})
		})
	}
}

// TestTheFirstApplyToASecret requires that a generated password does not replace the one in use.
func TestTheFirstApplyToASecret(t *testing.T) {
	c, e := newFake(t)
	shop := get(t, c, &Shop{})
	secret := func(password string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Data: map[string][]byte{"password": []byte(password)},
		}
	}
	old := secret("in use")
	require.NoError(t, controllerutil.SetControllerReference(shop, old, c.Scheme()))
	require.NoError(t, c.Create(t.Context(), old, client.FieldOwner("manager")))
	for _, step := range []struct {
		opts []ensure.Option
		err  error
		want string
	}{
		{nil, ensure.ErrRefused, "in use"},
		{[]ensure.Option{ensure.Once("data[password]")}, nil, "in use"},
	} {
		opts := slices.Concat(step.opts, []ensure.Option{ensure.ControlledBy(shop), ensure.MigrateFrom("manager")})
		_, err := ensure.Object(t.Context(), e, secret("generated"), opts...)
		require.ErrorIs(t, err, step.err)
		if step.err != nil {
			require.ErrorContains(t, err, "data[password]")
		}
		require.Equal(t, step.want, string(get(t, c, &corev1.Secret{}).Data["password"]))
	}
}

// A failure is a T that keeps the text of a failure.
type failure struct {
	*testing.T
	text string
}

func (f *failure) Fatalf(format string, args ...any) { f.text = fmt.Sprintf(format, args...) }

func variablesInOrderOfMap(settings map[string]string) (variables []corev1.EnvVar) {
	for name, value := range settings {
		variables = append(variables, corev1.EnvVar{Name: name, Value: value})
	}
	return variables
}

func variables(settings map[string]string) (variables []corev1.EnvVar) {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		variables = append(variables, corev1.EnvVar{Name: name, Value: settings[name]})
	}
	return variables
}

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
		{"migrates", func() {}, ensure.Updated, ensure.Migrated, false},
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
		untyped := eachPass(c, func(ctx context.Context, shop *Shop) (any, error) {
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(deploymentFor(shop))
			require.NoError(t, err)
			delete(content, "status")
			desired := &unstructured.Unstructured{Object: content}
			desired.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
			require.NoError(t, unstructured.SetNestedField(content, false, "spec", "template", "spec", "hostNetwork"))
			return ensure.Object(ctx, e, desired, ensure.ControlledBy(shop))
		})
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

		ensuretest.Converge(t, c, untyped)
		require.False(t, hostNetwork())
		edit()
		require.Len(t, ensuretest.Converge(t, c, untyped), 1)
		require.False(t, hostNetwork())
		require.Empty(t, ensuretest.Converge(t, c, untyped))
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
		shop := get(t, c, &Shop{})
		require.True(t, controllerutil.AddFinalizer(shop, finalizerName))
		require.NoError(t, c.Update(t.Context(), shop))

		after := eachPass(c, func(ctx context.Context, shop *Shop) (any, error) { return handle(ctx, c, shop, deleteRecord) })
		require.Empty(t, ensuretest.Converge(t, c, after))
		require.NoError(t, c.Delete(t.Context(), get(t, c, &Shop{})))
		require.Equal(t, []string{"patch Shop default/web: gone"}, shown(ensuretest.Converge(t, c, after)))
		require.Equal(t, 2, deletions)
	})
}

// updateStatus is an update of the status in each pass.
func updateStatus(ctx context.Context, c client.Client, shop *Shop, deployment *appsv1.Deployment) error {
	condition := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Waiting", Message: "pods are not ready"}
	if deployment.Status.ReadyReplicas == shop.Spec.Replicas {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, "Ready", "all pods are ready"
	}
	meta.SetStatusCondition(&shop.Status.Conditions, condition)
	return c.Status().Update(ctx, shop)
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
	require.NoError(t, setup(newManager(t), r))
}
