package canon

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// A create takes two items of one key, so live may hold them; a merge takes them for one.
func TestMergedOrderOfDuplicates(t *testing.T) {
	for name, tc := range map[string]struct{ live, desired, want []string }{
		"one is desired":          {[]string{"a", "a"}, []string{"a"}, []string{"a"}},
		"with another in between": {[]string{"a", "b", "a"}, []string{"a"}, []string{"a", "b"}},
		"with more desired":       {[]string{"a", "a"}, []string{"a", "b"}, []string{"a", "b"}},
	} {
		require.Empty(t, cmp.Diff(tc.want, mergedOrder(tc.live, tc.desired)), name)
	}
}

// What a giant needs is not kept for all who come after it.
func TestScratchSpaceOfGiantsIsDropped(t *testing.T) {
	giant, usual := map[string]any{}, map[string]any{"a": 1}
	for i := range maxKept {
		giant[strconv.Itoa(i)] = true
	}
	e := &encoder{}
	require.NoError(t, e.any(usual))
	e.reset()
	require.NotZero(t, cap(e.members))

	require.NoError(t, e.any(giant))
	e.reset()
	require.Zero(t, cap(e.members))
	require.Zero(t, cap(e.scratch))
}
