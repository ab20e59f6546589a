package migration_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const oldContainer = "spec.template.spec.containers[name=old]"

// withOld is a Deployment as an older version made it, with a container and tolerations that desired lacks.
func withOld(namespace string) *appsv1.Deployment {
	d := idle(namespace)
	pods := &d.Spec.Template.Spec
	pods.Containers = append(pods.Containers, corev1.Container{
		Name: "old", Image: "busybox", Command: []string{"sleep", "1d"}, Env: []corev1.EnvVar{{Name: "X", Value: "1"}},
	})
	pods.Tolerations = []corev1.Toleration{{Key: "a"}}
	pods.TerminationGracePeriodSeconds = new(int64(77))
	return d
}

// createdWithOld is such a Deployment, with the options of a migration.
func createdWithOld(t *testing.T) (namespace string, c client.Client, opts []ensure.Option) {
	t.Helper()
	namespace, c = shared.Namespace(t), program.Client(t, shared, taker)
	require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), withOld(namespace)))
	awaitStatus(t, c, idle(namespace), 1)
	return namespace, c, []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName)}
}

// migratedWithOld is such a Deployment after a migration to the desired state idle.
func migratedWithOld(t *testing.T) (namespace string, c client.Client, opts []ensure.Option) {
	t.Helper()
	namespace, c, opts = createdWithOld(t)
	ensureBesideControllers(t, ensure.New(c, c, taker), idle(namespace), opts...)
	return namespace, c, opts
}

// requireUnmoved fails if the content of an object or the owner of a field changed.
func requireUnmoved(t *testing.T, c client.Client, was *appsv1.Deployment) {
	t.Helper()
	entries := func(d *appsv1.Deployment) map[string]string {
		found := map[string]string{}
		for _, entry := range d.ManagedFields {
			if entry.Subresource == "" {
				found[entry.Manager] = string(entry.FieldsV1.GetRawBytes())
			}
		}
		return found
	}
	is := liveOf(t, c, was)
	require.Equal(t, was.Spec, is.Spec)
	require.Equal(t, entries(was), entries(is))
}

// TestRetireOfAPart: what goes only as a whole cannot be retired in part.
func TestRetireOfAPart(t *testing.T) {
	namespace, c, opts := createdWithOld(t)
	was := liveOf(t, c, idle(namespace))
	for path, want := range map[string]string{
		oldContainer + ".image":                 oldContainer + " goes as a whole: give ensure.Retire " + oldContainer,
		oldContainer + ".name":                  oldContainer + " goes as a whole: give ensure.Retire " + oldContainer,
		oldContainer + ".env[name=X]":           oldContainer + " goes as a whole: give ensure.Retire " + oldContainer,
		"spec.template.spec.tolerations[key=a]": "the API server does not merge the list around it: name the list",
	} {
		for form, written := range writings {
			t.Run(path+"/"+form, func(t *testing.T) {
				_, err := ensure.Object(t.Context(), ensure.New(c, c, taker), written(t, idle(namespace)), append(opts, ensure.Retire(path))...)
				require.ErrorIs(t, err, ensure.ErrRefused)
				require.ErrorContains(t, err, want)
				requireUnmoved(t, c, was)
			})
		}
	}
	opts = append(opts, ensure.Retire(oldContainer, "spec.template.spec.tolerations"))
	e := ensure.New(c, c, taker)
	require.Equal(t, ensure.Migrated, ensureBesideControllers(t, e, idle(namespace), opts...).Cause)
	pods := liveOf(t, c, idle(namespace)).Spec.Template.Spec
	require.Len(t, pods.Containers, 1)
	require.Empty(t, pods.Tolerations)
}

// TestRetireWhatNobodyOwns: a dry run tells the same as the pass after it, whatever else changes, and a cache without managed
// fields delays it until the next apply.
func TestRetireWhatNobodyOwns(t *testing.T) {
	const grace = "spec.template.spec.terminationGracePeriodSeconds"
	period := func(c client.Client, namespace string) int64 {
		return *liveOf(t, c, idle(namespace)).Spec.Template.Spec.TerminationGracePeriodSeconds
	}
	for about, n := range map[string]int32{"the same desired": 1, "another desired": 2} {
		t.Run(about, func(t *testing.T) {
			namespace, c, opts := migratedWithOld(t)
			require.EqualValues(t, 77, period(c, namespace))
			e, opts := ensure.New(c, c, taker), append(opts, ensure.Retire(grace))
			tried := ensureBesideControllers(t, e, withReplicas(idle(namespace), n), append(opts, ensure.DryRun())...)
			require.EqualValues(t, 77, period(c, namespace))
			done := ensureBesideControllers(t, e, withReplicas(idle(namespace), n), opts...)
			require.Equal(t, done.Changes, tried.Changes)
			require.EqualValues(t, corev1.DefaultTerminationGracePeriodSeconds, period(c, namespace))
		})
	}
	t.Run("a cache without managed fields", func(t *testing.T) {
		namespace, c, opts := migratedWithOld(t)
		cached, reader := accesses[2].open(t, taker)
		e, opts := ensure.New(cached, reader, taker), append(opts, ensure.Retire(grace))
		mustEnsure(t, e, idle(namespace), opts...)
		ensureBesideControllers(t, e, withReplicas(idle(namespace), 3), opts...)
		require.EqualValues(t, corev1.DefaultTerminationGracePeriodSeconds, period(c, namespace))
	})
}

// TestRetireOfADefault: a field of nobody that has its default stays, and costs no write, also if another call leaves the
// option out.
func TestRetireOfADefault(t *testing.T) {
	namespace, c, opts := migratedWithOld(t)
	retire := slices.Concat(opts, []ensure.Option{ensure.Retire("spec.template.spec.dnsPolicy")})
	was := liveOf(t, c, idle(namespace))
	for range 2 {
		e := ensure.New(c, c, taker)
		for _, options := range [][]ensure.Option{retire, opts, retire, opts} {
			require.Equal(t, ensure.Unchanged, ensureBesideControllers(t, e, idle(namespace), options...).Operation)
		}
		again := shared.Mark()
		for _, options := range [][]ensure.Option{retire, opts, retire} {
			require.Equal(t, ensure.Unchanged, mustEnsure(t, e, idle(namespace), options...).Operation)
		}
		require.Empty(t, writesOf(t, again, taker), "dry runs included")
	}
	requireUnmoved(t, c, was)
}

// TestRetireOfALabelOfNobody: labels and annotations, too, may have lost their owner.
func TestRetireOfALabelOfNobody(t *testing.T) {
	namespace, c := shared.Namespace(t), program.Client(t, shared, taker)
	old := settings(namespace, map[string]string{"color": "blue"})
	old.Labels, old.Annotations = map[string]string{"gone": "x"}, map[string]string{"example.com/gone": "x"}
	require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), old))
	e, desired := ensure.New(c, c, taker), func() client.Object { return settings(namespace, map[string]string{"color": "blue"}) }
	mustEnsure(t, e, desired(), ensure.Adopt())
	for at, entry := range liveOf(t, c, old).ManagedFields {
		if entry.Manager == oldName {
			remove := fmt.Sprintf(`[{"op":"remove","path":"/metadata/managedFields/%d"}]`, at)
			require.NoError(t, c.Patch(t.Context(), old, client.RawPatch(types.JSONPatchType, []byte(remove))))
		}
	}
	opts := []ensure.Option{ensure.Adopt(), ensure.Retire("metadata.labels[gone]", "metadata.annotations[example.com/gone]")}
	mustEnsure(t, e, desired(), opts...)
	live := liveOf(t, c, old)
	require.Empty(t, live.Labels)
	require.NotContains(t, live.Annotations, "example.com/gone")
	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, desired(), opts...).Operation)
}

// TestRetireThatIsRefused: nothing moves, so that a release without Retire goes on.
func TestRetireThatIsRefused(t *testing.T) {
	t.Run("an immutable object", func(t *testing.T) {
		namespace, c := shared.Namespace(t), program.Client(t, shared, taker)
		frozen := func(data map[string]string) *corev1.ConfigMap {
			o := settings(namespace, data)
			o.Immutable = new(true)
			return o
		}
		require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), frozen(map[string]string{"a": "1", "b": "2"})))
		opts := []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName)}
		for _, retires := range []bool{true, false, true, false} {
			more := opts
			if retires {
				more = append(more, ensure.Retire("data[b]"))
			}
			_, err := ensure.Object(t.Context(), ensure.New(c, c, taker), frozen(map[string]string{"a": "1"}), more...)
			if retires {
				require.ErrorIs(t, err, ensure.ErrImmutable)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, map[string]string{"a": "1", "b": "2"}, dataOf(t, c, namespace))
		}
	})
	t.Run("a fault of desired", func(t *testing.T) {
		namespace, c, opts := migratedWithOld(t)
		was := liveOf(t, c, idle(namespace))
		bad := idle(namespace)
		bad.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 800000}}
		_, err := ensure.Object(t.Context(), ensure.New(c, c, taker), bad, append(opts, ensure.Retire(oldContainer))...)
		require.ErrorIs(t, err, ensure.ErrInvalid)
		requireUnmoved(t, c, was)
		require.Equal(t, ensure.Unchanged, mustEnsure(t, ensure.New(c, c, taker), idle(namespace), opts...).Operation)
		require.Equal(t, was.Spec, liveOf(t, c, idle(namespace)).Spec)
	})
}

// TestReleaseInsideARetiredItem: the item would go with what is to stay in it.
func TestReleaseInsideARetiredItem(t *testing.T) {
	for name, option := range map[string]func(...string) ensure.ChildOption{"Release": ensure.Release, "Once": ensure.Once} {
		for _, path := range []string{oldContainer + ".image", oldContainer + ".env"} {
			t.Run(name+"/"+path, func(t *testing.T) {
				namespace, c, opts := migratedWithOld(t)
				was := liveOf(t, c, idle(namespace))
				_, err := ensure.Object(t.Context(), ensure.New(c, c, taker), idle(namespace), append(opts, ensure.Retire(oldContainer), option(path))...)
				require.ErrorIs(t, err, ensure.ErrRefused)
				require.ErrorContains(t, err, "give ensure."+name+" "+oldContainer)
				requireUnmoved(t, c, was)
			})
		}
	}
}

// TestADryRunOfARecreation tells it also if fields have to change their owner first.
func TestADryRunOfARecreation(t *testing.T) {
	namespace, c := shared.Namespace(t), program.Client(t, shared, taker)
	frozen := func(data map[string]string) *corev1.ConfigMap {
		o := settings(namespace, data)
		o.Immutable = new(true)
		return o
	}
	e := ensure.New(c, c, taker)
	mustEnsure(t, e, frozen(map[string]string{"a": "1", "b": "2"}))
	opts := []ensure.Option{ensure.Release("data[b]"), ensure.Recreate(metav1.DeletePropagationBackground)}
	for _, more := range [][]ensure.Option{{ensure.DryRun()}, nil} {
		result := mustEnsure(t, e, frozen(map[string]string{"a": "3"}), slices.Concat(opts, more)...)
		require.Equal(t, ensure.Recreated, result.Operation)
	}
	require.Equal(t, "3", dataOf(t, c, namespace)["a"])
}
