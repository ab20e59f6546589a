package trueup_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	goBlock    = regexp.MustCompile("(?s)\n```go\n(.*?\n)```\n")
	anyFence   = regexp.MustCompile("(?m)^ *```(.*)$")
	importDecl = regexp.MustCompile(`(?s)\Aimport (?:\(.*?\n\)|"[^"]*")\n\n`)
)

// TestPagesShowWhatIsCompiled compares the Go code of pages with the files of a folder. Each block is a file, with its
// imports or without, and each file is a block, except for the files with tests and fixtures.
func TestPagesShowWhatIsCompiled(t *testing.T) {
	for _, page := range []string{"docs/cookbook", "docs/migration"} {
		text, err := os.ReadFile(page + ".md")
		require.NoError(t, err)
		shown := map[string]bool{}
		for _, block := range goBlock.FindAllStringSubmatch(string(text), -1) {
			shown[block[1]] = false
		}
		require.Greater(t, len(shown), 5, "blocks are no longer found")
		for _, fence := range anyFence.FindAllStringSubmatch(string(text), -1) {
			require.Contains(t, []string{"go", ""}, fence[1], "%s.md has code that no test checks", page)
		}

		files, err := filepath.Glob(page + "/*_test.go")
		require.NoError(t, err)
		for _, file := range files {
			if base := filepath.Base(file); base == "fixtures_test.go" || base == filepath.Base(page)+"_test.go" {
				continue
			}
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			_, code, found := strings.Cut(string(source), "package "+filepath.Base(page)+"_test\n\n")
			require.True(t, found, file)
			if _, ok := shown[code]; !ok {
				code = importDecl.ReplaceAllString(code, "")
			}
			_, ok := shown[code]
			require.True(t, ok, "%s.md does not show %s, or differs: copy the one that is right", page, file)
			shown[code] = true
		}
		for code, isFile := range shown {
			require.True(t, isFile, "%s.md shows code that is in no file of %s:\n%s", page, page, code)
		}
	}
}

// packages are those that pages refer to, by name.
var packages = map[string]string{
	"ensure": "ensure", "ensuretest": "ensure/ensuretest", "manifest": "ensure/manifest", "finalizer": "finalizer", "hash": "hash",
	"predicates": "predicates", "status": "status", "readiness": "status/readiness",
}

// TestPagesNameWhatExists looks up names such as ensure.Object and ensure.Result.Readiness, in the README and in docs.
func TestPagesNameWhatExists(t *testing.T) {
	exported := map[string]bool{}
	for name, folder := range packages {
		maps.Copy(exported, exportedNames(t, name, folder))
	}
	reference := regexp.MustCompile(`\b(?:` + strings.Join(slices.Sorted(maps.Keys(packages)), "|") + `)\.[A-Z]\w*(?:\.[A-Z]\w*)?`)
	pages, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	references := 0
	for _, page := range append(pages, "README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, name := range reference.FindAllString(string(text), -1) {
			references++
			require.True(t, exported[name], "%s names %s, which does not exist", page, name)
		}
	}
	require.Greater(t, references, 100, "names are no longer found")
}

// exportedNames returns the exported names of a package, with those of methods and fields as type.name.
func exportedNames(t *testing.T, name, folder string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	files, err := filepath.Glob(folder + "/*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, declaration := range parsed.Decls {
			for _, declared := range declaredNames(declaration) {
				names[name+"."+declared] = true
			}
		}
	}
	return names
}

func declaredNames(declaration ast.Decl) (names []string) {
	switch declaration := declaration.(type) {
	case *ast.FuncDecl:
		if declaration.Recv == nil {
			return []string{declaration.Name.Name}
		}
		return []string{receiver(declaration.Recv.List[0].Type) + "." + declaration.Name.Name}
	case *ast.GenDecl:
		for _, spec := range declaration.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					names = append(names, name.Name)
				}
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
				for _, member := range members(spec) {
					names = append(names, spec.Name.Name+"."+member.Name)
				}
			}
		}
	}
	return names
}

// receiver returns the name of a receiver's type, without pointer and type parameters.
func receiver(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.StarExpr:
		return receiver(expr.X)
	case *ast.IndexExpr:
		return receiver(expr.X)
	case *ast.Ident:
		return expr.Name
	}
	return ""
}

// members returns the names of the fields or methods of a type.
func members(spec *ast.TypeSpec) (names []*ast.Ident) {
	var list *ast.FieldList
	switch kind := spec.Type.(type) {
	case *ast.StructType:
		list = kind.Fields
	case *ast.InterfaceType:
		list = kind.Methods
	default:
		return nil
	}
	for _, field := range list.List {
		names = append(names, field.Names...)
	}
	return names
}

// TestAnchorsExist looks up the anchors of links, which TestLinks leaves out.
func TestAnchorsExist(t *testing.T) {
	anchored := regexp.MustCompile(`\]\(([^)#\s]*)#([^)\s]+)\)`)
	followed := 0
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, match := range anchored.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			target, anchor := match[1], match[2]
			if strings.Contains(target, ":") {
				continue // elsewhere
			}
			page := path
			if target != "" {
				page = filepath.Join(filepath.Dir(path), target)
			}
			followed++
			linked, err := os.ReadFile(page)
			require.NoError(t, err, "%s links to %s", path, target)
			require.Contains(t, anchorsOf(linked), anchor, "%s links to %s#%s", path, target, anchor)
		}
		return nil
	}))
	require.Greater(t, followed, 20, "links are no longer found")
}

// anchorsOf returns the anchors that GitHub makes of headings.
func anchorsOf(page []byte) (anchors []string) {
	heading := regexp.MustCompile(`(?m)^#+ (.*)$`)
	dropped := regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
	for _, match := range heading.FindAllSubmatch(page, -1) {
		text := dropped.ReplaceAll(bytes.ToLower(match[1]), nil)
		anchors = append(anchors, strings.ReplaceAll(string(text), " ", "-"))
	}
	return anchors
}
