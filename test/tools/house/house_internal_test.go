package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/cover"
	"golang.org/x/tools/go/packages"
)

// sources are the text of files by their path from the repository's root.
type sources map[string]string

// imported are the packages that a test has built, by their path.
type imported map[string]*types.Package

func (i imported) Import(path string) (*types.Package, error) {
	if pkg, ok := i[path]; ok {
		return pkg, nil
	}
	return nil, fmt.Errorf("there is no package %s", path)
}

// build returns the house of one file for each package, each after the files that it imports.
func build(t *testing.T, in sources, order ...string) *house {
	t.Helper()
	var found []*packages.Package
	known := imported{"sync": types.NewPackage("sync", "sync")}
	known["sync"].Scope().Insert(types.NewTypeName(token.NoPos, known["sync"], "Once", types.Typ[types.Int]))
	known["sync"].MarkComplete()
	for _, path := range order {
		folder := module + path[:strings.LastIndex(path, "/")]
		pkg := &packages.Package{PkgPath: folder, Fset: token.NewFileSet(), TypesInfo: &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
		}}
		syntax, err := parser.ParseFile(pkg.Fset, path, in[path], parser.SkipObjectResolution)
		require.NoError(t, err)
		pkg.Syntax = []*ast.File{syntax}
		pkg.Types, err = (&types.Config{Importer: known}).Check(folder, pkg.Fset, pkg.Syntax, pkg.TypesInfo)
		require.NoError(t, err)
		known[folder] = pkg.Types
		found = append(found, pkg)
	}
	h, err := newHouse(found)
	require.NoError(t, err)
	return h
}

func TestMeasures(t *testing.T) {
	const memory, contest, report = "ensure/internal/memory/m.go", "ensure/internal/contest/c.go", "ensure/internal/report/r.go"
	base := sources{
		memory:  "package memory\n\ntype Table struct{}\n\nfunc (Table) Get() {}\nfunc (*Table) Set() {}\n",
		contest: "package contest\n\ntype Rival int\n",
		report:  "package report\n\nimport _ \"" + module + "ensure/internal/contest\"\n",
	}
	importMemory, importContest := "import \""+module+"ensure/internal/memory\"\n", "import \""+module+"ensure/internal/contest\"\n"
	for name, test := range map[string]struct {
		file, text string // of the core
		measure    func(*house) figure
		want       []string
	}{
		"promoted methods count, and those of an interface": {
			"ensure/a.go", importMemory + "type child struct { *memory.Table; E }; func (child) read() {}; type E interface { Error() string }",
			largestMethodSet,
			[]string{
				"child: (ensure.E).Error", "child: (ensure/internal/memory.Table).Get",
				"child: (*ensure/internal/memory.Table).Set", "child: (ensure.child).read",
			},
		},
		"a named field promotes nothing": {
			"ensure/a.go", importMemory + "type child struct { table memory.Table }", largestMethodSet,
			[]string{"Table: (ensure/internal/memory.Table).Get", "Table: (*ensure/internal/memory.Table).Set"},
		},
		"a struct and a pointer are embedded": {
			"ensure/a.go", importMemory + "type (a struct { *memory.Table }; b struct { a; E; n a }; E interface{})",
			embeddedStructs,
			[]string{"ensure/a.go: a embeds *memory.Table", "ensure/a.go: b embeds a"},
		},
		"a struct without a name embeds one": {
			"ensure/a.go", "type a struct{}; var b struct { a }", embeddedStructs, []string{"ensure/a.go:  embeds a"},
		},
		"callers see the fields of Result": {
			"ensure/a.go", "type Result[T any] struct { part }; type options struct { part }; type part struct{}", embeddedStructs, nil,
		},
		"a layer is imported by the core": {
			"ensure/a.go", importContest + importMemory + "var _ contest.Rival; var _ memory.Table", importsOfLayers,
			[]string{"ensure/a.go: contest", "ensure/internal/report/r.go: contest"},
		},
		"layers.go lists the layers": {
			"ensure/layers.go", importContest + "var _ contest.Rival", importsOfLayers, []string{"ensure/internal/report/r.go: contest"},
		},
		"a feature is named by its word": {
			"ensure/a.go", importContest + "// release\nvar announce, Concert, withoutOnce, migrating, p = 1, \"once\", 2, 3, contest.Rival(1)\nvar once int",
			namesOfFeatures,
			[]string{"ensure/a.go: contest in contest", "ensure/a.go: migrate in migrating", "ensure/a.go: once in once, withoutOnce"},
		},
		"callers see an exported name": {
			"ensure/a.go", "var ErrContested = 1; var _ = ErrContested; func Once() {}; type t int; func (t) Release() {}",
			namesOfFeatures,
			[]string{"ensure/a.go: release in Release"},
		},
		"another module names no feature": {
			"ensure/a.go", "import \"sync\"\nvar _ sync.Once", namesOfFeatures, nil,
		},
		"options may name features": {"ensure/option.go", "func Release() {}", namesOfFeatures, nil},
		"layers may name features":  {"ensure/a.go", "", namesOfFeatures, nil},
		"files of the core":         {"ensure/a.go", "\n", filesOfCore, []string{"ensure/a.go: 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			base[test.file] = "package ensure; " + test.text
			got := test.measure(build(t, base, memory, contest, report, test.file))
			require.Equal(t, figure{now: len(test.want), parts: test.want}, got)
		})
	}
}

func TestLines(t *testing.T) {
	in := sources{
		"ensure/a.go":                 "package ensure\n\n\n",
		"ensure/internal/repair/r.go": strings.Repeat("\n", 60) + "package repair\n",
		"internal/obstacle/o.go":      "package obstacle\n\n",
		"ensure/internal/report/r.go": "package report\n\n\n\n",
		"ensure/internal/server/s.go": strings.Repeat("\n", 70) + "package server\n",
		"ensure/internal/fields/f.go": "package fields\n",
	}
	h := build(t, in, "ensure/a.go", "ensure/internal/repair/r.go", "internal/obstacle/o.go", "ensure/internal/report/r.go",
		"ensure/internal/server/s.go", "ensure/internal/fields/f.go")
	require.Equal(t, 3, linesOfCore(h).now)
	require.Equal(t, 63, linesOfRepair(h).now)
	require.Equal(t, 4, largestLayer(h).now)
	require.Equal(t, 3+61+2+4+71+1, linesOfAll(h).now)
}

func TestFunctionsEntered(t *testing.T) {
	const core, below = "ensure/a.go", "ensure/internal/memory/m.go"
	h := build(t, sources{
		core:  "package ensure\n\nfunc Object() {\n\t_ = 1\n}\n\nfunc (*c) other() {}\n\nfunc (*c) read() { _ = 1 }\n\ntype c int\n",
		below: "package memory\n\nfunc Get() { _ = 1 }\n",
	}, core, below)
	block := func(line, count int) cover.ProfileBlock {
		return cover.ProfileBlock{StartLine: line, EndLine: line, Count: count}
	}
	h.drift = h.functionsIn([]*cover.Profile{
		{FileName: module + below, Blocks: []cover.ProfileBlock{block(3, 1)}},
		{FileName: module + core, Blocks: []cover.ProfileBlock{block(4, 7), block(7, 0), block(9, 1)}},
		{FileName: module + "test/tools/house/route/main.go", Blocks: []cover.ProfileBlock{block(3, 1)}},
	})
	require.Equal(t, []string{core + ": Object", core + ": (*c).read", below + ": Get"}, enteredAtDrift(h).parts)
	require.Equal(t, 3+1, pathOfObject(h).now)
	require.Zero(t, enteredAtRest(h))
}

func TestLimitsOnlyGoDown(t *testing.T) {
	for _, test := range []struct {
		max, now int
		want     string
	}{
		{20, 20, ""},
		{20, 21, "21 is above the limit of 20; -v lists what was counted"},
		{20, 19, "lower the limit to 19 in test/tools/house/limits.go"},
		{20, 5, "lower the limit to 10 in test/tools/house/limits.go"},
		{10, 10, ""},
		{10, 5, ""},
		{10, 11, "11 is above the limit of 10; -v lists what was counted"},
	} {
		l := limit{name: "words", max: test.max, target: 10, measure: func(*house) figure { return figure{now: test.now, parts: []string{"a part"}} }}
		for _, verbose := range []bool{false, true} {
			var out strings.Builder
			complaints, err := compare(&out, &house{}, []limit{l}, verbose)
			require.NoError(t, err)
			require.Regexp(t, fmt.Sprintf(`^figure +now +limit +target\nwords +%d +%d +10\n`, test.now, test.max), out.String())
			require.Equal(t, verbose, strings.Contains(out.String(), "a part"))
			if test.want == "" {
				require.Empty(t, complaints)
			} else {
				require.Equal(t, []string{"words: " + test.want}, complaints)
			}
		}
	}
}
