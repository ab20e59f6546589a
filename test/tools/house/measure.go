package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

const (
	module   = "github.com/trueup-go/trueup/"
	core     = "ensure"
	internal = "ensure/internal/"
	obstacle = "internal/obstacle"
	repair   = "repair"
)

// patterns match the packages that are measured, but for the module's path.
var patterns = []string{core, internal + "...", obstacle}

// shared are the packages of ensure/internal that core and layers have in common. Every other one is a layer.
var shared = []string{"fault", "kinds", "layer", "memory", "server"}

// settled are the files of the core that may name features: options, settings, causes and the list of layers.
var settled = []string{"ensure/ensurer.go", "ensure/layers.go", "ensure/option.go", "ensure/result.go"}

// features match the identifiers that have a feature's word in them: once matches withoutOnce, but not announce.
var features = map[string]*regexp.Regexp{
	"once":     word("once([^a-z]|$)"),
	"release":  word("releas"),
	"retire":   word("retir"),
	"migrate":  word("migrat"),
	"recreate": word("recreat"),
	"repair":   word("repair"),
	"obstacle": word("obstacle"),
	"contest":  word("contest"),
}

// word matches stem at the beginning of an identifier, and as a later word of one.
func word(stem string) *regexp.Regexp {
	return regexp.MustCompile("^" + stem + "|" + strings.ToUpper(stem[:1]) + stem[1:])
}

// A house is the code of ensure, ensure/internal/... and internal/obstacle, without tests.
type house struct {
	files       []file
	types       []*types.Package
	drift, rest []function // that a pass enters
}

// A file is a source file.
type file struct {
	path   string // from the repository's root
	lines  int
	syntax *ast.File
	pkg    *packages.Package
}

// folder returns the package's path from the repository's root.
func (f file) folder() string { return filepath.Dir(f.path) }

// A figure is a result of measuring.
type figure struct {
	now   int
	parts []string // that were counted
}

// count is the figure of so many parts.
func count(parts []string) figure { return figure{now: len(parts), parts: parts} }

// load reads and type-checks the packages.
func load(ctx context.Context, root string) (*house, error) {
	full := make([]string, len(patterns))
	for i, pattern := range patterns {
		full[i] = module + pattern
	}
	config := &packages.Config{Context: ctx, Dir: root, Mode: packages.LoadSyntax}
	found, err := packages.Load(config, full...)
	if err != nil {
		return nil, fmt.Errorf("cannot load the packages: %w", err)
	}
	return newHouse(found)
}

func newHouse(pkgs []*packages.Package) (*house, error) {
	h := &house{}
	for _, pkg := range pkgs {
		for _, err := range pkg.Errors {
			return nil, fmt.Errorf("cannot load %s: %w", pkg.PkgPath, err)
		}
		h.types = append(h.types, pkg.Types)
		for _, syntax := range pkg.Syntax {
			in := pkg.Fset.File(syntax.Package)
			path := strings.TrimPrefix(pkg.PkgPath, module) + "/" + filepath.Base(in.Name())
			h.files = append(h.files, file{path: path, lines: in.LineCount(), syntax: syntax, pkg: pkg})
		}
	}
	if len(h.files) == 0 {
		return nil, errors.New("there is no file to measure")
	}
	slices.SortFunc(h.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return h, nil
}

// largestMethodSet counts the methods that a pointer to a struct has, promoted ones included.
func largestMethodSet(h *house) figure {
	var methods []string
	for _, pkg := range h.types {
		for _, name := range pkg.Scope().Names() {
			declared, isType := pkg.Scope().Lookup(name).(*types.TypeName)
			if !isType || !isStruct(declared.Type()) {
				continue
			}
			if set := types.NewMethodSet(types.NewPointer(declared.Type())); set.Len() > len(methods) {
				methods = nil
				for method := range set.Methods() {
					methods = append(methods, name+": "+strings.ReplaceAll(method.Obj().(*types.Func).FullName(), module, ""))
				}
			}
		}
	}
	return count(methods)
}

func isStruct(t types.Type) bool {
	_, is := t.Underlying().(*types.Struct)
	return is
}

// embeddedStructs counts the fields that embed a struct of the house, also a plain key: a named field costs
// little. Result and options are not counted, whose fields are for callers.
func embeddedStructs(h *house) figure {
	var fields []string
	for _, f := range h.files {
		owners := map[ast.Node]string{}
		ast.Inspect(f.syntax, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.TypeSpec:
				owners[node.Type] = node.Name.Name
			case *ast.StructType:
				if owner := owners[node]; f.folder() != core || owner != "Result" && owner != "options" {
					fields = append(fields, h.embeddedIn(f, node, owner)...)
				}
			}
			return true
		})
	}
	return count(fields)
}

func (h *house) embeddedIn(f file, node *ast.StructType, owner string) (fields []string) {
	for _, field := range node.Fields.List {
		t := f.pkg.TypesInfo.TypeOf(field.Type)
		if pointer, is := t.(*types.Pointer); is {
			t = pointer.Elem()
		}
		named, isNamed := types.Unalias(t).(*types.Named)
		if len(field.Names) == 0 && isNamed && isStruct(named) && slices.Contains(h.types, named.Obj().Pkg()) {
			fields = append(fields, f.path+": "+owner+" embeds "+types.ExprString(field.Type))
		}
	}
	return fields
}

// layerOf returns the name of the layer that a package belongs to, or an empty text.
func layerOf(folder string) string {
	below, isInternal := strings.CutPrefix(folder, internal)
	name, _, _ := strings.Cut(below, "/")
	if !isInternal || slices.Contains(shared, name) {
		return ""
	}
	return name
}

// importsOfLayers counts the imports of a layer outside of the list of layers. No layer imports another one.
func importsOfLayers(h *house) figure {
	var imports []string
	for _, f := range h.files {
		for _, spec := range f.syntax.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			layer := layerOf(strings.TrimPrefix(path, module))
			if layer != "" && layer != layerOf(f.folder()) && f.path != "ensure/layers.go" {
				imports = append(imports, f.path+": "+layer)
			}
		}
	}
	return count(imports)
}

// namesOfFeatures counts the pairs of a core file and a feature that an identifier of the file names.
func namesOfFeatures(h *house) figure {
	var pairs []string
	for _, f := range h.files {
		if f.folder() != core || slices.Contains(settled, f.path) {
			continue
		}
		names := f.identifiers()
		for feature, word := range features {
			if found := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !word.MatchString(name) }); len(found) > 0 {
				pairs = append(pairs, f.path+": "+feature+" in "+strings.Join(found, ", "))
			}
		}
	}
	slices.Sort(pairs)
	return count(pairs)
}

// identifiers returns each identifier of the file once, but for what other modules declare, such as sync.Once, and what callers
// of the package see, such as ErrContested.
func (f file) identifiers() []string {
	names := map[string]bool{}
	ast.Inspect(f.syntax, func(node ast.Node) bool {
		if name, isName := node.(*ast.Ident); isName {
			used := f.pkg.TypesInfo.ObjectOf(name)
			isAPI := used != nil && used.Exported() && isOfCallers(used)
			if !isAPI && (used == nil || used.Pkg() == nil || strings.HasPrefix(used.Pkg().Path(), module)) {
				names[name.Name] = true
			}
		}
		return true
	})
	return slices.Sorted(maps.Keys(names))
}

// isOfCallers reports whether an object is one of the core, or of package fault, whose classes of errors the core exports.
func isOfCallers(obj types.Object) bool {
	exporting := []string{module + core, module + internal + "fault"}
	return obj.Pkg() != nil && obj.Parent() == obj.Pkg().Scope() && slices.Contains(exporting, obj.Pkg().Path())
}

// linesOf counts the lines of the files in some of the folders.
func (h *house) linesOf(isIn func(folder string) bool) (lines figure) {
	for _, f := range h.files {
		if isIn(f.folder()) {
			lines.now += f.lines
			lines.parts = append(lines.parts, fmt.Sprintf("%s: %d", f.path, f.lines))
		}
	}
	return lines
}

func linesOfCore(h *house) figure {
	return h.linesOf(func(folder string) bool { return folder == core })
}

func filesOfCore(h *house) figure { return count(linesOfCore(h).parts) }

func linesOfAll(h *house) figure { return h.linesOf(func(string) bool { return true }) }

func linesOfRepair(h *house) figure {
	return h.linesOf(func(folder string) bool { return folder == obstacle || layerOf(folder) == repair })
}

// largestLayer counts the lines of the largest layer other than repair.
func largestLayer(h *house) (largest figure) {
	for _, f := range h.files {
		name := layerOf(f.folder())
		if name == "" || name == repair {
			continue
		}
		lines := h.linesOf(func(folder string) bool { return layerOf(folder) == name })
		if lines.now > largest.now {
			largest = lines
		}
	}
	return largest
}
