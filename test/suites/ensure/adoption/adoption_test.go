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

// An adoption is an object that somebody else made, and the desired state that adopts it.
type adoption struct {
	theirs, ours string
	typed        bool
	reset        bool // somebody emptied its managed fields before
	// kept are the values of ours that have to stay, for the object cannot be without.
	kept func(content map[string]any)
	// writes is the number of writes that giving the object up takes.
	writes int
}

var adoptions = map[string]adoption{
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
		for name, a := range adoptions {
			t.Run(way+"/"+name, func(t *testing.T) {
				t.Parallel()
				a.play(newHouse(t, a.typed, open))
			})
		}
	}
}

func (a adoption) play(h *house) {
	h.t.Helper()
	h.create(a.theirs)
	if a.reset {
		live := h.settled(a.theirs)
		live.SetManagedFields([]metav1.ManagedFieldsEntry{{}})
		require.NoError(h.t, h.person.Update(h.t.Context(), live))
	}
	before := specified(h.settled(a.theirs))
	owned := ensure.ControlledBy(h.owner)
	_, err := ensure.Object(h.t.Context(), h.started(), h.parse(a.ours), owned)
	require.ErrorIs(h.t, err, ensure.ErrForeign)
	res, err := ensure.Object(h.t.Context(), h.started(), h.parse(a.ours), owned, ensure.Adopt())
	require.NoError(h.t, err)
	require.Equal(h.t, ensure.Adopted, res.Cause)
	h.settled(a.theirs)
	mark := shared.Mark()
	res, err = ensure.Object(h.t.Context(), h.started(), h.parse(a.ours), owned)
	require.NoError(h.t, err)
	require.Equal(h.t, ensure.Unchanged, res.Operation)
	require.LessOrEqual(h.t, h.writes(mark), 1, "which the server finds to be nothing")

	e := h.started()
	mark = shared.Mark()
	gone, err := ensure.Absent(h.t.Context(), e, h.parse(a.ours), owned)
	require.NoError(h.t, err)
	require.Equal(h.t, ensure.Released, gone.Operation)
	require.Equal(h.t, ensure.Unwanted, gone.Cause)
	require.NotEmpty(h.t, gone.Changes)
	require.Equal(h.t, a.writes, h.writes(mark))
	after := h.settled(a.theirs)
	if a.kept != nil {
		a.kept(before)
	}
	require.Empty(h.t, cmp.Diff(before, specified(after)))
	require.Nil(h.t, managedfields.Applied(after, adopter))

	for _, again := range []*ensure.Ensurer{e, h.started()} {
		mark = shared.Mark()
		gone, err = ensure.Absent(h.t.Context(), again, h.parse(a.ours), owned)
		require.NoError(h.t, err)
		require.Equal(h.t, ensure.Released, gone.Operation, "a finalizer that did not get so far asks again")
		require.Zero(h.t, h.writes(mark))
	}
}

// create has another program make an object.
func (h *house) create(text string, owners ...metav1.OwnerReference) {
	h.t.Helper()
	obj := h.parseUntyped(text)
	obj.SetOwnerReferences(owners)
	require.NoError(h.t, program.Client(h.t, shared, other).Create(h.t.Context(), obj))
	h.t.Cleanup(func() { // else the namespace stays
		free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		require.NoError(h.t, client.IgnoreNotFound(h.person.Patch(context.Background(), obj, free)))
	})
	h.settled(text)
}

// TestAFinalizerThatGivesUp: an object that the owner's cleanup gave up counts as done while other
// children are being deleted, and after restarts.
func TestAFinalizerThatGivesUp(t *testing.T) {
	t.Parallel()
	h := newHouse(t, true, stripped)
	h.create(theirConfigMap)
	before := specified(h.settled(theirConfigMap))
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: "made", Finalizers: []string{"example.com/slow"}}}
	adopted := h.parse(`{apiVersion: v1, kind: ConfigMap, metadata: {labels: {app: ours}}}`)
	var seen []ensure.Operation
	step := finalizer.Step{Name: "example.com/children", Cleanup: func(ctx context.Context) error {
		e, wait := h.started(), error(nil)
		for _, child := range []client.Object{adopted, made} {
			res, err := ensure.Absent(ctx, e, child, ensure.ControlledBy(h.owner))
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
		require.NoError(t, h.person.Get(t.Context(), client.ObjectKeyFromObject(h.owner), h.owner))
		res, err := finalizer.Handle(t.Context(), h.person, h.owner, step)
		require.NoError(t, err)
		return res
	}
	handle()
	_, err := ensure.Set(t.Context(), h.started(), h.owner, []client.Object{adopted, made}, ensure.OnlyFor(adopted, ensure.Adopt()))
	require.NoError(t, err)
	h.settled(theirConfigMap)
	require.NoError(t, h.person.Delete(t.Context(), h.owner))
	require.Equal(t, "made is still there", handle().Reason)
	h.settled(theirConfigMap)
	require.Equal(t, "made is still there", handle().Reason)
	free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	require.NoError(t, h.person.Patch(t.Context(), made, free))
	require.NoError(t, shared.Await(t.Context(), limit, h.namespace, func(ctx context.Context) error {
		if err := h.client.Get(ctx, client.ObjectKeyFromObject(made), made.DeepCopy()); !apierrors.IsNotFound(err) {
			return errors.New("the cache shows it")
		}
		return nil
	}))
	require.Empty(t, handle().Reason)
	require.Equal(t, []ensure.Operation{
		ensure.Released, ensure.Deleting, ensure.Released, ensure.Deleting, ensure.Released, ensure.Gone,
	}, seen)
	require.Empty(t, cmp.Diff(before, specified(h.settled(theirConfigMap))))
}
