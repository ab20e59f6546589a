package ensure_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEachClassHasASection compares docs/errors.md with the classes that there are.
func TestEachClassHasASection(t *testing.T) {
	source, err := os.ReadFile("errors.go")
	require.NoError(t, err)
	page, err := os.ReadFile("../docs/errors.md")
	require.NoError(t, err)
	names := func(pattern string, text []byte) (found []string) {
		for _, match := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
			found = append(found, string(match[1]))
		}
		return found
	}
	classes := names(`(?m)^\t(Err\w+) += `, source)
	require.NotEmpty(t, classes)
	require.Equal(t, classes, names("(?m)^## [^\n]*\\(`(\\w+)`\\)$", page), "in the order of errors.go")
	require.Equal(t, strings.ToLower(strings.Join(classes, " ")),
		strings.Join(names(`(?m)^\| \[[^\n]*#[\w-]+-(err\w+)\)`, page), " "), "a row of the table for each")

	reporting, err := os.ReadFile("internal/report/report.go")
	require.NoError(t, err)
	recorded := names(`classes := \[\]error\{([^}]*)\}`, reporting)
	require.Len(t, recorded, 1, "the classes of which events are recorded are no longer found")
	require.Equal(t, strings.ToLower(strings.ReplaceAll(recorded[0], "fault.", "")),
		strings.Join(names(`(?m)^\| \[[^\n]*#[\w-]+-(err\w+)\) \|[^|]*\| Warning \|`, page), ", "), "the events")
	for _, section := range regexp.MustCompile(`(?m)^## `).Split(string(page), -1)[1:] {
		for _, part := range []string{"\n- Look at: ", "\n- On the cluster: ", "\n- In the operator: "} {
			require.Contains(t, section, part)
		}
	}
}
