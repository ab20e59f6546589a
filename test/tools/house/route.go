package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/cover"
)

// A function is a function or method of the house, with the closures in it: the counters do not tell them apart.
type function struct {
	file  file
	name  string
	lines int
}

// follow has the program in route call ensure.Object, and finds out which functions a pass enters.
func (h *house) follow(ctx context.Context, root string) error {
	dir, err := os.MkdirTemp("", "house-")
	if err != nil {
		return fmt.Errorf("cannot create a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// The counters can be cleared only if the program itself is covered, too.
	program, covered := filepath.Join(dir, "route"), append([]string{"test/tools/house/route"}, patterns...)
	err = execute(ctx, filepath.Join(root, "test"), "go", "build", "-cover", "-covermode=atomic",
		"-coverpkg="+module+strings.Join(covered, ","+module), "-o", program, "./tools/house/route")
	if err != nil {
		return err
	}
	if err := execute(ctx, dir, program, dir); err != nil {
		return err
	}
	if h.drift, err = h.entered(ctx, filepath.Join(dir, "drift")); err != nil {
		return err
	}
	h.rest, err = h.entered(ctx, filepath.Join(dir, "rest"))
	return err
}

// execute runs a command in dir. Counters that the command writes at its end stay there, too.
func execute(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stderr, os.Stderr
	if filepath.IsAbs(name) {
		cmd.Env = append(os.Environ(), "GOCOVERDIR="+dir)
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("cannot run %s: %w", filepath.Base(name), err)
	}
	return nil
}

// entered returns the functions that the counters in dir say were entered.
func (h *house) entered(ctx context.Context, dir string) ([]function, error) {
	text := filepath.Join(dir, "profile.txt")
	if err := execute(ctx, dir, "go", "tool", "covdata", "textfmt", "-i="+dir, "-o="+text); err != nil {
		return nil, err
	}
	profiles, err := cover.ParseProfiles(text)
	if err != nil {
		return nil, fmt.Errorf("cannot read the counters: %w", err)
	}
	functions := h.functionsIn(profiles)
	if len(functions) == 0 {
		return nil, errors.New("the counters say that no function was entered")
	}
	return functions, nil
}

// functionsIn returns the functions with a counter above zero. A closure at the level of a package is none.
func (h *house) functionsIn(profiles []*cover.Profile) (functions []function) {
	for _, f := range h.files {
		at := slices.IndexFunc(profiles, func(p *cover.Profile) bool { return p.FileName == module+f.path })
		if at < 0 {
			continue
		}
		for _, decl := range f.syntax.Decls {
			fn, isFunction := decl.(*ast.FuncDecl)
			if !isFunction {
				continue
			}
			start, end := f.pkg.Fset.Position(fn.Pos()).Line, f.pkg.Fset.Position(fn.End()).Line
			if slices.ContainsFunc(profiles[at].Blocks, func(block cover.ProfileBlock) bool {
				return block.Count > 0 && block.StartLine >= start && block.StartLine <= end
			}) {
				functions = append(functions, function{file: f, name: nameOf(fn), lines: end - start + 1})
			}
		}
	}
	return functions
}

func nameOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	return "(" + types.ExprString(fn.Recv.List[0].Type) + ")." + fn.Name.Name
}

func list(functions []function) (names []string) {
	for _, fn := range functions {
		names = append(names, fn.file.path+": "+fn.name)
	}
	return names
}

func enteredAtDrift(h *house) figure { return count(list(h.drift)) }

func enteredAtRest(h *house) figure { return count(list(h.rest)) }

// pathOfObject counts the lines of the core's functions that a pass enters at drift.
func pathOfObject(h *house) (lines figure) {
	for _, fn := range h.drift {
		if fn.file.folder() == core {
			lines.now += fn.lines
			lines.parts = append(lines.parts, fmt.Sprintf("%s: %s: %d", fn.file.path, fn.name, fn.lines))
		}
	}
	return lines
}
