package faults

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
)

func TestCompare(t *testing.T) {
	type (
		specs = map[string]v1.PostgresWriterSpec
		rows  = map[string][]v1.PostgresWriterSpec
	)
	alex := v1.PostgresWriterSpec{Table: "students", Name: "alex", Age: 23, Country: "canada"}
	older, moved := alex, alex
	older.Age, moved.Table = 24, "teachers"
	there := map[string]object{"a": {spec: alex}}

	for _, c := range []struct {
		reason string
		claim  claim
		rows   rows
		want   Tally
	}{
		{"as it should be", claim{specs{"a": alex}, there}, rows{"a": {alex}}, Tally{Objects: 1, Rows: 1}},
		{"no row", claim{specs{"a": alex}, there}, rows{}, Tally{Objects: 1, Lost: 1}},
		{"another row", claim{specs{"a": alex}, there}, rows{"a": {older}}, Tally{Objects: 1, Rows: 1, Lost: 1}},
		{"a row in the wrong table", claim{specs{"a": alex}, there}, rows{"a": {moved}}, Tally{Objects: 1, Rows: 1, Lost: 1}},
		{"a row in both tables", claim{specs{"a": alex}, there}, rows{"a": {alex, moved}}, Tally{Objects: 1, Rows: 2, Doubled: 1}},
		{"no object", claim{specs{"a": alex}, nil}, rows{"a": {alex}}, Tally{Rows: 1, Lost: 1}},
		{"another object", claim{specs{"a": older}, there}, rows{"a": {older}}, Tally{Objects: 1, Rows: 1, Lost: 1}},
		{
			"an object that somebody else has deleted",
			claim{specs{"a": alex}, map[string]object{"a": {alex, true}}},
			rows{"a": {alex}},
			Tally{Objects: 1, Rows: 1, Lost: 1},
		},
		{"an object that stays", claim{nil, map[string]object{"a": {alex, true}}}, rows{}, Tally{Objects: 1, LeftBehind: 1}},
		{"a row of no object", claim{}, rows{"a": {alex}}, Tally{Rows: 1, LeftBehind: 1}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			require.Empty(t, cmp.Diff(c.want, compare(c.rows, c.claim)))
		})
	}

	t.Run("two clusters may want the same row", func(t *testing.T) {
		both := claim{specs{"a": alex}, there}
		require.Empty(t, cmp.Diff(Tally{Objects: 2, Rows: 1}, compare(rows{"a": {alex}}, both, both)))
	})
}

func TestTheSameSeedMeansTheSameDeeds(t *testing.T) {
	deedsOf := func(seed uint64) []action { return plannedActions(randomOf(seed, "trial"), 30, 15) }
	first, again := deedsOf(1), deedsOf(1)
	require.Equal(t, first, again)
	require.NotEqual(t, first, deedsOf(2))

	counts := map[verb]int{}
	for _, action := range first {
		counts[action.verb]++
	}
	require.Equal(t, 30, counts[create])
	require.Equal(t, 15, counts[remove])
	require.NotZero(t, counts[change])
}
