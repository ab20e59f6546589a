package migration_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const restartedAt = "example.com/restartedAt"

// A workload is a kind with a pod template.
type workload struct {
	make func(namespace string) client.Object
	path string // of the template
	pods func(client.Object) *corev1.PodTemplateSpec
}

// templated describes the desired state of a workload kind, without defaults.
func templated[T any, P interface {
	*T
	client.Object
}](path string, pods func(P) *corev1.PodTemplateSpec, set func(P)) workload {
	return workload{
		path: path,
		make: func(namespace string) client.Object {
			obj := P(new(T))
			obj.SetNamespace(namespace)
			obj.SetName("web")
			template := pods(obj)
			template.Labels = webLabels()
			template.Spec.SchedulerName = "nobody"
			template.Spec.Containers = []corev1.Container{{Name: "web", Image: "nginx:1.29"}}
			set(obj)
			return obj
		},
		pods: func(obj client.Object) *corev1.PodTemplateSpec { return pods(obj.(P)) },
	}
}

func workloads() map[string]workload {
	selector := &metav1.LabelSelector{MatchLabels: webLabels()}
	return map[string]workload{
		"Deployment": templated("spec.template", func(o *appsv1.Deployment) *corev1.PodTemplateSpec { return &o.Spec.Template },
			func(o *appsv1.Deployment) { o.Spec.Selector = selector }),
		"StatefulSet": templated("spec.template", func(o *appsv1.StatefulSet) *corev1.PodTemplateSpec { return &o.Spec.Template },
			func(o *appsv1.StatefulSet) { o.Spec.Selector = selector }),
		"DaemonSet": templated("spec.template", func(o *appsv1.DaemonSet) *corev1.PodTemplateSpec { return &o.Spec.Template },
			func(o *appsv1.DaemonSet) { o.Spec.Selector = selector }),
		"ReplicaSet": templated("spec.template", func(o *appsv1.ReplicaSet) *corev1.PodTemplateSpec { return &o.Spec.Template },
			func(o *appsv1.ReplicaSet) { o.Spec.Selector = selector }),
		"ReplicationController": templated("spec.template", func(o *corev1.ReplicationController) *corev1.PodTemplateSpec {
			if o.Spec.Template == nil {
				o.Spec.Template = &corev1.PodTemplateSpec{}
			}
			return o.Spec.Template
		}, func(o *corev1.ReplicationController) { o.Spec.Selector = webLabels() }),
		"CronJob": templated("spec.jobTemplate.spec.template",
			func(o *batchv1.CronJob) *corev1.PodTemplateSpec { return &o.Spec.JobTemplate.Spec.Template },
			func(o *batchv1.CronJob) {
				o.Spec.Schedule = "0 4 30 2 *"
				o.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
			}),
		"Job": templated("spec.template", func(o *batchv1.Job) *corev1.PodTemplateSpec { return &o.Spec.Template },
			func(o *batchv1.Job) {
				o.Spec.Suspend = new(true)
				o.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
			}),
	}
}

// asJSON returns an object as a program without its Go type writes the object.
func asJSON(t *testing.T, obj client.Object) client.Object {
	t.Helper()
	scheme, err := program.Scheme()
	require.NoError(t, err)
	kinds, _, err := scheme.ObjectKinds(obj)
	require.NoError(t, err)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	require.NoError(t, err)
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kinds[0])
	delete(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	return u
}

func typedAsIs(_ *testing.T, obj client.Object) client.Object { return obj }

var writings = map[string]func(*testing.T, client.Object) client.Object{"typed": typedAsIs, "unstructured": asJSON}

// liveOf returns the live object for obj.
func liveOf[T client.Object](t *testing.T, c client.Client, obj T) T {
	t.Helper()
	live, _ := obj.DeepCopyObject().(T)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(obj), live))
	return live
}

// TestMigrationSparesPods: the old operator restarted pods by an annotation in the template, and
// also wrote defaults explicitly. Only the loss of the annotation would change the pods.
func TestMigrationSparesPods(t *testing.T) {
	for kind, w := range workloads() {
		for form, written := range writings {
			t.Run(kind+"/"+form, func(t *testing.T) {
				namespace, old, c := shared.Namespace(t), program.Client(t, shared, oldName), program.Client(t, shared, taker)
				before := w.make(namespace)
				pods := w.pods(before)
				pods.Spec.TerminationGracePeriodSeconds = new(int64(30))
				pods.Spec.Containers[0].ImagePullPolicy = corev1.PullIfNotPresent
				require.NoError(t, old.Create(t.Context(), before))
				update(t, old, before, func(live client.Object) { w.pods(live).Annotations = map[string]string{restartedAt: "today"} })
				desired := func() client.Object { return written(t, w.make(namespace)) }
				opts := []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName)}
				e := ensure.New(c, c, taker)
				marker := w.path + ".metadata.annotations[" + restartedAt + "]"

				was := liveOf(t, c, w.make(namespace))
				for _, more := range [][]ensure.Option{nil, {ensure.DryRun()}} {
					_, err := ensure.Object(t.Context(), e, desired(), append(more, opts...)...)
					require.ErrorIs(t, err, ensure.ErrRefused)
					var refused *ensure.Error
					require.ErrorAs(t, err, &refused)
					require.Empty(t, cmp.Diff([]string{marker}, refused.Paths))
					require.ErrorContains(t, err, "set by "+oldName)
					require.ErrorContains(t, err, "ensure.Release")
					require.ErrorContains(t, err, "ensure.RemoveFromPodTemplates")
				}
				requireUntouched(t, c, was)
				begin := shared.Mark()
				_, err := ensure.Object(t.Context(), e, desired(), opts...)
				require.ErrorIs(t, err, ensure.ErrRefused)
				require.Empty(t, writesOf(t, begin, taker), "the refusal is remembered")

				kept := ensureBesideControllers(t, e, desired(), append(opts, ensure.Release(marker))...)
				require.Equal(t, ensure.Migrated, kept.Cause)
				require.Equal(t, "today", w.pods(liveOf(t, c, w.make(namespace))).Annotations[restartedAt])
			})
		}
	}
}

// TestMigrationSparesPodsOfCustomKinds: a part with containers in its spec counts as a pod
// template.
func TestMigrationSparesPodsOfCustomKinds(t *testing.T) {
	namespace, old, c := shared.Namespace(t), program.Client(t, shared, oldName), program.Client(t, shared, taker)
	defineGauges(t)
	gauge := func(annotations map[string]any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"workload": map[string]any{
			"metadata": annotations, "spec": map[string]any{"containers": []any{map[string]any{"name": "web"}}},
		}}}}
		u.SetAPIVersion("metering.example.com/v1")
		u.SetKind("Gauge")
		u.SetNamespace(namespace)
		u.SetName("pods")
		return u
	}
	require.NoError(t, old.Create(t.Context(), gauge(map[string]any{"restarted": "today", "kept": "x"})))
	opts := []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName)}
	_, err := ensure.Object(t.Context(), ensure.New(c, c, taker), gauge(map[string]any{"kept": "x"}), opts...)
	var refused *ensure.Error
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, err, ensure.ErrRefused)
	require.Equal(t, []string{"spec.workload.metadata.restarted"}, refused.Paths)
}

// TestMigrationLeavesWhatOthersOwnInPodTemplates, too: that is no removal.
func TestMigrationLeavesWhatOthersOwnInPodTemplates(t *testing.T) {
	namespace, old, c := shared.Namespace(t), program.Client(t, shared, oldName), program.Client(t, shared, taker)
	before := idle(namespace)
	before.Spec.Template.Annotations = map[string]string{restartedAt: "today"}
	require.NoError(t, old.Create(t.Context(), before))
	shares := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": map[string]any{restartedAt: "today"}}}},
	}}
	shares.SetAPIVersion("apps/v1")
	shares.SetKind("Deployment")
	shares.SetNamespace(namespace)
	shares.SetName("web")
	require.NoError(t, c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(shares), client.FieldOwner("neighbour")))
	awaitStatus(t, c, before, 1)
	result := mustEnsure(t, ensure.New(c, c, taker), idle(namespace), ensure.Adopt(), ensure.MigrateFrom(oldName))
	require.Equal(t, ensure.Migrated, result.Cause)
	require.Equal(t, "today", result.Live.Spec.Template.Annotations[restartedAt])
}

// ensureBesideControllers is as mustEnsure. A controller's first report may come in between.
func ensureBesideControllers(t *testing.T, e *ensure.Ensurer, desired client.Object, opts ...ensure.Option) ensure.Result[client.Object] {
	t.Helper()
	var result ensure.Result[client.Object]
	require.Eventually(t, func() bool {
		var err error
		result, err = ensure.Object(t.Context(), e, desired, opts...)
		return !apierrors.IsConflict(err)
	}, limit, tick)
	require.NotNil(t, result.Live)
	return result
}

// requireUntouched fails if anything but the status of an object was written.
func requireUntouched(t *testing.T, c client.Client, was client.Object) {
	t.Helper()
	is := liveOf(t, c, was)
	require.Equal(t, was.GetGeneration(), is.GetGeneration())
	for _, entry := range is.GetManagedFields() {
		require.NotEqual(t, taker, entry.Manager)
	}
}

// update changes an object as the program behind c does.
func update[T client.Object](t *testing.T, c client.Client, obj T, set func(live T)) {
	t.Helper()
	require.Eventually(t, func() bool { // beside the built-in controllers
		live := liveOf(t, c, obj)
		set(live)
		return c.Update(t.Context(), live) == nil
	}, limit, tick)
}

// TestMigrationRemovesFromPodTemplatesIfAllowed: the migration removes the fields that a dry run
// reported.
func TestMigrationRemovesFromPodTemplatesIfAllowed(t *testing.T) {
	for form, written := range writings {
		restarted := map[string]string{"typed": "[" + restartedAt + "]"}[form] // a Go type always has the annotations
		t.Run(form, func(t *testing.T) {
			namespace, old, c := shared.Namespace(t), program.Client(t, shared, oldName), program.Client(t, shared, taker)
			w := workloads()["Deployment"]
			before := w.make(namespace)
			pods := w.pods(before)
			pods.Annotations = map[string]string{restartedAt: "today"}
			pods.Spec.TerminationGracePeriodSeconds = new(int64(60))
			pods.Spec.Containers = append(pods.Spec.Containers, corev1.Container{Name: "sidecar", Image: "envoy"})
			require.NoError(t, old.Create(t.Context(), before))
			opts := []ensure.Option{ensure.Adopt(), ensure.MigrateFrom("unknown", oldName), ensure.RemoveFromPodTemplates()}
			e := ensure.New(c, c, taker)

			told := mustEnsure(t, e, written(t, w.make(namespace)), append(opts, ensure.DryRun())...)
			requireUntouched(t, c, before)
			done := ensureBesideControllers(t, e, written(t, w.make(namespace)), opts...)
			for _, result := range []ensure.Result[client.Object]{told, done} {
				require.Equal(t, ensure.Updated, result.Operation)
				require.Equal(t, ensure.Migrated, result.Cause)
				removed := map[string]bool{}
				for _, change := range result.Changes {
					if change.Manager != "" {
						require.Equal(t, oldName, change.Manager)
						removed[change.Path] = true
					}
				}
				require.Contains(t, removed, "spec.template.metadata.annotations"+restarted)
				require.Contains(t, removed, "spec.template.spec.terminationGracePeriodSeconds")
				if form == "typed" {
					require.Contains(t, removed, "spec.template.spec.containers[name=sidecar]")
				}
				require.NotContains(t, removed, "metadata.annotations[spec-hash.trueup-go.github.io/"+taker+"]")
			}
			require.Empty(t, cmp.Diff(told.Changes, done.Changes))
		})
	}
}

// TestMigrationTellsWhatItRemoves: the migration of any kind reports the fields that it removes, in
// a dry run and afterwards.
func TestMigrationTellsWhatItRemoves(t *testing.T) {
	for _, way := range accesses {
		for form, written := range writings {
			t.Run(way.name+"/"+form, func(t *testing.T) {
				namespace, name := shared.Namespace(t), fmt.Sprintf("teller-%d", len(way.name)+len(form))
				owned := settings(namespace, map[string]string{"color": "blue", "dropped": "x"})
				owned.Annotations = map[string]string{"dropped": "x", "kept": "x"}
				owned.Finalizers = []string{"example.com/dropped"}
				require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), owned))
				setData(t, program.Client(t, shared, "neighbour"), namespace, map[string]string{"theirs": "x"})
				shares := settings(namespace, map[string]string{"shared": "x"})
				setData(t, program.Client(t, shared, oldName), namespace, map[string]string{"shared": "x"})
				co := asJSON(t, shares).(*unstructured.Unstructured)
				require.NoError(t, program.Client(t, shared, "neighbour").Apply(t.Context(),
					client.ApplyConfigurationFromUnstructured(co), client.FieldOwner("neighbour")))

				c, reader := way.open(t, name)
				e := ensure.New(c, reader, taker)
				desired := func() client.Object {
					obj := settings(namespace, map[string]string{"color": "blue"})
					obj.Annotations = map[string]string{"kept": "x"}
					return written(t, obj)
				}
				opts := []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName), ensure.Release("metadata.annotations[kept2]")}
				want := []ensure.Change{
					{Path: "data[dropped]", Manager: oldName},
					{Path: "metadata.annotations[dropped]", Manager: oldName},
					{Path: "metadata.annotations[" + digest + taker + "]"},
					{Path: "metadata.finalizers", Manager: oldName},
				}
				if form == "unstructured" {
					want[0].Path = "data.dropped"
				}
				told := mustEnsure(t, e, desired(), append(opts, ensure.DryRun())...)
				done := mustEnsure(t, e, desired(), opts...)
				for _, result := range []ensure.Result[client.Object]{told, done} {
					require.Equal(t, ensure.Migrated, result.Cause)
					require.Equal(t, ensure.Updated, result.Operation)
					require.ElementsMatch(t, want, result.Changes)
				}
				require.Equal(t, map[string]string{"color": "blue", "theirs": "x", "shared": "x"},
					dataOf(t, program.Client(t, shared, "test"), namespace))
			})
		}
	}
}

// A failingClient fails each apply.
type failingClient struct{ client.Client }

func (b failingClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if patch.Type() == types.ApplyPatchType {
		return errors.New("the connection is lost")
	}
	return b.Client.Patch(ctx, obj, patch, opts...)
}

// TestMigrationIsFinishedAfterACrash: after a crash between its two writes, the migration removes
// and reports the same fields. This holds for the second run of the old operator, too.
func TestMigrationIsFinishedAfterACrash(t *testing.T) {
	for _, way := range accesses {
		for round, restart := range map[string]bool{"a restart": true, "no restart": false} {
			t.Run(way.name+"/"+round, func(t *testing.T) {
				namespace, name := shared.Namespace(t), fmt.Sprintf("crasher-%d", len(way.name)+len(round))
				old := program.Client(t, shared, oldName)
				c, reader := way.open(t, name)
				broken := &switchableClient{Client: c, fails: true}
				clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
				e := ensure.New(broken, reader, taker, ensure.WithClock(clock))
				desired := map[string]string{"color": "blue"}
				opts := []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName)}
				for range 2 {
					update := settings(namespace, map[string]string{"color": "blue", "dropped": "x"})
					setData(t, old, namespace, update.Data)
					annotate(t, old, namespace)
					awaitData(t, c, namespace, "dropped")
					broken.fails = true
					for range 2 {
						_, err := ensure.Object(t.Context(), e, settings(namespace, desired), opts...)
						require.ErrorIs(t, err, ensure.ErrAPI)
						clock.SetTime(clock.Now().Add(time.Minute))
					}
					broken.fails = false
					if restart {
						e = ensure.New(broken, reader, taker, ensure.WithClock(clock))
					}
					result := mustEnsure(t, e, settings(namespace, desired), opts...)
					require.Equal(t, ensure.Migrated, result.Cause)
					require.Contains(t, result.Changes, ensure.Change{Path: "data[dropped]", Manager: oldName})
					require.Contains(t, result.Changes, ensure.Change{Path: "metadata.annotations[dropped]", Manager: oldName})
					require.Equal(t, desired, dataOf(t, old, namespace))
				}
			})
		}
	}
}

// A switchableClient fails applies while fails is set.
type switchableClient struct {
	client.Client

	fails bool
}

func (s *switchableClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if s.fails {
		return failingClient{s.Client}.Patch(ctx, obj, patch, opts...)
	}
	return s.Client.Patch(ctx, obj, patch, opts...)
}

func annotate(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	update(t, c, settings(namespace, nil), func(live *corev1.ConfigMap) {
		metav1.SetMetaDataAnnotation(&live.ObjectMeta, "dropped", "x")
	})
}

// awaitData waits until c shows a key and the annotation.
func awaitData(t *testing.T, c client.Client, namespace, key string) {
	t.Helper()
	require.Eventually(t, func() bool {
		live := settings(namespace, nil)
		err := c.Get(t.Context(), client.ObjectKeyFromObject(live), live)
		return err == nil && live.Data[key] != "" && live.Annotations["dropped"] != ""
	}, limit, tick)
}
