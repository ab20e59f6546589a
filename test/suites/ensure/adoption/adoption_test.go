package adoption_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/finalizer"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const theirConfigMap = `
apiVersion: v1
kind: ConfigMap
metadata:
  labels: {team: theirs}
  annotations: {note: theirs}
  finalizers: [example.com/theirs]
data: {colour: green, shape: round}
`

const theirService = `
apiVersion: v1
kind: Service
metadata: {labels: {team: theirs}}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80}, {name: metrics, port: 9090}]
`

const theirDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {labels: {team: theirs}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: example.com/web:1}]}
`

const theirBoiler = `
apiVersion: heating.example.com/v1
kind: Boiler
metadata: {labels: {team: theirs}}
spec: {fuel: gas}
`

// An adoptionCase is an object that somebody else made, and the desired state that adopts it.
type adoptionCase struct {
	theirs, ours string
	typed        bool
	reset        bool // somebody emptied its managed fields before
	// kept are the values of ours that have to stay, for the object cannot be without.
	kept func(content map[string]any)
	// writes is the number of writes that giving the object up takes.
	writes int
}

var adoptionCases = map[string]adoptionCase{
	"a label of a ConfigMap": {
		theirs: theirConfigMap, typed: true, writes: 1,
		ours: `{apiVersion: v1, kind: ConfigMap, metadata: {labels: {app: ours}}}`,
	},
	"some of a ConfigMap": {
		theirs: theirConfigMap, typed: true, writes: 1,
		ours: `{apiVersion: v1, kind: ConfigMap, metadata: {annotations: {note: theirs}, finalizers: [example.com/ours]},
			data: {colour: green, ours: x}}`,
	},
	"a port of an unstructured Service": {
		theirs: theirService, writes: 1,
		ours: `{apiVersion: v1, kind: Service, metadata: {labels: {app: ours}},
			spec: {selector: {app: web}, ports: [{name: http, port: 80, protocol: TCP}, {name: ours, port: 81, protocol: TCP}]}}`,
	},
	"some of a ConfigMap without managed fields": {
		theirs: theirConfigMap, typed: true, reset: true, writes: 1,
		ours: `{apiVersion: v1, kind: ConfigMap, metadata: {labels: {team: theirs, app: ours}}, data: {colour: green, shape: round, ours: x}}`,
	},
	"a Deployment without managed fields": {theirs: theirDeployment, typed: true, reset: true, writes: 1, ours: theirDeployment},
	"a Deployment as it is": {
		theirs: theirDeployment, typed: true, writes: 1, ours: theirDeployment,
	},
	"the image of a Deployment": {
		theirs: theirDeployment, typed: true, writes: 3,
		ours: `{apiVersion: apps/v1, kind: Deployment, metadata: {labels: {app: ours}}, spec: {
			selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}},
			spec: {containers: [{name: main, image: "example.com/web:2"}]}}}}`,
		kept: func(content map[string]any) {
			containers, _, _ := unstructured.NestedSlice(content, "spec", "template", "spec", "containers")
			containers[0].(map[string]any)["image"] = "example.com/web:2"
			_ = unstructured.SetNestedSlice(content, containers, "spec", "template", "spec", "containers")
		},
	},
	"what a custom kind needs": {
		theirs: theirBoiler, writes: 3,
		ours: `{apiVersion: heating.example.com/v1, kind: Boiler, metadata: {labels: {app: ours}}, spec: {fuel: oil, colour: red}}`,
		kept: func(content map[string]any) {
			content["spec"] = map[string]any{"fuel": "oil", "colour": "red"}
		},
	},
	"beside what a custom kind needs": {
		theirs: theirBoiler, writes: 1,
		ours: `{apiVersion: heating.example.com/v1, kind: Boiler, spec: {fuel: gas, colour: red}}`,
	},
}

// TestGivingUp: an adopted object that is no longer wanted is not deleted. Its content is as before
// the adoption, whatever client and store the operator has, after a restart at each step.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	define(t, "Boiler", "boiler")
	for way, open := range map[string]access{"plain": plain, "stripped": stripped, "labelled": labelled} {
		for name, a := range adoptionCases {
			t.Run(way+"/"+name, func(t *testing.T) {
				t.Parallel()
				a.run(newFixture(t, a.typed, open))
			})
		}
	}
}

func (a adoptionCase) run(f *fixture) {
	f.t.Helper()
	f.create(a.theirs)
	if a.reset {
		live := f.settled(a.theirs)
		live.SetManagedFields([]metav1.ManagedFieldsEntry{{}})
		require.NoError(f.t, f.admin.Update(f.t.Context(), live))
	}
	before := specified(f.settled(a.theirs))
	owned := ensure.ControlledBy(f.owner)
	_, err := ensure.Object(f.t.Context(), f.started(), f.parse(a.ours), owned)
	require.ErrorIs(f.t, err, ensure.ErrForeign)
	res, err := ensure.Object(f.t.Context(), f.started(), f.parse(a.ours), owned, ensure.Adopt())
	require.NoError(f.t, err)
	require.Equal(f.t, ensure.Adopted, res.Cause)
	f.settled(a.theirs)
	mark := shared.Mark()
	res, err = ensure.Object(f.t.Context(), f.started(), f.parse(a.ours), owned)
	require.NoError(f.t, err)
	require.Equal(f.t, ensure.Unchanged, res.Operation)
	require.LessOrEqual(f.t, f.writes(mark), 1, "which the server finds to be nothing")

	e := f.started()
	mark = shared.Mark()
	gone, err := ensure.Absent(f.t.Context(), e, f.parse(a.ours), owned)
	require.NoError(f.t, err)
	require.Equal(f.t, ensure.Released, gone.Operation)
	require.Equal(f.t, ensure.Unwanted, gone.Cause)
	require.NotEmpty(f.t, gone.Changes)
	require.Equal(f.t, a.writes, f.writes(mark))
	after := f.settled(a.theirs)
	if a.kept != nil {
		a.kept(before)
	}
	require.Empty(f.t, cmp.Diff(before, specified(after)))
	require.Nil(f.t, managedfields.Applied(after, fieldOwner))

	for _, again := range []*ensure.Ensurer{e, f.started()} {
		mark = shared.Mark()
		gone, err = ensure.Absent(f.t.Context(), again, f.parse(a.ours), owned)
		require.NoError(f.t, err)
		require.Equal(f.t, ensure.Released, gone.Operation, "a finalizer that did not get so far asks again")
		require.Zero(f.t, f.writes(mark))
	}
}

// create has another program make an object.
func (f *fixture) create(text string, owners ...metav1.OwnerReference) {
	f.t.Helper()
	obj := f.parseUntyped(text)
	obj.SetOwnerReferences(owners)
	require.NoError(f.t, program.Client(f.t, shared, other).Create(f.t.Context(), obj))
	f.settled(text)
}

// TestAFinalizerThatGivesUp: an object that the owner's cleanup gave up counts as done while other
// children are being deleted, and after restarts.
func TestAFinalizerThatGivesUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t, true, stripped)
	f.create(theirConfigMap)
	before := specified(f.settled(theirConfigMap))
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "made", Finalizers: []string{"example.com/slow"}}}
	adopted := f.parse(`{apiVersion: v1, kind: ConfigMap, metadata: {labels: {app: ours}}}`)
	var seen []ensure.Operation
	step := finalizer.Step{Name: "example.com/children", Cleanup: func(ctx context.Context) error {
		e, wait := f.started(), error(nil)
		for _, child := range []client.Object{adopted, made} {
			res, err := ensure.Absent(ctx, e, child, ensure.ControlledBy(f.owner))
			seen = append(seen, res.Operation)
			if err != nil {
				return err
			}
			if res.Operation == ensure.Deleting {
				wait = finalizer.NotDone(0, child.GetName()+" is still there")
			}
		}
		return wait
	}}
	handle := func() finalizer.Result {
		require.NoError(t, f.admin.Get(t.Context(), client.ObjectKeyFromObject(f.owner), f.owner))
		res, err := finalizer.Handle(t.Context(), f.admin, f.owner, step)
		require.NoError(t, err)
		return res
	}
	handle()
	_, err := ensure.Set(t.Context(), f.started(), f.owner, []client.Object{adopted, made}, ensure.OnlyFor(adopted, ensure.Adopt()))
	require.NoError(t, err)
	f.settled(theirConfigMap)
	require.NoError(t, f.admin.Delete(t.Context(), f.owner))
	require.Equal(t, "made is still there", handle().Reason)
	f.settled(theirConfigMap)
	require.Equal(t, "made is still there", handle().Reason)
	free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	require.NoError(t, f.admin.Patch(t.Context(), made, free))
	require.NoError(t, shared.Await(t.Context(), limit, f.namespace, func(ctx context.Context) error {
		if err := f.client.Get(ctx, client.ObjectKeyFromObject(made), made.DeepCopy()); !apierrors.IsNotFound(err) {
			return errors.New("the cache shows it")
		}
		return nil
	}))
	require.Empty(t, handle().Reason)
	require.Equal(t, []ensure.Operation{
		ensure.Released, ensure.Deleting, ensure.Released, ensure.Deleting, ensure.Released, ensure.Gone,
	}, seen)
	require.Empty(t, cmp.Diff(before, specified(f.settled(theirConfigMap))))
}
