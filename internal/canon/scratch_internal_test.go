package canon

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

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
