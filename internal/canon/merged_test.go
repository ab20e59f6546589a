package canon_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/internal/canon"
)

// A value may become an object, and an object a value.
func TestDiffOfWhatIsAnotherKindOfValue(t *testing.T) {
	t.Parallel()
	number, object := unstructuredOf(t, `{"spec":{"a":1}}`), unstructuredOf(t, `{"spec":{"a":{"b":2}}}`)
	require.Empty(t, cmp.Diff([]canon.Change{{Path: "spec.a", Old: "1"}}, canon.Diff(number, object)))
	require.Empty(t, cmp.Diff([]canon.Change{{Path: "spec.a", New: "1"}}, canon.Diff(object, number)))
	require.Empty(t, cmp.Diff([]canon.Change{{Path: "spec.a", Old: "1"}}, canon.Unsatisfied(number, object)))
}
