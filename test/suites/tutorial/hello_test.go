package tutorial_test

import (
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/places"
)

const (
	// project is the module of the tutorial, and example that of examples/hello.
	project = "example.com/hello"
	example = "github.com/trueup-go/trueup/examples/hello"
	// main is kubebuilder's, with changes of the tutorial.
	mainFile = "cmd/main.go"
	// registration is how a kind gets into the scheme in kubebuilder's projects. Package v1 of
	// examples/hello has a function instead.
	registration = "\nfunc init() {\n\tSchemeBuilder.Register(&Hello{}, &HelloList{})\n}\n"
)

// TestEndsAsHello compares the files that the tutorial creates with those of examples/hello. They are equal
// apart from the module and the registration of the kind. cmd/main.go is not compared: the tutorial changes
// the manager that kubebuilder writes, as a reader would, and examples/hello has a shorter one.
func TestEndsAsHello(t *testing.T) {
	root, err := places.Repository()
	require.NoError(t, err)
	hello := filepath.Join(root, "examples", "hello")
	_, chapters := readTutorial(t)
	files := filesOf(t, chapters)

	for _, path := range []string{
		"api/v1/hello_types.go",
		"config/samples/hello_v1_hello.yaml",
		"internal/controller/hello_controller.go",
		"internal/controller/hello_controller_test.go",
		"internal/controller/hello_controller_internal_test.go",
	} {
		t.Run(path, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join(hello, path))
			require.NoError(t, err)
			require.Contains(t, files, path)
			require.Empty(t, cmp.Diff(string(want), asInExample(t, path, files[path])), "docs/tutorial.md and examples/hello differ")
			delete(files, path)
		})
	}
	require.Empty(t, files, "other files of the tutorial")
}

// filesOf returns the files that the blocks of the chapters create, in the last version, by their paths.
func filesOf(t *testing.T, chapters []chapter) map[string]string {
	t.Helper()
	files := map[string]string{}
	for i := range chapters {
		for _, b := range chapters[i].blocks {
			if b.Path == "" || b.Path == mainFile {
				continue
			}
			text, err := b.Apply(files[b.Path])
			require.NoError(t, err, "step %s", chapters[i].title)
			files[b.Path] = text
		}
	}
	return files
}

// asInExample returns a file of the tutorial as a file of the module of the examples.
func asInExample(t *testing.T, path, text string) string {
	t.Helper()
	if filepath.Ext(path) != ".go" {
		return text
	}
	text = strings.Replace(text, registration, "", 1)
	formatted, err := format.Source([]byte(strings.ReplaceAll(text, project+"/", example+"/")))
	require.NoError(t, err)
	return string(formatted)
}
