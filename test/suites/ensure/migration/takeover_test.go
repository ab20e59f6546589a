package migration_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const taker = "taker-operator"

func settings(namespace string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}, Data: data}
}

func dataOf(t *testing.T, c client.Client, namespace string) map[string]string {
	t.Helper()
	live := settings(namespace, nil)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(live), live))
	return live.Data
}

// setData is a program's controllerutil.CreateOrUpdate that sets some keys.
func setData(t *testing.T, c client.Client, namespace string, data map[string]string) {
	t.Helper()
	obj := settings(namespace, nil)
	_, err := controllerutil.CreateOrUpdate(t.Context(), c, obj, func() error {
		if obj.Data == nil {
			obj.Data = map[string]string{}
		}
		maps.Copy(obj.Data, data)
		return nil
	})
	require.NoError(t, err)
}

// TestMigrationIsByName: what desired drops goes if the manager that wrote it is named, and stays otherwise. All that desired
// never had stays, whoever wrote it.
func TestMigrationIsByName(t *testing.T) {
	cases := map[string]struct {
		reason, other string
		from          []ensure.Option
		stays         bool // what desired drops
	}{
		"not named":    {"nothing is guessed", "neighbour", nil, true},
		"another name": {"it has no entry", "neighbour", []ensure.Option{ensure.MigrateFrom("someone")}, true},
		"named":        {"desired alone decides about it", "neighbour", []ensure.Option{ensure.MigrateFrom(oldName)}, false},
		"named, and two have that name": {
			"the server cannot tell them apart", oldName, []ensure.Option{ensure.MigrateFrom(oldName)}, false,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			namespace := shared.Namespace(t)
			setData(t, program.Client(t, shared, oldName), namespace, map[string]string{"color": "blue", "size": "1", "more": "x"})
			setData(t, program.Client(t, shared, tc.other), namespace, map[string]string{"theirs": "x"})
			c := program.Client(t, shared, taker)
			e, opts := ensure.New(c, c, taker), append([]ensure.Option{ensure.Adopt()}, tc.from...)
			want := map[string]string{"color": "blue", "size": "1", "more": "x", "theirs": "x"}
			mustEnsure(t, e, settings(namespace, map[string]string{"color": "blue", "size": "1"}), opts...)
			require.Empty(t, cmp.Diff(want, dataOf(t, c, namespace)), "nothing is removed")

			for range 2 {
				mustEnsure(t, e, settings(namespace, map[string]string{"color": "blue"}), opts...)
			}
			if !tc.stays {
				delete(want, "size")
			}
			require.Empty(t, cmp.Diff(want, dataOf(t, c, namespace)), tc.reason)
		})
	}
}

// A racingClient runs a function right before its first JSON patch.
type racingClient struct {
	client.Client

	before func()
}

func (i *racingClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if patch.Type() == types.JSONPatchType && i.before != nil {
		before := i.before
		i.before = nil
		before()
	}
	return i.Client.Patch(ctx, obj, patch, opts...)
}

// TestMigrationAmongOthers: writers between the read and the patch lose nothing that they own.
func TestMigrationAmongOthers(t *testing.T) {
	cases := map[string]struct {
		reason string
		write  func(t *testing.T, namespace string)
		verbs  map[string]int
		want   map[string]string
	}{
		"the old operator": {
			"its entry is read again",
			func(t *testing.T, namespace string) {
				t.Helper()
				setData(t, program.Client(t, shared, "an-old-manager"), namespace, map[string]string{"late": "x"})
			},
			map[string]int{"get configmaps": 2, "patch configmaps": 3, "patch configmaps (dry run)": 1},
			map[string]string{"color": "blue", "dropped": "x", "dropped-too": "x", "late": "x"},
		},
		"another program": {
			"its entry comes after and is left alone",
			func(t *testing.T, namespace string) {
				t.Helper()
				setData(t, program.Client(t, shared, "neighbour"), namespace, map[string]string{"theirs": "x"})
			},
			map[string]int{"get configmaps": 1, "patch configmaps": 2, "patch configmaps (dry run)": 1},
			map[string]string{"color": "blue", "dropped": "x", "dropped-too": "x", "theirs": "x"},
		},
		"somebody who deletes it": {
			"it is made again",
			func(t *testing.T, namespace string) {
				t.Helper()
				require.NoError(t, program.Client(t, shared, "neighbour").Delete(t.Context(), settings(namespace, nil)))
			},
			map[string]int{"get configmaps": 3, "patch configmaps": 3},
			map[string]string{"color": "blue"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			namespace := shared.Namespace(t)
			old := program.Client(t, shared, "an-old-manager") // sorts before the others
			setData(t, old, namespace, map[string]string{"color": "blue", "dropped": "x"})
			setData(t, program.Client(t, shared, oldName), namespace, map[string]string{"dropped-too": "x"})
			c := &racingClient{Client: program.Client(t, shared, taker), before: func() { tc.write(t, namespace) }}
			e := ensure.New(c, c, taker)
			begin := shared.Mark()
			mustEnsure(t, e, settings(namespace, map[string]string{"color": "blue"}),
				ensure.Adopt(), ensure.MigrateFrom("an-old-manager", oldName))
			require.Empty(t, cmp.Diff(tc.verbs, cluster.Counts(program.Requests(t, shared, begin, taker))), tc.reason)
			require.Empty(t, cmp.Diff(tc.want, dataOf(t, c, namespace)), tc.reason)
		})
	}
}

// TestMigrationBesideAnEditor: somebody changes a field of ours between the two writes. The next pass reverts that, and
// finishes the migration.
func TestMigrationBesideAnEditor(t *testing.T) {
	namespace, old := shared.Namespace(t), program.Client(t, shared, oldName)
	setData(t, old, namespace, map[string]string{"color": "blue", "size": "1"})
	c := &racingClient{Client: program.Client(t, shared, taker), before: func() {
		setData(t, program.Client(t, shared, "kubectl-edit"), namespace, map[string]string{"color": "red"})
	}}
	e, opts := ensure.New(c, c, taker), []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName)}
	desired := map[string]string{"color": "blue", "size": "1"}
	mustEnsure(t, e, settings(namespace, desired), opts...)
	require.Equal(t, ensure.Updated, mustEnsure(t, e, settings(namespace, desired), opts...).Operation)
	require.Empty(t, cmp.Diff(desired, dataOf(t, c, namespace)))
	delete(desired, "size")
	mustEnsure(t, e, settings(namespace, desired), opts...)
	require.Empty(t, cmp.Diff(desired, dataOf(t, c, namespace)))
}

// TestMigrationDuringARollout: status reports between the read and the patch do not matter.
func TestMigrationDuringARollout(t *testing.T) {
	namespace, old := shared.Namespace(t), program.Client(t, shared, oldName)
	require.NoError(t, old.Create(t.Context(), withReplicas(idle(namespace), 1)))
	awaitStatus(t, old, idle(namespace), 1)
	report := func() {
		live := idle(namespace)
		require.NoError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error { // beside the controller
			require.NoError(t, old.Get(t.Context(), client.ObjectKeyFromObject(live), live))
			live.Status.Conditions = append(live.Status.Conditions, appsv1.DeploymentCondition{Type: "Reported", Status: corev1.ConditionTrue})
			return old.Status().Update(t.Context(), live, client.FieldOwner("kube-controller-manager"))
		}))
	}
	// The server orders the entries by their time, in seconds. The report that comes in between
	// must not change places with the old operator's.
	live := idle(namespace)
	require.NoError(t, old.Get(t.Context(), client.ObjectKeyFromObject(live), live))
	require.Eventually(t, func() bool { return time.Since(live.CreationTimestamp.Time) > time.Second }, limit, tick)
	report()
	c := &racingClient{Client: program.Client(t, shared, taker), before: report}
	begin := shared.Mark()
	mustEnsure(t, ensure.New(c, c, taker), withReplicas(idle(namespace), 1), ensure.Adopt(), ensure.MigrateFrom(oldName))
	// The old operator owns the defaults of the object that it created: a dry run tells them from what
	// it set.
	require.Empty(t, cmp.Diff(map[string]int{"get deployments": 1, "patch deployments (dry run)": 1, "patch deployments": 2},
		cluster.Counts(program.Requests(t, shared, begin, taker))))
}

// TestAContestWithOneself: an operator that still writes its ensured object by Update gets an error
// that says so.
func TestAContestWithOneself(t *testing.T) {
	namespace, old, c := shared.Namespace(t), program.Client(t, shared, oldName), program.Client(t, shared, taker)
	e := ensure.New(c, c, taker)
	var err error
	for range 5 {
		require.NoError(t, err)
		setData(t, old, namespace, map[string]string{"color": "red"})
		_, err = ensure.Object(t.Context(), e, settings(namespace, map[string]string{"color": "blue"}),
			ensure.Adopt(), ensure.MigrateFrom(oldName))
	}
	require.NoError(t, err, "the first was no undoing")
	setData(t, old, namespace, map[string]string{"color": "red"})
	_, err = ensure.Object(t.Context(), e, settings(namespace, map[string]string{"color": "blue"}),
		ensure.Adopt(), ensure.MigrateFrom(oldName))
	var contested *ensure.Error
	require.ErrorAs(t, err, &contested)
	require.ErrorIs(t, err, ensure.ErrContested)
	require.Equal(t, oldName, contested.Rival)
	require.ErrorContains(t, err, "most likely another part of this operator")
}

// TestAnApplierThatStillRuns: what an older version applies again and again is a contest, too, until one of the two waits.
func TestAnApplierThatStillRuns(t *testing.T) {
	for about, tc := range map[string]struct {
		settings []ensure.Setting
		opts     []ensure.Option
	}{
		"named by MigrateFrom": {nil, []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(formerName)}},
		"a former field owner": {[]ensure.Setting{ensure.FormerFieldOwners(formerName)}, nil},
	} {
		t.Run(about, func(t *testing.T) {
			namespace, c := shared.Namespace(t), program.Client(t, shared, taker)
			desired := func() *corev1.ConfigMap { return settings(namespace, map[string]string{"color": "blue"}) }
			former, e := ensure.New(c, c, formerName), ensure.New(c, c, taker, tc.settings...)
			contests := 0
			for range 10 {
				_, failure := ensure.Object(t.Context(), former, desired(), ensure.Adopt())
				_, err := ensure.Object(t.Context(), e, desired(), tc.opts...)
				for _, err := range []error{failure, err} {
					if err != nil {
						require.ErrorIs(t, err, ensure.ErrContested)
						contests++
					}
				}
			}
			begin := shared.Mark()
			_, _ = ensure.Object(t.Context(), former, desired(), ensure.Adopt())
			_, _ = ensure.Object(t.Context(), e, desired(), tc.opts...)
			require.Empty(t, writesOf(t, begin, taker))
			require.Positive(t, contests)
		})
	}
}

// TestMigrationAcrossVersions: the old operator wrote one version of the API first and another
// later. Each version has an entry. What desired drops of either goes.
func TestMigrationAcrossVersions(t *testing.T) {
	namespace, old, c := shared.Namespace(t), program.Client(t, shared, oldName), program.Client(t, shared, taker)
	first := &autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "web", Annotations: map[string]string{"dropped": "x"},
	}}
	first.Spec.ScaleTargetRef = autoscalingv1.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "none"}
	first.Spec.MinReplicas, first.Spec.MaxReplicas, first.Spec.TargetCPUUtilizationPercentage = new(int32(2)), 9, new(int32(50))
	require.NoError(t, old.Create(t.Context(), first))
	second := &autoscalingv2.HorizontalPodAutoscaler{}
	require.NoError(t, old.Get(t.Context(), client.ObjectKeyFromObject(first), second))
	second.Annotations["dropped-too"] = "x"
	second.Spec.MaxReplicas = 8
	second.ResourceVersion = "" // the autoscaler writes the status meanwhile
	require.NoError(t, old.Update(t.Context(), second))

	desired := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
	desired.Spec.ScaleTargetRef = second.Spec.ScaleTargetRef
	desired.Spec.MinReplicas, desired.Spec.MaxReplicas = new(int32(2)), 8
	desired.Annotations = map[string]string{"dropped": "x", "dropped-too": "x"}
	e, opts := ensure.New(c, c, taker), []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName)}
	migrated := mustEnsure(t, e, desired.DeepCopy(), opts...)
	require.Equal(t, ensure.Migrated, migrated.Cause)
	require.Empty(t, cmp.Diff(second.Spec, migrated.Live.Spec), "nothing is removed")
	require.Len(t, migrated.Kept, 1, "the other version has it in another place")

	desired.Annotations, desired.Spec.MinReplicas = nil, nil
	live := mustEnsure(t, e, desired.DeepCopy(), opts...).Live
	require.NotContains(t, live.Annotations, "dropped")
	require.NotContains(t, live.Annotations, "dropped-too")
	require.Equal(t, int32(1), *live.Spec.MinReplicas, "the default again")
	require.Len(t, live.Spec.Metrics, 1, "desired never had it")
	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, desired.DeepCopy(), opts...).Operation)

	_, err := ensure.Object(t.Context(), e, desired, append(opts, ensure.Retire(migrated.Kept[0].Path))...)
	require.ErrorIs(t, err, ensure.ErrRefused, "this version has no such path")
}

// TestMigrationOfAnObjectWithoutManagedFields: the server records all present fields under one
// name, and their real owners are unknown.
func TestMigrationOfAnObjectWithoutManagedFields(t *testing.T) {
	namespace, c := shared.Namespace(t), program.Client(t, shared, taker)
	setData(t, program.Client(t, shared, oldName), namespace, map[string]string{"color": "blue", "size": "1", "dropped": "x"})
	setData(t, program.Client(t, shared, "neighbour"), namespace, map[string]string{"theirs": "x"})
	reset := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`))
	require.NoError(t, c.Patch(t.Context(), settings(namespace, nil), reset))

	e, all := ensure.New(c, c, taker), maps.Clone(dataOf(t, c, namespace))
	do := func(desired map[string]string, opts ...ensure.Option) {
		t.Helper()
		mustEnsure(t, e, settings(namespace, desired), append(opts, ensure.Adopt())...)
		require.Empty(t, cmp.Diff(all, dataOf(t, c, namespace)))
	}
	unknown := ensure.MigrateFrom("before-first-apply")
	do(map[string]string{"color": "blue", "size": "1"}, ensure.MigrateFrom(oldName))
	do(map[string]string{"color": "blue", "size": "1"}, unknown)
	delete(all, "size") // which desired drops
	do(map[string]string{"color": "blue"}, unknown)
	delete(all, "dropped")
	do(map[string]string{"color": "blue"}, unknown, ensure.Retire("data[dropped]"))
}

// TestMigrationLeavesTheStatus: a kind without a status subresource has its status in the main
// resource. The status belongs to the controller, even if the controller has the old operator's
// name.
func TestMigrationLeavesTheStatus(t *testing.T) {
	namespace, old, c := shared.Namespace(t), program.Client(t, shared, oldName), program.Client(t, shared, taker)
	gauge := func(members map[string]any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: members}
		u.SetAPIVersion("metering.example.com/v1")
		u.SetKind("Gauge")
		u.SetNamespace(namespace)
		u.SetName("web")
		return u
	}
	defineGauges(t)
	require.NoError(t, old.Create(t.Context(), gauge(map[string]any{
		"spec": map[string]any{"size": int64(1), "dropped": int64(1)}, "status": map[string]any{"ready": true},
	})))
	e := ensure.New(c, c, taker)
	desired := func() *unstructured.Unstructured {
		return gauge(map[string]any{"spec": map[string]any{"size": int64(1)}})
	}
	result := mustEnsure(t, e, desired(), ensure.Adopt(), ensure.MigrateFrom(oldName))
	require.Equal(t, ensure.Migrated, result.Cause)
	require.Equal(t, map[string]any{"size": int64(1), "dropped": int64(1)}, result.Live.Object["spec"])
	require.Equal(t, []ensure.KeptField{{Path: "spec.dropped", Manager: oldName}}, result.Kept)

	result = mustEnsure(t, e, desired(), ensure.MigrateFrom(oldName), ensure.Retire("spec.dropped"))
	require.Equal(t, map[string]any{"size": int64(1)}, result.Live.Object["spec"])
	require.Equal(t, map[string]any{"ready": true}, result.Live.Object["status"])
	begin := shared.Mark()
	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, desired(), ensure.MigrateFrom(oldName)).Operation)
	require.Empty(t, writesOf(t, begin, taker))
}

func defineGauges(t *testing.T) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, apiextensionsv1.AddToScheme(scheme))
	c, err := client.New(shared.Config(), client.Options{Scheme: scheme})
	require.NoError(t, err)
	err = cluster.Define(t.Context(), c, &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gauges.metering.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "metering.example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "gauges", Singular: "gauge", Kind: "Gauge", ListKind: "GaugeList",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	})
	if !apierrors.IsAlreadyExists(err) { // by another test
		require.NoError(t, err)
	}
}
