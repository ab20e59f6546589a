package migration_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const formerName = "former-operator"

// newOwner makes an object that children can have as their controller.
func newOwner(t *testing.T, namespace string) *corev1.ConfigMap {
	t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "owner"}}
	require.NoError(t, program.Client(t, shared, "test").Create(t.Context(), owner))
	return owner
}

// TestRenamedFieldOwner: an operator continues to ensure its children under another name. The
// fields that it drops are removed, and so are the annotations of its former name.
func TestRenamedFieldOwner(t *testing.T) {
	for _, way := range accesses {
		for form, written := range writings {
			for controlled, isControlled := range map[string]bool{"with an owner": true, "without": false} {
				t.Run(way.name+"/"+form+"/"+controlled, func(t *testing.T) {
					namespace, name := shared.Namespace(t), fmt.Sprintf("renamed-%d", len(way.name)+len(form)*len(controlled))
					var opts []ensure.Option
					if isControlled {
						opts = append(opts, ensure.ControlledBy(newOwner(t, namespace)))
					}
					desired := func(data map[string]string) client.Object { return written(t, settings(namespace, data)) }
					formerly := program.Client(t, shared, formerName)
					mustEnsure(t, ensure.New(formerly, formerly, formerName),
						desired(map[string]string{"color": "blue", "dropped": "x"}), opts...)
					setData(t, program.Client(t, shared, "neighbour"), namespace, map[string]string{"theirs": "x"})

					c, reader := way.open(t, name)
					e := ensure.New(c, reader, name, ensure.FormerFieldOwners(formerName))
					told := mustEnsure(t, e, desired(map[string]string{"color": "blue"}), append(opts, ensure.DryRun())...)
					result := mustEnsure(t, e, desired(map[string]string{"color": "blue"}), opts...)
					require.Equal(t, ensure.Migrated, result.Cause)
					require.ElementsMatch(t, told.Changes, result.Changes)
					live := liveOf(t, formerly, settings(namespace, nil))
					require.Equal(t, map[string]string{"color": "blue", "theirs": "x"}, live.Data)
					require.Len(t, live.Annotations, 1)
					require.Contains(t, live.Annotations, digest+name)
					require.Equal(t, isControlled, len(live.OwnerReferences) == 1)
					for _, entry := range live.ManagedFields {
						require.NotEqual(t, formerName, entry.Manager)
					}

					begin := shared.Mark()
					require.Equal(t, ensure.Unchanged, mustEnsure(t, e, desired(map[string]string{"color": "blue"}), opts...).Operation)
					require.Empty(t, writesOf(t, begin, name))
				})
			}
		}
	}
}

// TestAbsentAfterARename deletes only the objects that the former name made.
func TestAbsentAfterARename(t *testing.T) {
	for i, way := range accesses {
		t.Run(way.name, func(t *testing.T) {
			namespace, formerly := shared.Namespace(t), program.Client(t, shared, formerName)
			owner, former := newOwner(t, namespace), ensure.New(formerly, formerly, formerName)
			named := func(name string) *corev1.ConfigMap {
				return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"a": "1"}}
			}
			mustEnsure(t, former, named("free"))
			for _, name := range []string{"owned", "pruned"} {
				mustEnsure(t, former, named(name), ensure.ControlledBy(owner))
			}
			require.NoError(t, formerly.Create(t.Context(), named("adopted"), client.FieldOwner("kubectl-edit")))
			mustEnsure(t, former, named("adopted"), ensure.ControlledBy(owner), ensure.Adopt())

			name := fmt.Sprintf("absent-%d", i)
			c, reader := way.open(t, name)
			e := ensure.New(c, reader, name)
			absent := func(name string, opts ...ensure.AbsentOption) ensure.Operation {
				result, err := ensure.Absent(t.Context(), e, named(name), opts...)
				require.NoError(t, err)
				return result.Operation
			}
			require.Equal(t, ensure.Released, absent("free"))
			require.Equal(t, ensure.Released, absent("owned", ensure.ControlledBy(owner)))
			prune := func() []ensure.Result[client.Object] {
				results, err := ensure.Set(t.Context(), e, owner, nil, ensure.Prune(&corev1.ConfigMap{}))
				require.NoError(t, err)
				return results.Pruned
			}
			require.Empty(t, prune())

			e = ensure.New(c, reader, name, ensure.FormerFieldOwners(formerName))
			require.Equal(t, ensure.Deleting, absent("free"))
			require.Equal(t, ensure.Deleting, absent("owned", ensure.ControlledBy(owner)))
			pruned := prune()
			require.Len(t, pruned, 1)
			require.Equal(t, "pruned", pruned[0].Live.GetName())
			for range passes {
				require.Equal(t, ensure.Released, absent("adopted", ensure.ControlledBy(owner)))
			}
			require.Equal(t, "1", liveOf(t, formerly, named("adopted")).Data["a"])
		})
	}
}

// TestRenamedFieldOwnerThatIsNotNamed: dropped fields stay with the former name.
func TestRenamedFieldOwnerThatIsNotNamed(t *testing.T) {
	namespace, c := shared.Namespace(t), program.Client(t, shared, taker)
	mustEnsure(t, ensure.New(c, c, formerName), settings(namespace, map[string]string{"color": "blue", "dropped": "x"}))
	mustEnsure(t, ensure.New(c, c, taker), settings(namespace, map[string]string{"color": "blue"}), ensure.Adopt())
	require.Equal(t, map[string]string{"color": "blue", "dropped": "x"}, dataOf(t, c, namespace))
}

// TestMigrationFromServerSideApply: a user made the child with kubectl apply --server-side. Unlike the applies of a former
// field owner, the user's other fields stay.
func TestMigrationFromServerSideApply(t *testing.T) {
	for form, written := range writings {
		t.Run(form, func(t *testing.T) {
			namespace, c := shared.Namespace(t), program.Client(t, shared, taker)
			all := map[string]string{"color": "blue", "size": "1", "more": "x"}
			manifest := asJSON(t, settings(namespace, all)).(*unstructured.Unstructured)
			require.NoError(t, c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(manifest), client.FieldOwner("kubectl")))
			e, opts := ensure.New(c, c, taker), []ensure.Option{ensure.Adopt(), ensure.MigrateFrom("kubectl")}
			result := mustEnsure(t, e, written(t, settings(namespace, map[string]string{"color": "blue", "size": "1"})), opts...)
			require.Equal(t, ensure.Migrated, result.Cause)
			require.Equal(t, all, dataOf(t, c, namespace))

			for _, more := range [][]ensure.Option{nil, {ensure.Retire("data[more]")}} {
				mustEnsure(t, e, written(t, settings(namespace, map[string]string{"color": "blue"})), append(more, opts...)...)
				delete(all, "size")
				if more != nil {
					delete(all, "more")
				}
				require.Equal(t, all, dataOf(t, c, namespace))
			}
			require.Equal(t, []string{taker}, managersOf(liveOf(t, c, settings(namespace, nil))))
		})
	}
}

// managersOf are who has entries in the managed fields.
func managersOf(obj client.Object) []string {
	var found []string
	for _, entry := range obj.GetManagedFields() {
		found = append(found, entry.Manager)
	}
	return found
}

// TestWithoutControlledBy: an earlier call gave an object to its owner. A later call without the
// owner is refused, and with Adopt leaves the owner reference alone.
func TestWithoutControlledBy(t *testing.T) {
	for _, way := range accesses {
		for form, written := range writings {
			t.Run(way.name+"/"+form, func(t *testing.T) {
				namespace, name := shared.Namespace(t), fmt.Sprintf("freed-%d", len(way.name)+len(form))
				owner := newOwner(t, namespace)
				c, reader := way.open(t, name)
				e := ensure.New(c, reader, taker)
				desired := func(color string) client.Object {
					return written(t, settings(namespace, map[string]string{"color": color}))
				}
				mustEnsure(t, e, desired("blue"), ensure.ControlledBy(owner))

				live := func() *corev1.ConfigMap {
					return liveOf(t, program.Client(t, shared, name), settings(namespace, nil))
				}
				before := live()
				_, err := ensure.Object(t.Context(), e, desired("red"))
				require.ErrorIs(t, err, ensure.ErrForeign)
				require.ErrorContains(t, err, `ConfigMap "owner"`)
				require.ErrorContains(t, err, "which decides on its content")
				require.Equal(t, before.ResourceVersion, live().ResourceVersion, "nothing was written")

				for _, color := range []string{"red", "green"} {
					told := mustEnsure(t, e, desired(color), ensure.Adopt(), ensure.DryRun())
					result := mustEnsure(t, e, desired(color), ensure.Adopt())
					for _, r := range []ensure.Result[client.Object]{told, result} {
						require.Equal(t, ensure.Updated, r.Operation)
						require.Len(t, r.Changes, 2, "the color and the digest")
						require.Equal(t, owner.UID, metav1.GetControllerOf(r.Live).UID)
					}
					begin := shared.Mark()
					require.Equal(t, ensure.Unchanged, mustEnsure(t, e, desired(color), ensure.Adopt()).Operation)
					require.Empty(t, writesOf(t, begin, name))
				}
				mustEnsure(t, e, desired("green"), ensure.ControlledBy(owner))
				require.Equal(t, owner.UID, metav1.GetControllerOf(live()).UID)
			})
		}
	}
}
