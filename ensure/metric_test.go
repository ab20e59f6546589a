package ensure_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/trueup-go/trueup/ensure"
)

// A tally is what the metrics count from its beginning.
type tally struct {
	t     *testing.T
	began map[string]float64
}

func newTally(t *testing.T) *tally {
	t.Helper()
	return &tally{t: t, began: gather(t)}
}

// gather is every series of this package, as "writes apps/Deployment Updated Drifted".
func gather(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	series := map[string]float64{}
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
			require.Len(t, labels, 4, "%v", labels)
			key := fmt.Sprintf("%s %s/%s %s %s", strings.TrimSuffix(name, "_total"),
				labels["group"], labels["kind"], labels["operation"], labels["cause"])
			series[key] = metric.GetCounter().GetValue()
		}
	}
	return series
}

// take is what was counted since the beginning or the last call.
func (c *tally) take() map[string]float64 {
	c.t.Helper()
	now, counted := gather(c.t), map[string]float64{}
	for key, value := range now {
		if value != c.began[key] {
			counted[key] = value - c.began[key]
		}
	}
	c.began = now
	return counted
}

// A step is a call after something has happened, and what that is counted as.
type step struct {
	reason string
	before func()
	call   func() error
	counts map[string]float64
}

func run(t *testing.T, steps []step) {
	t.Helper()
	counted := newTally(t)
	for _, step := range steps {
		if step.before != nil {
			step.before()
		}
		require.NoError(t, step.call(), step.reason)
		require.Empty(t, cmp.Diff(step.counts, counted.take()), step.reason)
	}
}

func TestWritesAndRequestsAreCounted(t *testing.T) {
	s := newServer()
	e := ensure.New(s.cached(faithful), s, fieldOwner)
	ensures := func(desired client.Object, opts ...ensure.Option) func() error {
		return func() error {
			_, err := ensure.Object(t.Context(), e, desired, append(opts, ensure.ControlledBy(shop()))...)
			return err
		}
	}
	removes := func(opts ...ensure.AbsentOption) func() error {
		return func() error {
			_, err := ensure.Absent(t.Context(), e, named(), append(opts, ensure.ControlledBy(shop()))...)
			return err
		}
	}
	paint := func() { s.edit(t, configMap(), `{"data":{"color":"red"}}`) }
	dropped := with(configMap(), func(o *corev1.ConfigMap) { delete(o.Data, "shape") })
	none := map[string]float64{}
	run(t, []step{
		{
			"a dry run asks", nil, ensures(configMap(), ensure.DryRun()),
			map[string]float64{"requests /ConfigMap Created Missing": 1},
		},
		{
			"it is not there", nil, ensures(configMap()),
			map[string]float64{"requests /ConfigMap Created Missing": 1, "writes /ConfigMap Created Missing": 1},
		},
		{"it is in sync", nil, ensures(configMap()), none},
		{
			"somebody undid it", paint, ensures(configMap()),
			map[string]float64{"requests /ConfigMap Updated Drifted": 1, "writes /ConfigMap Updated Drifted": 1},
		},
		{
			"desired is another", nil, ensures(dropped),
			map[string]float64{"requests /ConfigMap Updated DesiredChanged": 1, "writes /ConfigMap Updated DesiredChanged": 1},
		},
		{
			"what others add is asked about", func() { s.edit(t, configMap(), `{"data":{"more":"x"}}`) }, ensures(dropped),
			map[string]float64{"requests /ConfigMap Unchanged ": 1},
		},
		{
			"a dry run of an update", paint, ensures(dropped, ensure.DryRun()),
			map[string]float64{"requests /ConfigMap Updated Drifted": 1},
		},
		{
			"a dry run of a deletion", nil, removes(ensure.DryRun()),
			map[string]float64{"requests /ConfigMap Deleting Unwanted": 1},
		},
		{
			"it is not wanted", nil, removes(),
			map[string]float64{"requests /ConfigMap Deleting Unwanted": 1, "writes /ConfigMap Deleting Unwanted": 1},
		},
		{"the server confirms it", nil, removes(), map[string]float64{"requests /ConfigMap Gone ": 1}},
		{"once is enough", nil, removes(), none},
		{"there is none", nil, ensures(configMap(), ensure.IfExists()), none},
		{
			"somebody else is to make it", func() { s.createOld(t, legacyConfigMap()) }, ensures(configMap(), ensure.MigrateFrom(oldManager)),
			map[string]float64{"requests /ConfigMap Updated Migrated": 3, // the apply, the move, and a dry run for the defaults
				"writes /ConfigMap Updated Migrated": 1},
		},
		{
			"somebody else deletes it", func() { s.remove(t, configMap()) }, ensures(configMap()),
			map[string]float64{
				"requests /ConfigMap Created Missing": 3, // reads of the child, which was there a moment ago, and of its owner
				"writes /ConfigMap Created Missing":   1,
			},
		},
	})
}

func TestSetIsCountedByChild(t *testing.T) {
	s := newServer()
	e := ensure.New(s.cached(faithful), s, fieldOwner)
	old := called("old")
	sets := func(children ...client.Object) func() error {
		return func() error {
			_, err := ensure.Set(t.Context(), e, shop(), children, ensure.Prune(&corev1.ConfigMap{}))
			return err
		}
	}
	run(t, []step{
		{
			"all are made", nil, sets(configMap(), old, deployment()),
			map[string]float64{
				"requests /ConfigMap Created Missing": 2, "writes /ConfigMap Created Missing": 2,
				"requests apps/Deployment Created Missing": 1, "writes apps/Deployment Created Missing": 1,
			},
		},
		{"all are in sync", nil, sets(configMap(), old, deployment()), map[string]float64{}},
		{
			"one is no longer wanted", nil, sets(configMap(), deployment()),
			map[string]float64{"requests /ConfigMap Deleting Unwanted": 2, "writes /ConfigMap Deleting Unwanted": 1},
		},
	})
}

func TestRecreationIsCountedAsItsTwoWrites(t *testing.T) {
	s := newServer()
	created(t, s, fixed())
	s.answers = []error{refused("spec"), nil}
	changed := with(fixed(), func(svc *corev1.Service) { svc.Spec.SessionAffinity = corev1.ServiceAffinityClientIP })
	run(t, []step{{
		"at once", nil,
		func() error {
			_, err := ensure.Object(t.Context(), ensure.New(s.cached(faithful), s, fieldOwner), changed,
				ensure.Recreate(metav1.DeletePropagationBackground))
			return err
		},
		map[string]float64{
			"requests /Service Recreated DesiredChanged": 6, // refused, read, tried, what nobody owns asked, deleted, made
			"writes /Service Deleting DesiredChanged":    1,
			"writes /Service Recreated DesiredChanged":   1,
		},
	}})
}

// Whoever answers, the causes are few.
func TestFailuresAreCountedByKnownReasons(t *testing.T) {
	for reason, tc := range map[string]struct {
		answer error
		cause  string
	}{
		"the server's own":        {status(429, metav1.StatusReasonTooManyRequests), "TooManyRequests"},
		"a class of this package": {status(422, metav1.StatusReasonInvalid), "Invalid"},
		"a missing right":         {status(403, metav1.StatusReasonForbidden), "Forbidden"},
		"made up, one word":       {status(418, "Teapot"), "Unknown"},
		"made up, a sentence":     {status(418, "I am a teapot"), "Unavailable"},
		"no answer":               {errors.New("connection refused"), "Unavailable"},
	} {
		t.Run(reason, func(t *testing.T) {
			s := newServer()
			s.answers = []error{tc.answer}
			counted := newTally(t)
			_, err := ensure.Object(t.Context(), newEnsurer(s), configMap())
			require.Error(t, err)
			require.Empty(t, cmp.Diff(map[string]float64{"requests /ConfigMap Failed " + tc.cause: 1}, counted.take()))
		})
	}
}

// A write that ends as ErrContested was made all the same.
func TestContestedWritesAreCounted(t *testing.T) {
	a := newArena(t, faithful)
	counted := newTally(t)
	a.begin(configMap(), a.paint)
	require.Empty(t, cmp.Diff(map[string]float64{
		"requests /ConfigMap Created Missing": 1, "writes /ConfigMap Created Missing": 1,
		"requests /ConfigMap Updated Drifted": 4, "requests /ConfigMap Failed Contested": 1, "writes /ConfigMap Updated Drifted": 5,
	}, counted.take()))
}

func TestSeriesDoNotMultiplyWithChildren(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	mustEnsure(t, e, configMap())
	few := gather(t)
	children := 1000
	if testing.Short() {
		children = 50
	}
	for i := range children {
		mustEnsure(t, e, with(called(fmt.Sprintf("settings-%d", i)), func(o *corev1.ConfigMap) {
			o.Namespace = fmt.Sprintf("tenant-%d", i%7)
		}), ensure.ControlledBy(with(shop(), func(o *Shop) {
			o.Namespace, o.Name = fmt.Sprintf("tenant-%d", i%7), fmt.Sprintf("shop-%d", i)
		})))
	}
	many := gather(t)
	require.Len(t, many, len(few))
	require.InDelta(t, children, many["writes /ConfigMap Created Missing"]-few["writes /ConfigMap Created Missing"], 0)
}

func TestRefusedCallsSendNothing(t *testing.T) {
	counted := newTally(t)
	_, err := ensure.Object(t.Context(), newEnsurer(newServer()), &corev1.ConfigMap{})
	require.ErrorIs(t, err, ensure.ErrRefused)
	require.Empty(t, counted.take())
}
