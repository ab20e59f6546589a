package migration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const releaser = "release-operator"

// idle is a Deployment whose pods nobody schedules.
func idle(namespace string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: webLabels()}
	d.Spec.Template.Labels = webLabels()
	d.Spec.Template.Spec.SchedulerName = "nobody"
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "nginx:1.29"}}
	return d
}

func withReplicas(d *appsv1.Deployment, n int32) *appsv1.Deployment {
	d.Spec.Replicas = &n
	return d
}

// autoscale scales as an autoscaler does.
func autoscale(t *testing.T, c client.Client, d *appsv1.Deployment, n int32) {
	t.Helper()
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: n}}
	require.NoError(t, c.SubResource("scale").Update(t.Context(), d, client.WithSubResourceBody(scale),
		client.FieldOwner("kube-controller-manager")))
}

func replicas(t *testing.T, c client.Client, d *appsv1.Deployment) int32 {
	t.Helper()
	var live appsv1.Deployment
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(d), &live))
	return *live.Spec.Replicas
}

func mustEnsure[T client.Object](t *testing.T, e *ensure.Ensurer, desired T, opts ...ensure.Option) ensure.Result[T] {
	t.Helper()
	result, err := ensure.Object(t.Context(), e, desired, opts...)
	require.NoError(t, err)
	return result
}

// awaitReplicas waits until c shows n replicas.
func awaitReplicas(t *testing.T, c client.Client, d *appsv1.Deployment, n int32) {
	t.Helper()
	require.Eventually(t, func() bool { return replicas(t, c, d) == n }, limit, tick)
}

// awaitStatus waits until the controller has reported n pods that nobody schedules, and reads shows
// the report: the first report moves the entries of the other managers.
func awaitStatus(t *testing.T, c client.Client, d *appsv1.Deployment, n int32) {
	t.Helper()
	require.Eventually(t, func() bool {
		var live appsv1.Deployment
		require.NoError(t, client.IgnoreNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(d), &live)))
		return live.Status.UnavailableReplicas == n && live.Status.UpdatedReplicas == n
	}, limit, tick)
}

// TestReleaseOfReplicas hands the number of replicas over to an autoscaler. The number stays until
// the autoscaler changes it, and then follows the autoscaler.
func TestReleaseOfReplicas(t *testing.T) {
	for _, way := range accesses {
		t.Run(way.name, func(t *testing.T) {
			namespace, plain := shared.Namespace(t), program.Client(t, shared, "test")
			c, reader := way.open(t, releaser)
			e := ensure.New(c, reader, releaser)
			mustEnsure(t, e, withReplicas(idle(namespace), 5))
			awaitReplicas(t, c, idle(namespace), 5)

			begin := shared.Mark()
			result := mustEnsure(t, e, idle(namespace), ensure.Release("spec.replicas"))
			require.Equal(t, ensure.DesiredChanged, result.Cause)
			require.Equal(t, int32(5), *result.Live.Spec.Replicas)
			require.Len(t, writesOf(t, begin, releaser), 2)
			require.Equal(t, int32(5), replicas(t, plain, idle(namespace)))

			for _, opts := range [][]ensure.Option{{ensure.Release("spec.replicas")}, nil} {
				for _, n := range []int32{7, 2} {
					autoscale(t, plain, idle(namespace), n)
					awaitReplicas(t, c, idle(namespace), n)
					begin = shared.Mark()
					for range passes {
						require.Equal(t, ensure.Unchanged, mustEnsure(t, e, idle(namespace), opts...).Operation)
					}
					require.LessOrEqual(t, len(writesOf(t, begin, releaser)), 1, "the server may be asked once")
					require.Equal(t, n, replicas(t, plain, idle(namespace)))
				}
			}
		})
	}
}

func writesOf(t *testing.T, since cluster.Mark, name string) []cluster.Request {
	t.Helper()
	var found []cluster.Request
	for _, r := range program.Requests(t, shared, since, name) {
		if cluster.Writes(r) {
			found = append(found, r)
		}
	}
	return found
}

// TestReleaseIsNeeded shows the effect of only leaving a field out.
func TestReleaseIsNeeded(t *testing.T) {
	namespace, c := shared.Namespace(t), program.Client(t, shared, releaser)
	e := ensure.New(c, c, releaser)
	mustEnsure(t, e, withReplicas(idle(namespace), 5))
	mustEnsure(t, e, idle(namespace))
	require.Equal(t, int32(1), replicas(t, c, idle(namespace)), "reset to the default")
}

// TestReleaseWithMigration moves an operator over that set the replicas, and hands them over
// in the same two writes.
func TestReleaseWithMigration(t *testing.T) {
	for _, way := range accesses {
		t.Run(way.name, func(t *testing.T) {
			namespace, old := shared.Namespace(t), program.Client(t, shared, oldName)
			c, reader := way.open(t, releaser)
			obj := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
			_, err := controllerutil.CreateOrUpdate(t.Context(), old, obj, func() error {
				obj.Spec = withReplicas(idle(namespace), 5).Spec
				return nil
			})
			require.NoError(t, err)
			awaitStatus(t, c, idle(namespace), 5)

			counted := &patchCounter{Client: c, stored: map[string]int{}}
			e := ensure.New(counted, reader, releaser)
			opts := []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName), ensure.Release("spec.replicas")}
			require.Equal(t, ensure.Migrated, mustEnsure(t, e, idle(namespace), opts...).Cause)
			require.Equal(t, map[string]int{"Deployment": 2}, counted.stored)
			require.Equal(t, int32(5), replicas(t, old, idle(namespace)))

			autoscale(t, old, idle(namespace), 7)
			awaitReplicas(t, c, idle(namespace), 7)
			for range passes {
				require.Equal(t, ensure.Unchanged, mustEnsure(t, e, idle(namespace), opts...).Operation)
			}
			require.Equal(t, int32(7), replicas(t, old, idle(namespace)))
		})
	}
}

// TestReleaseToAnAutoscaler has the controller itself take over.
func TestReleaseToAnAutoscaler(t *testing.T) {
	namespace, c := shared.Namespace(t), program.Client(t, shared, releaser)
	e := ensure.New(c, c, releaser)
	mustEnsure(t, e, withReplicas(idle(namespace), 5))
	mustEnsure(t, e, idle(namespace), ensure.Release("spec.replicas"))
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
	autoscaler.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	autoscaler.Spec.MinReplicas, autoscaler.Spec.MaxReplicas = new(int32(7)), 9
	require.NoError(t, c.Create(t.Context(), autoscaler))
	awaitReplicas(t, c, idle(namespace), 7)
	for range passes {
		mustEnsure(t, e, idle(namespace), ensure.Release("spec.replicas"))
	}
	require.Equal(t, int32(7), replicas(t, c, idle(namespace)))
}

// TestReleaseOfPaths releases one field of each form, applied by us or written by an old manager. A
// field that is retired instead is reset.
func TestReleaseOfPaths(t *testing.T) {
	const container = "spec.template.spec.containers[name=web]"
	const port = container + ".ports[containerPort=80,protocol=TCP]"
	cases := map[string]struct {
		set func(d *appsv1.Deployment)
		get func(d *appsv1.Deployment) any
	}{
		"metadata.annotations[example.com/x]": {
			func(d *appsv1.Deployment) { d.Annotations = map[string]string{"example.com/x": "1"} },
			func(d *appsv1.Deployment) any { return d.Annotations["example.com/x"] },
		},
		"metadata.finalizers[example.com/x]": {
			func(d *appsv1.Deployment) { d.Finalizers = []string{"example.com/x"} },
			func(d *appsv1.Deployment) any { return len(d.Finalizers) },
		},
		"spec.strategy": {
			func(d *appsv1.Deployment) { d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType },
			func(d *appsv1.Deployment) any { return d.Spec.Strategy.Type },
		},
		"spec.template.spec.securityContext.fsGroup": {
			func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: new(int64(7))}
			},
			func(d *appsv1.Deployment) any { return ptr.Deref(d.Spec.Template.Spec.SecurityContext.FSGroup, 0) },
		},
		container + ".resources.limits[memory]": {
			func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
			},
			func(d *appsv1.Deployment) any {
				return d.Spec.Template.Spec.Containers[0].Resources.Limits.Memory().String()
			},
		},
		container + ".env[name=X]": {
			func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "X", Value: "1"}}
			},
			func(d *appsv1.Deployment) any { return len(d.Spec.Template.Spec.Containers[0].Env) },
		},
		port: {
			func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, Name: "http"}}
			},
			func(d *appsv1.Deployment) any { return len(d.Spec.Template.Spec.Containers[0].Ports) },
		},
		"spec.template.spec.containers[name=sidecar]": {
			func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "sidecar", Image: "x"})
			},
			func(d *appsv1.Deployment) any { return len(d.Spec.Template.Spec.Containers) },
		},
	}
	for path, tc := range cases {
		for name, write := range map[string]func(t *testing.T, d *appsv1.Deployment){
			"applied by us": func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				c := program.Client(t, shared, releaser)
				mustEnsure(t, ensure.New(c, c, releaser), d)
			},
			"of an old manager": func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), d))
			},
		} {
			t.Run(path+" "+name, func(t *testing.T) {
				for _, released := range []bool{true, false} {
					namespace, c := shared.Namespace(t), program.Client(t, shared, releaser)
					d := idle(namespace)
					tc.set(d)
					write(t, d)
					awaitStatus(t, c, d, 1)
					before := &appsv1.Deployment{}
					require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(d), before))
					opts := []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName)}
					if released {
						opts = append(opts, ensure.Release(path))
					} else {
						opts = append(opts, ensure.Retire(path))
					}
					after := mustEnsure(t, ensure.New(c, c, releaser), idle(namespace), opts...).Live
					require.Equal(t, released, tc.get(before) == tc.get(after), "%v -> %v, released %v", tc.get(before), tc.get(after), released)
				}
			})
		}
	}
}

// TestReleaseOfPartOfWhatGoes: a value cannot stay if its whole parent is removed.
func TestReleaseOfPartOfWhatGoes(t *testing.T) {
	const port = "spec.template.spec.containers[name=web].ports[containerPort=80,protocol=TCP]"
	namespace, c := shared.Namespace(t), program.Client(t, shared, releaser)
	e := ensure.New(c, c, releaser)
	d := idle(namespace)
	d.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, Name: "http"}}
	mustEnsure(t, e, d)
	awaitStatus(t, c, d, 1)
	before := mustEnsure(t, e, d).Live

	_, err := ensure.Object(t.Context(), e, idle(namespace), ensure.Release(port+".name"))
	require.ErrorIs(t, err, ensure.ErrRefused)
	require.ErrorContains(t, err, "give ensure.Release "+port)
	require.Equal(t, before.ResourceVersion, mustEnsure(t, e, d).Live.ResourceVersion)

	after := mustEnsure(t, e, idle(namespace), ensure.Release(port)).Live
	require.Equal(t, before.Spec.Template, after.Spec.Template)
}
