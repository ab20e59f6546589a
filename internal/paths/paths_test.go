package paths_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/internal/paths"
)

func TestParse(t *testing.T) {
	for text, want := range map[string][]string{
		"spec":                                {"spec"},
		"spec.replicas":                       {"spec", "replicas"},
		"metadata.annotations[example.com/x]": {"metadata", "annotations", "example.com/x"},
		"spec.ports[port=80,protocol=TCP].nodePort": {"spec", "ports", "port=80,protocol=TCP", "nodePort"},
		"data[.a.b][c]": {"data", ".a.b", "c"},
	} {
		steps, err := paths.Parse(text)
		require.NoError(t, err, text)
		require.Empty(t, cmp.Diff(want, steps))
	}
	for _, text := range []string{"", ".", ".spec", "spec.", "spec..x", "spec[", "spec[]", "spec]", "spec[a]b", "/spec", "spec[a[b]]", "[a]", "a b"} {
		_, err := paths.Parse(text)
		require.Error(t, err, text)
	}
}

func TestPathsAreReadAsWritten(t *testing.T) {
	ports := paths.ItemName([]paths.Key{{Name: "port", Value: "80"}, {Name: "protocol", Value: "TCP"}})
	require.Equal(t, map[string]string{"port": "80", "protocol": "TCP"}, paths.Keys(ports))
	text := paths.Member(paths.Item(paths.Member(paths.Member("", "spec"), "ports"), ports), "nodePort")
	require.Equal(t, "spec.ports[port=80,protocol=TCP].nodePort", text)
	require.Equal(t, []string{"spec", "ports", ports, "nodePort"}, paths.Steps(text))
	for name, want := range map[string]string{"size": "spec.size", "a.b": "spec[a.b]", "": "spec[]"} {
		require.Equal(t, want, paths.MemberOrKey("spec", name))
	}
}
