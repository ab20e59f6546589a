package main

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/bench/internal/contest"
	"github.com/trueup-go/trueup/bench/internal/replay"
)

// Both sides have to do the same work: a pass in which the live object matches.
func TestPassesWriteNothing(t *testing.T) {
	for _, c := range objectCases() {
		t.Run(c.name, func(t *testing.T) {
			ours, err := ensureNothing(t.Context(), c)
			require.NoError(t, err)
			theirs, err := createOrUpdateNothing(t.Context(), c)
			require.NoError(t, err)
			for range 2 {
				require.NoError(t, ours())
				require.NoError(t, theirs())
			}
		})
	}
}

func TestAWriteFails(t *testing.T) {
	c := objectCases()[0]
	desired, spell, label := c.desired(), c.mutate, "as it was"
	desired.SetLabels(map[string]string{"label": label})
	c.desired = func() client.Object { return desired }
	c.mutate = func(into client.Object) {
		spell(into)
		into.SetLabels(map[string]string{"label": label})
	}
	ours, err := ensureNothing(t.Context(), c)
	require.NoError(t, err)
	theirs, err := createOrUpdateNothing(t.Context(), c)
	require.NoError(t, err)
	require.NoError(t, ours())
	require.NoError(t, theirs())

	label = "another"
	desired.SetLabels(map[string]string{"label": label})
	require.ErrorIs(t, ours(), errWrite)
	require.ErrorIs(t, theirs(), errWrite)
}

func TestDigestsTellObjectsApart(t *testing.T) {
	seen := map[string]string{}
	for _, s := range objectCases() {
		digest, err := hashObject(s.desired())
		require.NoError(t, err)
		require.Empty(t, seen[digest], s.name)
		seen[digest] = s.name
	}
}

// The text about digests says this of the peers.
func TestWhatDigestsSee(t *testing.T) {
	limits := func(cpu string) client.Object {
		object := fullDeployment()
		object.Spec.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse(cpu)}
		return object
	}
	digests := func(d digest, cpus ...string) (digests []string) {
		for _, cpu := range cpus {
			sum, err := d.compute(limits(cpu))
			require.NoError(t, err)
			digests = append(digests, sum)
		}
		return digests
	}
	for _, d := range append(peerDigests, digest{"trueup", hashObject}) {
		sums := digests(d, "1", "1000m", "2")
		require.Equal(t, d.name != "dump and FNV", sums[0] == sums[1], "%s: the same quantity", d.name)
		require.Equal(t, d.name == "hashstructure", sums[0] == sums[2], "%s: another quantity", d.name)
	}
}

func TestRunPrintsEveryObject(t *testing.T) {
	var out bytes.Buffer
	err := run(t.Context(), &out, options{rounds: 1, turn: time.Millisecond, mostChildren: fewChildren})
	if err != nil {
		require.ErrorContains(t, err, "missed", "a figure may miss its target here; nothing else may go wrong")
	}
	for _, c := range objectCases() {
		require.Equal(t, 3, bytes.Count(out.Bytes(), []byte("\n| "+c.name+" ")), c.name)
	}
	require.Equal(t, 2, bytes.Count(out.Bytes(), []byte("\n| 1000 ")), "children, and items of a list")
	for _, step := range replay.Steps() {
		require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("\n| "+step+", mean ")), step)
		for _, child := range contest.Children() {
			require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("\n| "+step+", "+child.Kind.Kind+" ")), step)
		}
	}
	for _, items := range listLengths {
		require.Contains(t, out.String(), fmt.Sprintf("\n| %d ", items))
	}
	require.ErrorContains(t, run(t.Context(), &out, options{only: "nothing"}), `no object is named like "nothing"`)
}

func TestFigures(t *testing.T) {
	require.Zero(t, figure{value: 0.504, most: 0.5}.missed(), "as the table shows it")
	require.Equal(t, 1, figure{value: 0.505, most: 0.5}.missed())
	require.Zero(t, figure{value: 7}.missed(), "none is set")
	require.Equal(t, "2.00 MISSED, ≤ 1", figure{value: 2, most: 1}.text())
	require.Equal(t, "0.20 (≤ 0.25)", figure{value: 0.2, most: 0.25}.text())
	require.Equal(t, "1 (≤ 1)", figure{value: 1, most: 1, isCount: true}.text())
}

func TestSection(t *testing.T) {
	s := section{Title: "Title", Text: "Text.\n", Columns: []string{"object", "ratio"}}
	s.add("Ä", []figure{{value: 1}})
	var out bytes.Buffer
	require.NoError(t, s.write(&out))
	require.Equal(t, "\n## Title\n\nText.\n\n| object | ratio |\n|--------|-------|\n| Ä      | 1.00  |\n", out.String())
}
