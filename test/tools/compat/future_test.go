package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const today = `// Package v1 is an API.
package v1

// +genclient
type Shop struct {
	Name string
}

type Phase string

type Bare struct {
}
`

func TestEvolve(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n", "apps/v1/types.go": today, "apps/v1/types_test.go": "broken", "apps/v1/register.go": today,
		"apps/v1/zz_generated.validations.go": "broken", "util/types.go": today, "testdata/HEAD/x.json": "{}",
	} {
		file := filepath.Join(from, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	require.NoError(t, addFutureFields(from, to))

	const added = 14
	require.Equal(t, map[string]int{"Shop": 1 + added, "Bare": added}, fieldsOf(t, filepath.Join(to, "apps", "v1", "types.go")))
	require.Contains(t, fieldsOf(t, filepath.Join(to, "apps", "v1", "zz_tomorrow.go")), "tomorrowStruct")
	for _, same := range []string{"apps/v1/register.go", "util/types.go"} {
		require.Equal(t, map[string]int{"Shop": 1, "Bare": 0}, fieldsOf(t, filepath.Join(to, same)), "only the types of an API change")
	}
	require.FileExists(t, filepath.Join(to, "go.mod"))
	for _, left := range []string{"apps/v1/types_test.go", "apps/v1/zz_generated.validations.go", "testdata"} {
		require.NoFileExists(t, filepath.Join(to, left))
	}
}

// fieldsOf parses a file and counts the fields of the structs.
func fieldsOf(t *testing.T, file string) map[string]int {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	fields := map[string]int{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok {
			if s, ok := spec.Type.(*ast.StructType); ok {
				fields[spec.Name.Name] = s.Fields.NumFields()
			}
		}
		return true
	})
	return fields
}
