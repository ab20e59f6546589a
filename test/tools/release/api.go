package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/exp/apidiff"
	"golang.org/x/tools/go/packages"
)

const modulePath = "github.com/trueup-go/trueup"

// breakingHeading announces incompatible changes in the first section of the changelog.
const breakingHeading = "### Breaking changes"

// compareAPI fails if the Go API has changes since the last release that break callers, unless the changelog announces
// them.
func compareAPI(ctx context.Context, r *release) (string, error) {
	if r.tag == "" {
		return noTag, nil
	}
	before, err := loadAPI(ctx, r.previous)
	if err != nil {
		return "", err
	}
	now, err := loadAPI(ctx, r.root)
	if err != nil {
		return "", err
	}
	var breaking []string
	added := 0
	for _, change := range apidiff.ModuleChanges(before, now).Changes {
		if change.Compatible {
			added++
		} else {
			breaking = append(breaking, change.Message)
		}
	}
	return judge(r, breaking, fmt.Sprintf("%d compatible changes since %s", added, r.tag))
}

// judge fails if there are breaking changes that the changelog does not announce.
func judge(r *release, breaking []string, result string) (string, error) {
	if len(breaking) == 0 {
		return result, nil
	}
	list := "\n  " + strings.Join(breaking, "\n  ")
	isAnnounced, err := r.announcesBreaking()
	switch {
	case err != nil:
		return "", err
	case isAnnounced:
		return fmt.Sprintf("%s, and %d that break users, as the changelog announces:%s", result, len(breaking), list), nil
	}
	return "", fmt.Errorf("%d changes since %s break users, and the changelog has no %q:%s", len(breaking), r.tag, breakingHeading, list)
}

// announcesBreaking reports whether the changelog has the heading for breaking changes among those since the last release.
func (r *release) announcesBreaking() (bool, error) {
	text, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return false, err
	}
	unreleased, _, _ := strings.Cut(string(text), "\n## ["+strings.TrimPrefix(r.tag, "v")+"]")
	return strings.Contains(unreleased, "\n"+breakingHeading+"\n"), nil
}

// loadAPI returns the packages of the module in a folder that others can import.
func loadAPI(ctx context.Context, dir string) (*apidiff.Module, error) {
	loaded, err := packages.Load(&packages.Config{Context: ctx, Dir: dir, Mode: packages.LoadTypes}, "./...")
	if err != nil {
		return nil, fmt.Errorf("cannot load the packages in %s: %w", dir, err)
	}
	module := &apidiff.Module{Path: modulePath}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("cannot load the package %s: %w", p.PkgPath, p.Errors[0])
		}
		if !strings.Contains(p.PkgPath+"/", "/internal/") {
			module.Packages = append(module.Packages, p.Types)
		}
	}
	return module, nil
}
