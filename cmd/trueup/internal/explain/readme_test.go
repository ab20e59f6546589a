package explain_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/cmd/trueup/internal/explain"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	return string(text)
}

// The README shows a report of these tests.
func TestReadmeShowsAReport(t *testing.T) {
	t.Parallel()
	report, err := os.ReadFile(filepath.Join("testdata", "deployment.txt"))
	require.NoError(t, err)
	require.Contains(t, readme(t), "$ trueup explain deployment/web -n shop\n"+string(report)+"```\n", "README.md and testdata/deployment.txt differ")
}

// The README shows the part of a report of these tests that is about a migration.
func TestReadmeShowsAMigration(t *testing.T) {
	t.Parallel()
	report, err := os.ReadFile(filepath.Join("testdata", "migration.txt"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(report), "\nDry run of ")
	require.True(t, found)
	part, _, found := strings.Cut(rest, "\n\nkube-controller-manager ")
	require.True(t, found)
	require.Contains(t, readme(t), "--migrate-from manager -n shop\nDry run of "+part+"\n```\n", "README.md and testdata/migration.txt differ")
}

// The README documents each field of the JSON form.
func TestReadmeDocumentsTheJSON(t *testing.T) {
	t.Parallel()
	_, section, found := strings.Cut(readme(t), "## JSON\n")
	require.True(t, found)
	names := map[string]bool{}
	collect(reflect.TypeFor[explain.Report](), names)
	require.Greater(t, len(names), 30)
	for name := range names {
		require.Regexp(t, "[`.]"+name+"(\\[\\])?[`.]", section, name)
	}
}

// collect adds the names of the JSON fields of a type to names.
func collect(goType reflect.Type, names map[string]bool) {
	switch goType.Kind() {
	case reflect.Pointer, reflect.Slice:
		collect(goType.Elem(), names)
	case reflect.Struct:
		if goType == reflect.TypeFor[time.Time]() {
			return
		}
		for field := range goType.Fields() {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
				names[name] = true
			}
			if field.IsExported() {
				collect(field.Type, names)
			}
		}
	}
}
