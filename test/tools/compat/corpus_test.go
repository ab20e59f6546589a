package main

import (
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/hash"
	"github.com/trueup-go/trueup/test/tools/compat/corpus"
)

// TestGolden compares the golden values under the versions in go.mod, as `go run .` does under all
// versions.
func TestGolden(t *testing.T) {
	t.Parallel()
	want, err := readGolden()
	require.NoError(t, err)
	got := digests{}
	for _, entry := range corpus.All() {
		digest, err := hash.Of(entry.Value)
		require.NoError(t, err, entry.Name)
		require.NoError(t, got.add(entry.Name, digest))
		require.Regexp(t, `^v0\.\d+/[^ ]+$`, entry.Name)
	}
	require.Empty(t, differences(want, got), "if they had to change, so must the prefix v1-: see package hash; go run . -update")
	require.GreaterOrEqual(t, len(got), 200)
}

func TestCorpusHasEveryGroup(t *testing.T) {
	t.Parallel()
	listed, err := exec.CommandContext(t.Context(), "go", "list", "k8s.io/api/...").Output()
	require.NoError(t, err)
	groups := map[string]bool{}
	for path := range strings.FieldsSeq(string(listed)) {
		if parts := strings.Split(path, "/"); len(parts) == 4 { // k8s.io/api/apps/v1
			groups[parts[2]] = true
		}
	}
	require.Greater(t, len(groups), 20)
	for _, entry := range corpus.All() {
		path := packagePath(entry.Value)
		if rest, ok := strings.CutPrefix(path, "k8s.io/api/"); ok {
			delete(groups, strings.Split(rest, "/")[0])
		}
	}
	require.Empty(t, groups, "groups that no object of the corpus is of")
}

func packagePath(v any) string {
	t := reflect.TypeOf(v)
	if t == nil {
		return ""
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath()
}
