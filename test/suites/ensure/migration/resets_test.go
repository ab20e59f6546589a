package migration_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// resets are ways to empty the managed fields of an object.
func resets() map[string]func(t *testing.T, c client.Client, obj client.Object) {
	return map[string]func(*testing.T, client.Client, client.Object){
		"by PUT": func(t *testing.T, c client.Client, obj client.Object) {
			t.Helper()
			update(t, c, obj, func(live client.Object) { live.SetManagedFields([]metav1.ManagedFieldsEntry{{}}) })
		},
		"by a patch": func(t *testing.T, c client.Client, obj client.Object) {
			t.Helper()
			require.NoError(t, c.Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`))))
		},
	}
}

// TestResets: somebody empties the managed fields of a migrated object. Nothing goes that desired does not drop, and what
// it drops after the next pass goes.
func TestResets(t *testing.T) {
	full := map[string]string{"color": "blue", "size": "1"}
	cases := map[string]struct {
		desired   map[string]string // of the first pass after the reset
		isCertain bool              // that the key which is dropped was ours when this pass began
	}{
		"the same desired":  {full, true},
		"another desired":   {map[string]string{"color": "red", "size": "1"}, true},
		"a dropped desired": {map[string]string{"color": "blue"}, false},
	}
	for how, reset := range resets() {
		for about, tc := range cases {
			for when, restarts := range map[string]bool{"no restart": false, "a restart": true} {
				t.Run(how+"/"+about+"/"+when, func(t *testing.T) {
					namespace, c := shared.Namespace(t), program.Client(t, shared, taker)
					all := map[string]string{"color": "blue", "size": "1", "older": "x", "theirs": "x"}
					owner := newOwner(t, namespace)
					older := settings(namespace, map[string]string{"color": "blue", "size": "1", "older": "x"})
					require.NoError(t, controllerutil.SetControllerReference(owner, older, c.Scheme()))
					require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), older))
					setData(t, program.Client(t, shared, "neighbour"), namespace, map[string]string{"theirs": "x"})
					e, opts := ensure.New(c, c, taker), []ensure.Option{ensure.ControlledBy(owner), ensure.MigrateFrom(oldName)}
					do := func(data map[string]string) ensure.Result[*corev1.ConfigMap] {
						return mustEnsure(t, e, settings(namespace, data), opts...)
					}
					do(full)
					reset(t, c, settings(namespace, nil))
					if restarts { // what the operator has read of another object shows that these managed fields are emptied
						e = ensure.New(c, c, taker)
						other := settings(namespace, full)
						other.Name = "other"
						mustEnsure(t, ensure.New(c, c, taker), other, opts...)
						mustEnsure(t, e, other, opts...)
					}
					result := do(tc.desired)
					require.True(t, restarts || result.Operation == ensure.Updated, "an operator that remembers its apply reports the loss")
					require.Contains(t, managersOf(liveOf(t, c, older)), taker, "an apply makes the fields ours again")
					maps.Copy(all, tc.desired)
					live := dataOf(t, c, namespace)
					if !tc.isCertain { // a restarted operator cannot know that the key was its own
						delete(all, "size")
						delete(live, "size")
					}
					require.Equal(t, all, live)
					require.Equal(t, ensure.Unchanged, do(tc.desired).Operation)

					do(map[string]string{"color": "green"})
					all["color"] = "green"
					live = dataOf(t, c, namespace)
					if tc.isCertain {
						delete(all, "size")
					} else {
						delete(live, "size")
					}
					require.Equal(t, all, live)
				})
			}
		}
	}
}

// TestResetsAgainAndAgain are a contest, whoever made the object.
func TestResetsAgainAndAgain(t *testing.T) {
	for about, opts := range map[string][]ensure.Option{
		"ours":               nil,
		"adopted":            {ensure.Adopt()},
		"adopted, with name": {ensure.Adopt(), ensure.MigrateFrom(oldName)},
	} {
		for how, reset := range resets() {
			t.Run(about+"/"+how, func(t *testing.T) {
				namespace, c := shared.Namespace(t), program.Client(t, shared, taker)
				if len(opts) > 0 {
					setData(t, program.Client(t, shared, oldName), namespace, map[string]string{"color": "blue", "size": "1"})
				}
				e := ensure.New(c, c, taker)
				for range 2 { // the second pass reads the managed fields
					mustEnsure(t, e, settings(namespace, map[string]string{"color": "blue"}), opts...)
				}
				failures := 0
				for range 8 {
					reset(t, program.Client(t, shared, "resetter"), settings(namespace, nil))
					result, err := ensure.Object(t.Context(), e, settings(namespace, map[string]string{"color": "blue"}), opts...)
					if err == nil {
						require.Contains(t, result.Changes, ensure.Change{Path: "metadata.managedFields"})
						continue
					}
					require.ErrorIs(t, err, ensure.ErrContested)
					failures++
				}
				require.Equal(t, 4, failures)
			})
		}
	}
}

// TestAnItemThatSomebodyAddsAgain: somebody removes an item of a keyed list and adds it again, so that the item is theirs,
// too. When desired drops the item, it stays as a whole, or it goes as a whole if an older version added it.
func TestAnItemThatSomebodyAddsAgain(t *testing.T) {
	const item = web + ".env[name=A]"
	for somebody, stays := range map[string]bool{"kubectl-edit": true, oldName: false} {
		for when, fails := range map[string]bool{"at once": false, "after a failed apply": true} {
			for between, passes := range map[string]bool{"a pass in between": true, "no pass in between": false} {
				t.Run(somebody+"/"+when+"/"+between, func(t *testing.T) {
					const full = "env: [{name: A, value: x}, {name: B, value: x}]"
					s := newScene(t, places()["container"], typedAsIs)
					require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), s.desired(full)))
					s.release(full)
					person := program.Client(t, shared, somebody)
					for _, variables := range [][]corev1.EnvVar{{{Name: "B", Value: "x"}}, {{Name: "A", Value: "x"}, {Name: "B", Value: "x"}}} {
						update(t, person, client.Object(idle(s.namespace)), func(live client.Object) {
							workloads()["Deployment"].pods(live).Spec.Containers[0].Env = variables
						})
					}
					if fails {
						c := &crashingClient{Client: s.client}
						_, err := ensure.Object(t.Context(), ensure.New(c, c, taker), s.desired(full), ensure.Adopt(), ensure.MigrateFrom(oldName))
						require.ErrorIs(t, err, program.ErrConnectionLost)
					}
					if passes {
						s.release(full)
					}
					result := s.release("env: [{name: B, value: x}]")
					variables := s.content().Spec.Template.Spec.Containers[0].Env
					if !stays && passes {
						require.Equal(t, []corev1.EnvVar{{Name: "B", Value: "x"}}, variables)
						return
					}
					require.ElementsMatch(t, []corev1.EnvVar{{Name: "A", Value: "x"}, {Name: "B", Value: "x"}}, variables)
					if passes {
						require.Equal(t, []ensure.KeptField{{Path: item, Manager: somebody}}, result.Kept)
					}
					s.release("env: [{name: B, value: z}]")
				})
			}
		}
	}
}

// TestATypingError: the first desired state of a migration has a fault of its own. Nothing moves, and nothing is lost.
func TestATypingError(t *testing.T) {
	const before = "serviceAccountName: a\nterminationGracePeriodSeconds: 60\n" +
		"containers: [{name: web, image: nginx, imagePullPolicy: Always, ports: [{containerPort: 80}], env: [{name: A, value: x}]}]\n" +
		emptyDir
	const fault = "containers: [{name: web, image: nginx, ports: [{containerPort: 800000}]}]"
	for form, written := range writings {
		t.Run(form, func(t *testing.T) {
			s := newScene(t, places()["pods"], written)
			require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), s.desired(before)))
			was := s.all()
			for range 2 {
				_, err := ensure.Object(t.Context(), ensure.New(s.client, s.client, taker), written(t, s.desired(fault)),
					ensure.Adopt(), ensure.MigrateFrom(oldName))
				require.ErrorIs(t, err, ensure.ErrInvalid)
				require.ErrorContains(t, err, "containerPort")
				require.Equal(t, was, s.all())
			}
			s.release(before)
			require.Equal(t, was[""].(content).Spec, s.content().Spec)
		})
	}
}
