package migration_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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
	removeUnset(content)
	return u
}

// removeUnset removes the structs that the encoding of a Go type always has, such as an empty strategy.
func removeUnset(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range []string{"creationTimestamp", "strategy", "updateStrategy", "resources"} {
			if members, isStruct := value[name].(map[string]any); value[name] == nil || isStruct && len(members) == 0 {
				delete(value, name)
			}
		}
		for _, member := range value {
			removeUnset(member)
		}
	case []any:
		for _, item := range value {
			removeUnset(item)
		}
	}
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
// also wrote defaults explicitly. The migration changes nothing of it. The annotation goes if it is retired.
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
				e, marker := ensure.New(c, c, taker), w.path+".metadata.annotations["+restartedAt+"]"
				do := func(opts ...ensure.Option) ensure.Result[client.Object] {
					opts = append(opts, ensure.Adopt(), ensure.MigrateFrom(oldName))
					return ensureBesideControllers(t, e, written(t, w.make(namespace)), opts...)
				}

				was := liveOf(t, c, w.make(namespace))
				kept := ensure.KeptField{Path: marker, Manager: oldName}
				require.Contains(t, do(ensure.DryRun()).Kept, kept)
				requireUntouched(t, c, was)
				result := do()
				require.Equal(t, ensure.Migrated, result.Cause)
				require.Contains(t, result.Kept, kept)
				require.Empty(t, cmp.Diff(w.pods(was), w.pods(liveOf(t, c, w.make(namespace)))))
				require.Equal(t, ensure.Unchanged, do().Operation)

				require.Equal(t, ensure.Migrated, do(ensure.Retire(marker)).Cause)
				w.pods(was).Annotations = nil
				require.Empty(t, cmp.Diff(w.pods(was), w.pods(liveOf(t, c, w.make(namespace)))))
			})
		}
	}
}

// ensureBesideControllers is as mustEnsure. A controller's first report may come in between.
func ensureBesideControllers(t *testing.T, e *ensure.Ensurer, desired client.Object, opts ...ensure.Option) ensure.Result[client.Object] {
	t.Helper()
	var result ensure.Result[client.Object]
	var err error
	require.Eventually(t, func() bool {
		result, err = ensure.Object(t.Context(), e, desired, opts...)
		return !apierrors.IsConflict(err)
	}, limit, tick)
	require.NoError(t, err)
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

// TestMigrationTellsWhatStays: the migration reports what the old operator set and desired lacks, in a dry run and
// afterwards.
func TestMigrationTellsWhatStays(t *testing.T) {
	for _, way := range accesses {
		for form, written := range writings {
			t.Run(way.name+"/"+form, func(t *testing.T) {
				namespace, name := shared.Namespace(t), fmt.Sprintf("teller-%d", len(way.name)+len(form))
				all := map[string]string{"color": "blue", "dropped": "x", "kept": "x"}
				owned := settings(namespace, maps.Clone(all))
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
				opts := []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName), ensure.Release("data[kept]")}
				want := []ensure.KeptField{
					{Path: "data[dropped]", Manager: oldName},
					{Path: "data[shared]", Manager: oldName},
					{Path: "metadata.annotations[dropped]", Manager: oldName},
					{Path: "metadata.finalizers[example.com/dropped]", Manager: oldName},
				}
				if form == "unstructured" {
					want[0].Path, want[1].Path = "data.dropped", "data.shared"
				}
				told := mustEnsure(t, e, desired(), append(opts, ensure.DryRun())...)
				done := mustEnsure(t, e, desired(), opts...)
				for _, result := range []ensure.Result[client.Object]{told, done} {
					require.Equal(t, ensure.Migrated, result.Cause)
					require.Equal(t, ensure.Updated, result.Operation)
					require.Equal(t, []ensure.Change{{Path: "metadata.annotations[" + digest + taker + "]"}}, result.Changes)
					require.ElementsMatch(t, want, result.Kept)
				}
				all["theirs"], all["shared"] = "x", "x"
				require.Equal(t, all, dataOf(t, program.Client(t, shared, "test"), namespace))
			})
		}
	}
}
