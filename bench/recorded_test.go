package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trueup-go/trueup/bench/internal/contest"
	"github.com/trueup-go/trueup/bench/internal/replay"
)

const stale = "the recording is stale: run make bench-record"

// TestContestantsSendWhatWasRecorded replays each recorded step. An answer is only right for the recorded request.
func TestContestantsSendWhatWasRecorded(t *testing.T) {
	files, err := recordings()
	require.NoError(t, err)
	for _, c := range contest.Contestants() {
		for _, child := range contest.Children() {
			recorder := &replay.Recorder{}
			r, err := replay.Open(t.Context(), files, c, child, func(next http.RoundTripper) http.RoundTripper {
				recorder.Next = next
				return recorder
			})
			require.NoError(t, err, stale)
			for _, step := range replay.Steps() {
				t.Run(c.Name+"/"+child.Kind.Kind+"/"+step, func(t *testing.T) {
					recorder.Reset()
					pass, err := r.Prepare(t.Context(), step)
					require.NoError(t, err, stale)
					require.NoError(t, pass(), stale)
					requireRecorded(t, r.Recording.Step(step).Request, recorder.Request)
				})
			}
		}
	}
}

func requireRecorded(t *testing.T, recorded, sent *replay.Request) {
	t.Helper()
	if recorded == nil {
		require.Nil(t, sent, stale)
		return
	}
	require.NotNil(t, sent, stale)
	require.Equal(t, recorded.Method+" "+recorded.URL, sent.Method+" "+sent.URL, stale)
	require.Equal(t, recorded.ContentType, sent.ContentType, stale)
	require.JSONEq(t, string(recorded.Object), string(sent.Object), stale)
}

// The passes are what they are called: in each step, those write that have to.
func TestRecordedPasses(t *testing.T) {
	writes := map[string][]string{
		contest.Trueup:      {replay.Create, replay.Drift, replay.Change},
		contest.AllDefaults: {replay.Create, replay.Drift, replay.Change},
		contest.AsUsual:     replay.Steps(),
		contest.PlainApply:  replay.Steps(),
	}
	all, err := openReplays(t.Context(), contest.Children())
	require.NoError(t, err)
	for _, replays := range all {
		for _, r := range replays {
			var wrote []string
			for _, step := range replay.Steps() {
				recorded := r.Recording.Step(step)
				if recorded.Answer != nil {
					wrote = append(wrote, step)
				}
				reads := step != replay.Create && r.Contestant.Name != contest.PlainApply
				require.Equal(t, reads, recorded.Live != "", "%s, %s", replay.File(r.Contestant, r.Child), step)
			}
			want := writes[r.Contestant.Name]
			if r.Contestant.Name == contest.AsUsual && r.Child.Kind.Kind == "ConfigMap" { // has no defaults
				want = writes[contest.AllDefaults]
			}
			require.Equal(t, want, wrote, replay.File(r.Contestant, r.Child))
		}
	}
}

// A contestant that sends something else is an error, in the test and in a measurement.
func TestAStaleRecordingFails(t *testing.T) {
	files, err := recordings()
	require.NoError(t, err)
	update := contest.Contestant{
		Name: contest.AllDefaults, Start: contest.StartMutating(controllerutil.CreateOrPatch, contest.Child.AssignWithDefaults),
	}
	idle := contest.Contestant{Name: contest.AllDefaults, Start: func(client.Client, string) contest.Writer {
		return func(context.Context, client.Object, contest.Child, client.Object) error { return nil }
	}}
	busy := contest.Contestant{Name: contest.AllDefaults, Start: contest.StartApply}
	for _, c := range []struct {
		contestant contest.Contestant
		step, want string
	}{
		{update, replay.Drift, "instead of the recorded PUT: run make bench-record"},
		{idle, replay.Drift, "0 requests instead of 1: run make bench-record"},
		{busy, replay.Restart, "was not recorded: run make bench-record"},
	} {
		r, err := replay.Open(t.Context(), files, c.contestant, contest.ConfigMap(), nil)
		require.NoError(t, err)
		pass, err := r.Prepare(t.Context(), c.step)
		require.NoError(t, err)
		require.ErrorContains(t, pass(), c.want)
	}
}

// A replay has to allocate the same each time, or else the targets would be of no use.
func TestAllocationsAreTheSame(t *testing.T) {
	files, err := recordings()
	require.NoError(t, err)
	r, err := replay.Open(t.Context(), files, contest.Contestants()[0], contest.Deployment(), nil)
	require.NoError(t, err)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	measure := func() cost {
		var measured samples
		for range 10 { // on a busy machine, few rounds find what pools kept
			require.NoError(t, measured.add(10, func() (func() error, error) { return r.Prepare(t.Context(), replay.Drift) }))
		}
		return measured.cost()
	}
	first, second := measure(), measure()
	require.InEpsilon(t, first.allocs, second.allocs, 0.01)
	require.Greater(t, first.bytes, first.allocs)
	require.Positive(t, first.ns)
}

// The made-up answers for long lists have the metadata that an API server answers.
func TestMadeUpMetadata(t *testing.T) {
	files, err := recordings()
	require.NoError(t, err)
	r, err := replay.Open(t.Context(), files, contest.Contestants()[0], contest.Database(), nil)
	require.NoError(t, err)
	madeUp, err := madeUpRecording(r.Recording.Owner, contest.Database())
	require.NoError(t, err)
	answer := func(of *replay.Recording) (answered metav1.PartialObjectMetadata) {
		require.NoError(t, json.Unmarshal(of.Versions[of.Step(replay.Change).Answer.Version], &answered))
		return answered
	}
	recorded, like := answer(r.Recording), answer(madeUp)
	require.Equal(t, recorded.Annotations, like.Annotations)
	require.Equal(t, recorded.Labels, like.Labels)
	require.Equal(t, recorded.OwnerReferences, like.OwnerReferences)
	require.Equal(t, metav1.ManagedFieldsOperationApply, recorded.ManagedFields[0].Operation)
	require.JSONEq(t, recorded.ManagedFields[0].FieldsV1.GetRawString(), like.ManagedFields[0].FieldsV1.GetRawString())
}

func TestSamples(t *testing.T) {
	failed := errors.New("failed")
	var s samples
	require.ErrorIs(t, s.add(1, func() (func() error, error) { return nil, failed }), failed)
	require.ErrorIs(t, s.add(1, func() (func() error, error) { return func() error { return failed }, nil }), failed)

	s = samples{
		memory: []cost{{allocs: 3, bytes: 10}, {allocs: 2, bytes: 20}},
		times:  []time.Duration{80, 10, 70, 20, 60, 30, 50, 40},
	}
	require.Equal(t, cost{ns: 30, allocs: 2, bytes: 10}, s.cost())
}

func TestMeanFigures(t *testing.T) {
	costs := [][]cost{
		{{ns: 3, allocs: 100, bytes: 1}, {ns: 1, allocs: 10, bytes: 1}, {ns: 1, allocs: 1, bytes: 1}, {ns: 6, allocs: 1, bytes: 1}},
		{{ns: 3, allocs: 300, bytes: 3}, {ns: 2, allocs: 30, bytes: 1}, {ns: 1, allocs: 1, bytes: 1}, {ns: 6, allocs: 1, bytes: 1}},
	}
	figures := meanFigures(replay.Drift, costs)
	require.Len(t, figures, 10)
	require.Equal(t, figure{value: 200, isCount: true}, figures[0])
	require.Equal(t, []figure{{value: 10}, {value: 2}, {value: 2}}, figures[1:4], "no targets, because kinds are left out")

	figures = meanFigures(replay.Drift, append(costs, costs...))
	limits := writeTarget(replay.Drift, contest.AsUsual)
	require.Positive(t, limits.allocs)
	require.Equal(t, []figure{{value: 10, most: limits.allocs}, {value: 2}, {value: 2, most: limits.cpu}}, figures[1:4])
}

// Each target limits a figure that is measured.
func TestWriteTargetsAreOfStepsAndPeers(t *testing.T) {
	for _, target := range writeTargets {
		require.Contains(t, replay.Steps(), target.step)
		require.Contains(t, peerColumns, target.peer)
		require.Equal(t, target.writeLimits, writeTarget(target.step, target.peer), "a step and a peer have one target")
	}
}
