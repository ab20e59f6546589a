package tutorial_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const controllerFile = "internal/controller/hello_controller.go"

// A variant is the operator of the sections "By hand", with other code instead of some of it.
type variant struct{ code, instead string }

// The variants of the operator by hand.
var (
	// filtered is the operator as the page has it.
	filtered = variant{}
	// unfiltered has no predicates, so that it notices every change.
	unfiltered = variant{code: "\t\tWithEventFilter(predicate.GenerationChangedPredicate{}).\n"}
	// thorough also compares whole specs.
	thorough = variant{code: "fieldsDiffer(found, desired) {", instead: "specsDiffer(found, desired) {"}
)

// byHand returns the controller of the sections "By hand", with these variants. The desired objects are those of
// the tutorial's controller.
func byHand(t *testing.T, chapters []chapter, variants ...variant) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", "byhand.go.txt"))
	require.NoError(t, err)
	text := string(source)
	for _, name := range []string{"deploymentFor", "serviceFor", "greetingFor"} {
		text += function(t, filesOf(t, chapters)[controllerFile], name) + "\n\n"
	}
	for i := range chapters {
		text += chapters[i].byHand
	}
	for _, v := range variants {
		if v != filtered {
			require.Equal(t, 1, strings.Count(text, v.code), v.code)
			text = strings.Replace(text, v.code, v.instead, 1)
		}
	}
	return text
}

// function returns the source of the function called name.
func function(t *testing.T, source, name string) string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", source, parser.SkipObjectResolution)
	require.NoError(t, err)
	i := slices.IndexFunc(file.Decls, func(declaration ast.Decl) bool {
		f, ok := declaration.(*ast.FuncDecl)
		return ok && f.Name.Name == name
	})
	require.GreaterOrEqual(t, i, 0, name)
	return source[files.Position(file.Decls[i].Pos()).Offset:files.Position(file.Decls[i].End()).Offset]
}
