package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// printed returns the output of command print for two objects and as many fixtures as a result
// needs.
func printed(t *testing.T, version string, replacements ...string) result {
	t.Helper()
	var text strings.Builder
	fmt.Fprintln(&text, "v0.30/apps/v1/Deployment/full v1-1 j1")
	fmt.Fprintln(&text, "v0.30/core/v1/Pod/full v1-2 j2")
	for i := range fewest {
		fmt.Fprintf(&text, "fixture/v0.30/core.v1.Kind%d v1-f%d j\n", i, i)
	}
	parsed, err := parseResult(version, strings.NewReader(strings.NewReplacer(replacements...).Replace(text.String())))
	require.NoError(t, err)
	return parsed
}

func TestReport(t *testing.T) {
	t.Parallel()
	want := digests{"v0.30/apps/v1/Deployment/full": "v1-1", "v0.30/core/v1/Pod/full": "v1-2", "v0.34/core/v1/Pod/newer": "v1-3"}
	for name, c := range map[string]struct {
		reason string
		second result
		row    string
		want   []string
	}{
		"no difference": {"what json.Marshal writes counts for nothing", printed(t, "v0.32.13", "j2", "j9"), "v0.32.13 2 0 1 100 0 0", nil},
		"an object differs": {
			"it is named, with both digests", printed(t, "v0.32.13", "v1-2", "v1-9"), "v0.32.13 2 1 0 100 0 0",
			[]string{"v0.32.13: v0.30/core/v1/Pod/full: want v1-2, got v1-9"},
		},
		"a fixture differs": {
			"from what its own version made of it", printed(t, "v0.32.13", "v1-f77", "v1-f0"), "v0.32.13 2 0 0 100 1 0",
			[]string{"v0.32.13: v0.30/core.v1.Kind77: want v1-f77, got v1-f0"},
		},
		"an object is missing": {
			"it is not new any more", printed(t, "v0.34.13"), "v0.34.13 2 1 0 100 0 0",
			[]string{"v0.34.13: v0.34/core/v1/Pod/newer: want v1-3, but it has no digest"},
		},
		"a kind is gone": {
			"which happens, but not to all of them", printed(t, "v0.32.13", "fixture/v0.30/core.v1.Kind7 v1-f7 j\n", ""), "v0.32.13 2 0 0 99 0 1",
			[]string{"v0.32.13: only 99 fixtures were found"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			err := report(&out, []result{printed(t, "v0.30.14"), c.second}, want)
			lines := strings.Split(out.String(), "\n")
			require.Equal(t, "v0.30.14 2 0 0 100 0 0", strings.Join(strings.Fields(lines[1]), " "))
			require.Equal(t, c.row, strings.Join(strings.Fields(lines[2]), " "), c.reason)
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, fmt.Sprintf("%d digests are not what they were", len(c.want)))
			for _, line := range c.want {
				require.Contains(t, lines, line, c.reason)
			}
		})
	}
}
