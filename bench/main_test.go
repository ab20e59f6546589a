package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/hash"
)

// Both sides have to do the same work: a pass in which the live object matches.
func TestComparedFunctionsWriteNothing(t *testing.T) {
	for _, s := range objectCases() {
		t.Run(s.name, func(t *testing.T) {
			c, err := compareNothingToDoFor(t.Context(), s)
			require.NoError(t, err)
			for range 2 {
				require.NoError(t, c.trueup())
				require.NoError(t, c.peer())
			}
		})
	}
}

func TestAWriteFails(t *testing.T) {
	s := objectCases()[0]
	desired, spell, label := s.desired(), s.mutate, "as it was"
	s.desired = func() client.Object { return desired }
	s.mutate = func(into client.Object) {
		spell(into)
		into.SetLabels(map[string]string{"label": label})
	}
	c, err := compareNothingToDoFor(t.Context(), s)
	require.NoError(t, err)
	require.NoError(t, c.trueup())
	require.NoError(t, c.peer())

	label = "another"
	desired.SetLabels(map[string]string{"label": label})
	require.ErrorIs(t, c.trueup(), errWrite)
	require.ErrorIs(t, c.peer(), errWrite)
}

func TestDigestsTellObjectsApart(t *testing.T) {
	seen := map[string]string{}
	for _, s := range objectCases() {
		digest, err := hash.Object(s.desired())
		require.NoError(t, err)
		require.Empty(t, seen[digest], s.name)
		seen[digest] = s.name
	}
}

func TestRunPrintsEveryObjectTwice(t *testing.T) {
	var out bytes.Buffer
	err := run(t.Context(), &out, options{rounds: 1, turn: time.Millisecond})
	if err != nil {
		require.ErrorContains(t, err, "missed", "a figure may miss its target here; nothing else may go wrong")
	}
	for _, s := range objectCases() {
		require.Equal(t, 2, bytes.Count(out.Bytes(), []byte(" "+s.name+" ")), s.name)
	}
	require.ErrorContains(t, run(t.Context(), &out, options{only: "nothing"}), `no object is named like "nothing"`)
}

func TestTargets(t *testing.T) {
	require.Zero(t, target{got: 0.504, most: 0.5}.missed(), "as the table shows it")
	require.Equal(t, 1, target{got: 0.505, most: 0.5}.missed())
	require.Zero(t, target{got: 7, most: 0}.missed(), "none is set")
	require.Equal(t, "MISSED, ≤ 1", target{got: 2, most: 1}.verdict())
	require.Equal(t, "≤ 0.25", target{got: 0.2, most: 0.25}.verdict())
}
