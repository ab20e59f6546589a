package trueup_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// longestPage is two screens.
const longestPage = 80

// withoutExample are the functions and methods that need no example of their own, with the reason.
var withoutExample = map[string]string{
	"ensure.Change.String":          "fmt.Stringer: ExampleObject prints changes",
	"ensure.Error.Error":            "error: ExampleError prints the text",
	"ensure.Error.Is":               "errors.Is calls it: ExampleError",
	"ensure.Error.Unwrap":           "errors.As calls it: ExampleError",
	"ensuretest.Client.Apply":       "client.Client: ExampleClient",
	"ensuretest.Client.Create":      "client.Client: ExampleClient",
	"ensuretest.Client.Delete":      "client.Client: ExampleClient",
	"ensuretest.Client.DeleteAllOf": "client.Client: ExampleClient",
	"ensuretest.Client.Patch":       "client.Client: ExampleClient",
	"ensuretest.Client.Status":      "client.Client: ExampleClient",
	"ensuretest.Client.SubResource": "client.Client: ExampleClient",
	"ensuretest.Client.Update":      "client.Client: ExampleClient",
	"ensuretest.Client.Watch":       "client.WithWatch: a test gives the Client to interceptor.NewClient",
	"manifest.Error.Error":          "error: ExampleError prints the text",
	"manifest.Error.Unwrap":         "errors.Is and errors.As call it: ExampleError uses errors.As",
	"status.Error.Error":            "error: ExampleError prints the text",
	"status.Error.Unwrap":           "errors.Is and errors.As call it: ExampleError",
}

// TestEachFunctionHasAnExample requires an example with Output of each exported function and method. go test runs them.
func TestEachFunctionHasAnExample(t *testing.T) {
	unused := map[string]bool{}
	for name := range withoutExample {
		unused[name] = true
	}
	for name, folder := range packages {
		examined := 0
		for function, examples := range functionsOf(documentation(t, folder)) {
			examined++
			delete(unused, name+"."+function)
			if withoutExample[name+"."+function] != "" {
				require.Empty(t, examples, "%s.%s has an example: remove it from withoutExample", name, function)
				continue
			}
			if !hasOutput(examples) {
				t.Errorf("%s.%s has no example with Output", name, function)
			}
		}
		require.NotZero(t, examined, "the functions of %s are no longer found", name)
	}
	require.Empty(t, unused, "withoutExample names functions that do not exist")
}

// TestPackagePagesAreShort counts the lines that go doc prints before the index.
func TestPackagePagesAreShort(t *testing.T) {
	for _, folder := range append([]string{"."}, folders()...) {
		pkg := documentation(t, folder)
		lines := strings.Count(string(pkg.Text(pkg.Doc)), "\n")
		require.NotZero(t, lines, "%s has no package comment", folder)
		require.LessOrEqual(t, lines, longestPage, "the package comment of %s is too long: move details to docs", folder)
	}
}

// TestPackagePagesNamePages follows the names of pages in package comments, such as docs/errors.md, and the links to them.
func TestPackagePagesNamePages(t *testing.T) {
	const repository = "https://github.com/trueup-go/trueup/blob/main/"
	page := regexp.MustCompile(regexp.QuoteMeta(repository) + `\S+|\bdocs/[\w/-]+\.md`)
	followed := 0
	for _, folder := range folders() {
		for _, name := range page.FindAllString(documentation(t, folder).Doc, -1) {
			followed++
			path, _, _ := strings.Cut(strings.TrimPrefix(name, repository), "#")
			require.FileExists(t, path, "the package comment of %s names %s", folder, name)
		}
	}
	require.Greater(t, followed, 5, "pages are no longer found")
}

func folders() (folders []string) {
	for _, folder := range packages {
		folders = append(folders, folder)
	}
	return folders
}

// documentation returns the exported declarations of a package, with their examples.
func documentation(t *testing.T, folder string) *doc.Package {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	fset, files := token.NewFileSet(), []*ast.File{}
	for _, path := range paths {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		file, err := parser.ParseFile(fset, path, source, parser.ParseComments)
		require.NoError(t, err)
		files = append(files, file)
	}
	pkg, err := doc.NewFromFiles(fset, files, "github.com/trueup-go/trueup/"+folder)
	require.NoError(t, err)
	return pkg
}

// functionsOf returns the examples of each exported function and method, which is named type.method.
func functionsOf(pkg *doc.Package) map[string][]*doc.Example {
	functions := map[string][]*doc.Example{}
	add := func(prefix string, funcs []*doc.Func) {
		for _, function := range funcs {
			functions[prefix+function.Name] = function.Examples
		}
	}
	add("", pkg.Funcs)
	for _, typ := range pkg.Types {
		add("", typ.Funcs)
		add(typ.Name+".", typ.Methods)
	}
	return functions
}

func hasOutput(examples []*doc.Example) bool {
	for _, example := range examples {
		if example.Output != "" {
			return true
		}
	}
	return false
}
