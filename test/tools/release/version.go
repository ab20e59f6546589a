package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/mod/modfile"
)

// firstVersion finds the newest version in the changelog.
var firstVersion = regexp.MustCompile(`(?m)^## \[([^\]]+)\]`)

// checkVersion fails unless the changelog begins with a version that is not tagged yet, and the command requires that version
// of the library and replaces nothing, so that it can be installed.
func checkVersion(_ context.Context, r *release) (string, error) {
	changelog, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return "", err
	}
	match := firstVersion.FindSubmatch(changelog)
	if match == nil {
		return "", errors.New("the changelog has no version")
	}
	version := "v" + string(match[1])
	switch version {
	case "vUnreleased":
		return "", errors.New("the changelog begins with unreleased changes: give them a version")
	case r.tag:
		return "", fmt.Errorf("%s is tagged already: the changelog needs the next version", version)
	}
	name := filepath.Join(r.root, "cmd", "trueup", "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	file, err := modfile.Parse(name, text, nil)
	if err != nil {
		return "", err
	}
	if len(file.Replace) > 0 {
		return "", errors.New("the go.mod of cmd/trueup has a replace: go install refuses it")
	}
	for _, required := range file.Require {
		if required.Mod.Path == modulePath && required.Mod.Version == version {
			return version, nil
		}
	}
	return "", fmt.Errorf("the go.mod of cmd/trueup does not require %s %s", modulePath, version)
}
