package adoption_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// A racingClient runs a function right before its next patch, or instead of the patch.
type racingClient struct {
	client.Client

	before func() error
}

func (r *racingClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if before := r.before; before != nil {
		r.before = nil
		if err := before(); err != nil {
			return err
		}
	}
	return r.Client.Patch(ctx, obj, patch, opts...)
}

// race puts a racing client between the operator and the server.
func (f *fixture) race() *racingClient {
	r := &racingClient{Client: f.client}
	f.client = r
	return r
}

// controlledBy is a reference to a controller.
func controlledBy(owner *corev1.ConfigMap) metav1.OwnerReference {
	return *metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
}

// takeOver has another program take control of an object.
func (f *fixture) takeOver(text string, boss *corev1.ConfigMap) error {
	live := f.parseUntyped(text)
	c := program.Client(f.t, shared, other)
	if err := c.Get(f.t.Context(), client.ObjectKeyFromObject(live), live); err != nil {
		return err
	}
	before := live.DeepCopy()
	if err := controllerutil.SetControllerReference(boss, live, c.Scheme()); err != nil {
		return err
	}
	return c.Patch(f.t.Context(), live, client.MergeFrom(before), client.FieldOwner(other))
}

// A takeoverCase is an object of ours that another controller takes between our read and our write.
type takeoverCase struct {
	typed       bool
	first, then string
}

var takeoverCases = map[string]takeoverCase{
	"ConfigMap": {
		true,
		`{apiVersion: v1, kind: ConfigMap, metadata: {labels: {app: ours}}, data: {colour: green, shape: round}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {labels: {app: ours, more: ours}}, data: {colour: green, shape: round, more: x}}`,
	},
	"unstructured Service": {
		false,
		`{apiVersion: v1, kind: Service, spec: {selector: {app: web}, ports: [{name: http, port: 80, protocol: TCP}]}}`,
		`{apiVersion: v1, kind: Service, metadata: {annotations: {more: ours}}, spec: {selector: {app: web},
			ports: [{name: http, port: 80, protocol: TCP}, {name: more, port: 81, protocol: TCP}]}}`,
	},
	"Deployment": {
		true,
		theirDeployment,
		`{apiVersion: apps/v1, kind: Deployment, metadata: {labels: {team: theirs}}, spec: {replicas: 1, minReadySeconds: 1,
			selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}},
			spec: {containers: [{name: main, image: "example.com/web:1", env: [{name: MORE, value: x}]}, {name: more, image: "example.com/more:1"}]}}}}`,
	},
	"custom kind": {
		false, theirKettle,
		`{apiVersion: heating.example.com/v1, kind: Kettle, metadata: {labels: {team: theirs, more: ours}}, spec: {fuel: gas, colour: red}}`,
	},
}

const theirKettle = `{apiVersion: heating.example.com/v1, kind: Kettle, metadata: {labels: {team: theirs}}, spec: {fuel: gas}}`

// TestAControllerThatComesInBetween: the apply that is on its way is the last one.
func TestAControllerThatComesInBetween(t *testing.T) {
	t.Parallel()
	define(t, "Kettle", "kettle")
	for way, open := range map[string]access{"plain": plain, "stripped": stripped, "labelled": labelled} {
		for name, tc := range takeoverCases {
			t.Run(way+"/"+name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, tc.typed, open)
				race, boss := f.race(), f.newOwner("boss")
				e := f.started()
				_, err := ensure.Object(t.Context(), e, f.parse(tc.first))
				require.NoError(t, err)

				race.before = func() error { return f.takeOver(tc.first, boss) }
				mark := shared.Mark()
				_, err = ensure.Object(t.Context(), e, f.parse(tc.then))
				require.ErrorIs(t, err, ensure.ErrForeign)
				require.ErrorContains(t, err, `controlled by ConfigMap "boss"`)
				require.Equal(t, 1, f.writes(mark))
				require.Equal(t, []metav1.OwnerReference{controlledBy(boss)}, f.settled(tc.first).GetOwnerReferences())

				for _, again := range []*ensure.Ensurer{e, f.started()} {
					mark = shared.Mark()
					_, err = ensure.Object(t.Context(), again, f.parse(tc.then))
					require.ErrorIs(t, err, ensure.ErrForeign)
					require.Zero(t, f.writes(mark))
				}
			})
		}
	}
}

// TestBesideAController: with Adopt and no owner, the operator owns fields of an object that
// another owner controls. Giving up removes these fields and keeps the object.
func TestBesideAController(t *testing.T) {
	t.Parallel()
	f := newFixture(t, true, stripped)
	f.create(theirConfigMap, controlledBy(f.newOwner("boss")))
	before := specified(f.settled(theirConfigMap))
	label := f.parse(`{apiVersion: v1, kind: ConfigMap, metadata: {labels: {app: ours}}}`)
	_, err := ensure.Object(t.Context(), f.started(), label, ensure.Adopt())
	require.NoError(t, err)
	f.settled(theirConfigMap)
	for _, want := range []ensure.Cause{ensure.Unwanted, ""} {
		gone, err := ensure.Absent(t.Context(), f.started(), f.parse(theirConfigMap), ensure.DeleteAdopted())
		require.NoError(t, err)
		require.Equal(t, ensure.Released, gone.Operation)
		require.Equal(t, want, gone.Cause)
		require.Empty(t, cmp.Diff(before, specified(f.settled(theirConfigMap))))
	}
}

// TestAppliedForTheSameOwner: an object that another program applied for our owner belongs to that
// program, until we adopt it or the program is an earlier name of ours.
func TestAppliedForTheSameOwner(t *testing.T) {
	t.Parallel()
	for way, open := range map[string]access{"plain": plain, "stripped": stripped} {
		for name, opt := range map[string]ensure.Option{"adopted": ensure.Adopt(), "migrated": ensure.MigrateFrom(other)} {
			t.Run(way+"/"+name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, true, open)
				c, owned := program.Client(t, shared, other), ensure.ControlledBy(f.owner)
				neighbour := ensure.New(c, c, other)
				_, err := ensure.Object(t.Context(), neighbour, f.parse(takeoverCases["ConfigMap"].first), owned)
				require.NoError(t, err)
				before := specified(f.settled(theirConfigMap))

				desired := func() client.Object { return f.parse(takeoverCases["ConfigMap"].then) }
				mark := shared.Mark()
				_, err = ensure.Object(t.Context(), f.started(), desired(), owned)
				require.ErrorIs(t, err, ensure.ErrForeign)
				require.ErrorContains(t, err, "applied for the same owner by "+other)
				gone, err := ensure.Absent(t.Context(), f.started(), desired(), owned)
				require.NoError(t, err)
				require.Equal(t, ensure.Released, gone.Operation)
				require.Zero(t, f.writes(mark))

				_, err = ensure.Object(t.Context(), f.started(), desired(), owned, opt)
				require.NoError(t, err)
				f.settled(theirConfigMap)
				gone, err = ensure.Absent(t.Context(), f.started(), desired(), owned)
				require.NoError(t, err)
				if name == "migrated" {
					require.Equal(t, ensure.Deleting, gone.Operation)
					return
				}
				require.Equal(t, ensure.Released, gone.Operation)
				require.Empty(t, cmp.Diff(before, specified(f.settled(theirConfigMap))))
			})
		}
	}
}

// TestPruningGivesUp: a Set gives up an adopted object that it no longer contains.
func TestPruningGivesUp(t *testing.T) {
	t.Parallel()
	for way, open := range map[string]access{"plain": plain, "stripped": stripped, "labelled": labelled} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, true, open)
			f.create(theirConfigMap)
			before := specified(f.settled(theirConfigMap))
			adopted := f.parse(`{apiVersion: v1, kind: ConfigMap, metadata: {labels: {app: ours}}}`)
			_, err := ensure.Set(t.Context(), f.started(), f.owner, []client.Object{adopted}, ensure.OnlyFor(adopted, ensure.Adopt()))
			require.NoError(t, err)
			f.settled(theirConfigMap)
			results, err := ensure.Set(t.Context(), f.started(), f.owner, nil, ensure.Prune(&corev1.ConfigMap{}))
			require.NoError(t, err)
			require.Len(t, results.Pruned, 1)
			require.Equal(t, ensure.Released, results.Pruned[0].Operation)
			require.Empty(t, cmp.Diff(before, specified(f.settled(theirConfigMap))))
			results, err = ensure.Set(t.Context(), f.started(), f.owner, nil, ensure.Prune(&corev1.ConfigMap{}))
			require.NoError(t, err)
			require.Empty(t, results.Pruned)
		})
	}
}

// TestACopyCountsAsAdopted: a user copies a child of ours with its digest and owner, and the
// operator finds the copy under a name that it wants or no longer wants.
func TestACopyCountsAsAdopted(t *testing.T) {
	t.Parallel()
	for way, open := range map[string]access{"plain": plain, "stripped": stripped, "labelled": labelled} {
		for _, wanted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/wanted %t", way, wanted), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, true, open)
				owned := ensure.ControlledBy(f.owner)
				made, err := ensure.Object(t.Context(), f.started(), f.parse(theirConfigMap), owned)
				require.NoError(t, err)
				copied := made.Live.DeepCopyObject().(client.Object)
				copied.SetName("copy")
				copied.SetUID("")
				copied.SetResourceVersion("")
				copied.SetManagedFields(nil)
				require.NoError(t, f.admin.Create(t.Context(), copied))

				meant := f.parse(theirConfigMap)
				meant.SetName("copy")
				if wanted {
					_, err := ensure.Object(t.Context(), f.started(), meant, owned)
					require.NoError(t, err)
				}
				gone, err := ensure.Absent(t.Context(), f.started(), meant, owned)
				require.NoError(t, err)
				require.Equal(t, ensure.Released, gone.Operation)
				require.NoError(t, f.admin.Get(t.Context(), client.ObjectKeyFromObject(copied), copied))
				require.Nil(t, copied.GetDeletionTimestamp())
			})
		}
	}
}

// TestACopyIsForeign: a user copies a child of ours, with its managed fields or without, and changes the data.
func TestACopyIsForeign(t *testing.T) {
	t.Parallel()
	for way, open := range map[string]access{"plain": plain, "stripped": stripped, "labelled": labelled} {
		for _, keeps := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/with managed fields %t", way, keeps), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, true, open)
				owned := ensure.ControlledBy(f.owner)
				_, err := ensure.Object(t.Context(), f.started(), f.parse(theirConfigMap), owned)
				require.NoError(t, err)
				copied := f.parse(theirConfigMap).(*corev1.ConfigMap)
				require.NoError(t, f.admin.Get(t.Context(), client.ObjectKey{Namespace: f.namespace, Name: copied.Name}, copied))
				copied.Name, copied.UID, copied.ResourceVersion, copied.OwnerReferences = "copy", "", "", nil
				if !keeps {
					copied.ManagedFields = nil
				}
				for key := range copied.Data {
					copied.Data[key] = "precious"
				}
				delete(copied.Data, "dropped")
				require.NoError(t, f.admin.Create(t.Context(), copied))
				before := copied.DeepCopy()

				meant := f.parse(theirConfigMap)
				meant.SetName("copy")
				_, err = ensure.Object(t.Context(), f.started(), meant, owned)
				require.ErrorIs(t, err, ensure.ErrForeign)
				gone, err := ensure.Absent(t.Context(), f.started(), meant, owned)
				require.NoError(t, err)
				require.Equal(t, ensure.Released, gone.Operation)
				require.NoError(t, f.admin.Get(t.Context(), client.ObjectKeyFromObject(copied), copied))
				require.Equal(t, before, copied)
			})
		}
	}
}

// TestDeleteAdopted is the explicit way.
func TestDeleteAdopted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, true, plain)
	f.create(theirDeployment)
	_, err := ensure.Object(t.Context(), f.started(), f.parse(theirDeployment), ensure.Adopt())
	require.NoError(t, err)
	gone, err := ensure.Absent(t.Context(), f.started(), f.parse(theirDeployment), ensure.DeleteAdopted())
	require.NoError(t, err)
	require.Equal(t, ensure.Deleting, gone.Operation)
}

// TestGivingUpBreaksOff: the process may end after each request.
func TestGivingUpBreaksOff(t *testing.T) {
	t.Parallel()
	down := errors.New("the process ends")
	a := adoptionCases["the image of a Deployment"]
	for answered := range a.writes {
		f := newFixture(t, a.typed, plain)
		f.create(a.theirs)
		before := specified(f.settled(a.theirs))
		owned := ensure.ControlledBy(f.owner)
		_, err := ensure.Object(t.Context(), f.started(), f.parse(a.ours), owned, ensure.Adopt())
		require.NoError(t, err)
		race := f.race()
		left := answered
		var next func() error
		next = func() error {
			if left--; left < 0 {
				return down
			}
			race.before = next
			return nil
		}
		race.before = next
		_, err = ensure.Absent(t.Context(), f.started(), f.parse(a.ours), owned)
		require.ErrorIs(t, err, down)

		race.before = nil
		gone, err := ensure.Absent(t.Context(), f.started(), f.parse(a.ours), owned)
		require.NoError(t, err)
		require.Equal(t, ensure.Released, gone.Operation)
		a.kept(before)
		after := f.settled(a.theirs)
		require.Empty(t, cmp.Diff(before, specified(after)), "after %d answers", answered)
		require.Nil(t, managedfields.Applied(after, fieldOwner))
	}
}

// TestWantedAgain: the process ends while it gives up an object, and the object is then wanted
// again. Fields that desired drops later are removed.
func TestWantedAgain(t *testing.T) {
	t.Parallel()
	const desired = `{apiVersion: apps/v1, kind: Deployment, metadata: {labels: {app: ours}}, spec: {%s
		selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}},
		spec: {containers: [{name: main, image: "example.com/web:2"}]}}}}`
	ours, less := fmt.Sprintf(desired, "minReadySeconds: 5,"), fmt.Sprintf(desired, "")
	for at := range adoptionCases["the image of a Deployment"].writes {
		for _, isRestarted := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d/restarted %t", at, isRestarted), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, true, plain)
				f.create(theirDeployment)
				owned := ensure.ControlledBy(f.owner)
				broken := &program.FailingClient{Client: f.client, FailAt: 1 + at, Delivered: true}
				f.client = broken
				e := f.started()
				want := func(text string) {
					_, err := ensure.Object(t.Context(), e, f.parse(text), owned, ensure.Adopt())
					require.NoError(t, err)
					f.settled(text)
				}
				want(ours)
				_, err := ensure.Absent(t.Context(), e, f.parse(ours), owned)
				require.ErrorIs(t, err, program.ErrConnectionLost)
				if isRestarted {
					e = f.started()
				}
				want(ours)
				want(less)
				_, isLeft, _ := unstructured.NestedInt64(f.settled(theirDeployment).Object, "spec", "minReadySeconds")
				require.False(t, isLeft)
			})
		}
	}
}

// TestOurFinalizerInWhatIsDeleted: an object with our finalizer is deleted by whoever made it, and
// we no longer want it.
func TestOurFinalizerInWhatIsDeleted(t *testing.T) {
	t.Parallel()
	const spec = `spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}},
		spec: {containers: [{name: main, image: "example.com/web:%d"}]}}}}`
	kinds := map[string][2]string{
		"ConfigMap": {
			`{apiVersion: v1, kind: ConfigMap, data: {colour: green}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {finalizers: [example.com/ours]}, data: {ours: x}}`,
		},
		"Deployment": {
			`{apiVersion: apps/v1, kind: Deployment, ` + fmt.Sprintf(spec, 1),
			`{apiVersion: apps/v1, kind: Deployment, metadata: {finalizers: [example.com/ours]}, ` + fmt.Sprintf(spec, 2),
		},
	}
	for way, open := range map[string]access{"plain": plain, "stripped": stripped} {
		for kind, text := range kinds {
			for _, isPruned := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/pruned %t", way, kind, isPruned), func(t *testing.T) {
					t.Parallel()
					f := newFixture(t, true, open)
					f.create(text[0])
					e := f.started()
					_, err := ensure.Object(t.Context(), e, f.parse(text[1]), ensure.ControlledBy(f.owner), ensure.Adopt())
					require.NoError(t, err)
					f.settled(text[1])
					require.NoError(t, f.admin.Delete(t.Context(), f.parse(text[0])))
					seen := f.parse(text[0])
					require.Eventually(t, func() bool {
						require.NoError(t, f.client.Get(t.Context(), client.ObjectKeyFromObject(seen), seen))
						return seen.GetDeletionTimestamp() != nil
					}, limit, 10*time.Millisecond)
					var gone ensure.Result[client.Object]
					if isPruned {
						results, err := ensure.Set(t.Context(), e, f.owner, nil, ensure.Prune(&corev1.ConfigMap{}, &appsv1.Deployment{}))
						require.NoError(t, err)
						gone = results.Pruned[0]
					} else {
						gone, err = ensure.Absent(t.Context(), e, f.parse(text[1]), ensure.ControlledBy(f.owner))
						require.NoError(t, err)
					}
					require.Equal(t, ensure.Deleting, gone.Operation)
					require.Empty(t, gone.Cause)
					err = f.admin.Get(t.Context(), client.ObjectKeyFromObject(f.parse(text[0])), f.parse(text[0]))
					require.True(t, apierrors.IsNotFound(err))
				})
			}
		}
	}
}

// TestWhatAPersonReplacedCountsAsAdopted: the operator can recognise the replacement by the UID
// only.
func TestWhatAPersonReplacedCountsAsAdopted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, true, plain)
	e := f.started()
	_, err := ensure.Object(t.Context(), e, f.parse(takeoverCases["ConfigMap"].first))
	require.NoError(t, err)
	theirs := f.settled(theirConfigMap)
	theirs.Object["data"] = map[string]any{"theirs": "x"}
	theirs.SetLabels(nil)
	theirs.SetAnnotations(nil)
	theirs.SetManagedFields([]metav1.ManagedFieldsEntry{{}})
	require.NoError(t, f.admin.Update(t.Context(), theirs))
	gone, err := ensure.Absent(t.Context(), e, f.parse(theirConfigMap))
	require.NoError(t, err)
	require.Equal(t, ensure.Released, gone.Operation)
	data, _, _ := unstructured.NestedStringMap(f.settled(theirConfigMap).Object, "data")
	require.Equal(t, map[string]string{"theirs": "x"}, data)
}
