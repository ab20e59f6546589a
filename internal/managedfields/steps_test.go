package managedfields_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/managedfields"
)

func TestSteps(t *testing.T) {
	t.Parallel()
	path := fieldpath.MakePathOrDie("metadata", "annotations", "a]b", fieldpath.KeyByFields("name", "x]", "port", 80), 3)
	require.Equal(t, []string{"metadata", "annotations", "a]b", "name=x],port=80", "3"}, managedfields.Steps(path))
}
