package events_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// gather is every series of package ensure about a kind, as "writes Updated Drifted".
func gather(t *testing.T, kind string) map[string]int {
	t.Helper()
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	series := map[string]int{}
	for _, family := range families {
		name, isOurs := strings.CutPrefix(family.GetName(), "trueup_ensure_")
		if !isOurs || name == "contests_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			require.Equal(t, []string{"cause", "group", "kind", "operation"}, slices.Sorted(maps.Keys(labels)))
			if labels["kind"] == kind {
				series[strings.TrimSuffix(name, "_total")+" "+labels["operation"]+" "+labels["cause"]] = int(metric.GetCounter().GetValue())
			}
		}
	}
	return series
}

// A step is an action with the expected requests to the API server and the expected metrics.
type step struct {
	reason string
	do     func()
	server map[string]int
	counts map[string]int
}

// count goes through steps that are about objects of one kind, with a cache and no other test
// that counts this kind at the same time.
func (f *fixture) count(kind string, steps []step) {
	f.t.Helper()
	for _, step := range steps {
		mark, before := shared.Mark(), gather(f.t, kind)
		step.do()
		_, server := f.requests(mark)
		require.Empty(f.t, cmp.Diff(step.server, server), "%s: what the API server was asked", step.reason)

		counted, requests := map[string]int{}, 0
		for series, value := range gather(f.t, kind) {
			if value == before[series] {
				continue
			}
			counted[series] = value - before[series]
			if strings.HasPrefix(series, "requests ") {
				requests += counted[series]
			}
		}
		require.Empty(f.t, cmp.Diff(step.counts, counted), "%s: what was counted", step.reason)
		require.Equal(f.t, sum(server), requests, "%s: nothing but what the server was asked", step.reason)
	}
}

func sum(counts map[string]int) (total int) {
	for _, count := range counts {
		total += count
	}
	return total
}

// TestMetricsAreWhatTheServerWasAsked compares each call with the audit log.
func TestMetricsAreWhatTheServerWasAsked(t *testing.T) {
	f := newFixture(t)
	none := map[string]int{}
	patches := func(n int) map[string]int { return map[string]int{"patch configmaps": n} }
	edited := func(patch string) {
		shown := f.settings("")
		f.edit(shown, patch)
		f.shows(shown)
	}
	f.count("ConfigMap", []step{
		{
			"a dry run", func() { f.ensure(f.settings("blue"), ensure.DryRun()) },
			map[string]int{"patch configmaps (dry run)": 1},
			map[string]int{"requests Created Missing": 1},
		},
		{
			"a creation", func() { f.ensure(f.settings("blue")) },
			patches(1),
			map[string]int{"requests Created Missing": 1, "writes Created Missing": 1},
		},
		{"in sync", func() { f.ensure(f.settings("blue")); f.ensure(f.settings("blue")) }, none, none},
		{
			"another desired state", func() { f.ensure(f.settings("green")) },
			patches(1),
			map[string]int{"requests Updated DesiredChanged": 1, "writes Updated DesiredChanged": 1},
		},
		{
			"drift", func() { edited(`{"data":{"color":"red"}}`); f.ensure(f.settings("green")) },
			patches(1),
			map[string]int{"requests Updated Drifted": 1, "writes Updated Drifted": 1},
		},
		{
			"a question", func() { edited(`{"data":{"theirs":"x"}}`); f.ensure(f.settings("green")) },
			patches(1),
			map[string]int{"requests Unchanged ": 1},
		},
		{
			"a field handed over", func() {
				without := f.settings("")
				delete(without.Data, "color")
				f.ensure(without, ensure.Release("data[color]"))
			},
			patches(2),
			map[string]int{"requests Updated DesiredChanged": 2, "writes Updated DesiredChanged": 1},
		},
		{
			"a deletion", func() { f.absent(f.settings("")) },
			map[string]int{"delete configmaps": 1},
			map[string]int{"requests Deleting Unwanted": 1, "writes Deleting Unwanted": 1},
		},
		{
			"its confirmation", func() { f.absent(f.settings("")); f.absent(f.settings("")) },
			map[string]int{"get configmaps": 1},
			map[string]int{"requests Gone ": 1},
		},
		{"nobody made it", func() { f.ensure(f.settings("blue"), ensure.IfExists()) }, none, none},
		{
			"an old operator's", func() {
				old := f.settings("blue")
				old.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(f.owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
				require.NoError(t, program.Client(t, shared, "old").Create(f.ctx, old))
				f.shows(old)
				f.ensure(f.settings("blue"), ensure.MigrateFrom("old"))
			},
			patches(2),
			map[string]int{"requests Updated Migrated": 2, "writes Updated Migrated": 1},
		},
		{
			"one pruned, one kept", func() {
				rest := f.settings("blue")
				rest.Name = "rest"
				f.set(f.settings("blue"), rest)
				f.set(rest)
			},
			map[string]int{"patch configmaps": 1, "get configmaps": 1, "delete configmaps": 1}, // it reads the owner
			map[string]int{
				"requests Created Missing": 1, "writes Created Missing": 1,
				"requests Deleting Unwanted": 2, "writes Deleting Unwanted": 1,
			},
		},
	})
}

// set ensures these children and prunes all others.
func (f *fixture) set(children ...client.Object) {
	f.t.Helper()
	_, err := ensure.Set(f.ctx, f.ensurer, f.owner, children, ensure.Prune(&corev1.ConfigMap{}))
	require.NoError(f.t, err)
}

// shows waits until the operator's cache has the live version of obj.
func (f *fixture) shows(obj client.Object) {
	f.t.Helper()
	require.NoError(f.t, f.admin.Get(f.ctx, client.ObjectKeyFromObject(obj), obj))
	f.await("the cache to show it", func() bool {
		live := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // it is one
		err := f.client.Get(f.ctx, client.ObjectKeyFromObject(obj), live)
		return err == nil && live.GetResourceVersion() == obj.GetResourceVersion()
	})
}

// TestMetricsOfRefusals: of a call that failed, too, every request is counted, and no write
// that was not made.
func TestMetricsOfRefusals(t *testing.T) {
	f := newFixture(t)
	database := func(service string, replicas int32) *appsv1.StatefulSet {
		labels := map[string]string{"app": "db"}
		return &appsv1.StatefulSet{
			ObjectMeta: f.objectMeta("db"),
			Spec: appsv1.StatefulSetSpec{
				Replicas: &replicas, ServiceName: service, Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Image: "db:1"}}},
				},
			},
		}
	}
	fails := func(class error, desired client.Object, opts ...ensure.Option) {
		_, err := ensure.Object(f.ctx, f.ensurer, desired, append(opts, ensure.ControlledBy(f.owner))...)
		require.ErrorIs(t, err, class)
	}
	held := database("one", 0)
	held.Finalizers = []string{"events.example.com/hold"}
	changed := database("two", 0)
	changed.Finalizers = held.Finalizers
	anew := ensure.Recreate(metav1.DeletePropagationBackground)
	f.count("StatefulSet", []step{
		{
			"invalid", func() { fails(ensure.ErrInvalid, database("one", -1)) },
			map[string]int{"patch statefulsets": 1},
			map[string]int{"requests Failed Invalid": 1},
		},
		{
			"a creation", func() {
				f.ensure(held)
				live := &appsv1.StatefulSet{}
				f.await("its controller, whose writes would be in the way", func() bool {
					err := f.client.Get(f.ctx, client.ObjectKeyFromObject(held), live)
					return err == nil && live.Status.ObservedGeneration == live.Generation
				})
			},
			map[string]int{"patch statefulsets": 1},
			map[string]int{"requests Created Missing": 1, "writes Created Missing": 1},
		},
		{
			"immutable", func() { fails(ensure.ErrImmutable, changed) },
			map[string]int{"patch statefulsets": 1, "get statefulsets": 1, "create statefulsets (dry run)": 1, "patch statefulsets (dry run)": 2},
			map[string]int{"requests Failed Immutable": 5},
		},
		{
			"deleted to be made again", func() { fails(ensure.ErrTerminating, changed, anew) },
			map[string]int{
				"patch statefulsets": 2, "create statefulsets (dry run)": 1, "patch statefulsets (dry run)": 2, "delete statefulsets": 1, "get statefulsets": 2,
			},
			map[string]int{"requests Failed Terminating": 8, "writes Deleting DesiredChanged": 1},
		},
		{
			"made again", func() {
				f.edit(held, `{"metadata":{"finalizers":null}}`)
				f.await("it to be gone", func() bool {
					return apierrors.IsNotFound(f.client.Get(f.ctx, client.ObjectKeyFromObject(held), held))
				})
				f.ensure(changed, anew)
			},
			map[string]int{"patch statefulsets": 1},
			map[string]int{"requests Recreated DesiredChanged": 1, "writes Recreated DesiredChanged": 1},
		},
	})
	actions := []string{}
	for _, seen := range f.eventSummaries() {
		actions = append(actions, seen.Action+" for "+seen.Reason)
	}
	require.Equal(t, []string{"Created for Created", "Deleting for DesiredChanged", "Recreated for DesiredChanged"}, actions)
}
