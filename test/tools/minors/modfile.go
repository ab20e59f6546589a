package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

const controllerRuntime = "sigs.k8s.io/controller-runtime"

// writeModfile writes the go.mod of a module, with the versions in pins in place of others, and its go.sum beside it.
func writeModfile(module, to string, pins map[string]string) error {
	from := filepath.Join(module, "go.mod")
	text, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("cannot read the module: %w", err)
	}
	file, err := modfile.Parse(from, text, nil)
	if err != nil {
		return fmt.Errorf("cannot read the module: %w", err)
	}
	for path, version := range pins {
		if err := file.AddReplace(path, "", path, version); err != nil {
			return fmt.Errorf("cannot replace %s: %w", path, err)
		}
	}
	if text, err = file.Format(); err != nil {
		return fmt.Errorf("cannot write %s: %w", to, err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		return fmt.Errorf("cannot write %s: %w", to, err)
	}
	sums, err := os.ReadFile(filepath.Join(module, "go.sum"))
	if err != nil {
		return fmt.Errorf("cannot read the sums: %w", err)
	}
	if err := os.WriteFile(strings.TrimSuffix(to, ".mod")+".sum", sums, 0o600); err != nil {
		return fmt.Errorf("cannot write the sums: %w", err)
	}
	return nil
}

// pins are the versions of m: of controller-runtime, of the modules that are released with Kubernetes, and of those that these
// share types with.
func (m minor) pins(ctx context.Context) (map[string]string, error) {
	required, err := requirements(ctx, controllerRuntime, m.runtime)
	if err != nil {
		return nil, err
	}
	pins := map[string]string{controllerRuntime: m.runtime}
	for _, r := range required {
		switch path, version := r.Mod.Path, r.Mod.Version; {
		case strings.HasPrefix(path, "k8s.io/") && semver.MajorMinor(version) == semver.MajorMinor(m.kubernetes):
			pins[path] = m.kubernetes
		case path == "k8s.io/kube-openapi", strings.HasPrefix(path, "sigs.k8s.io/structured-merge-diff/"):
			pins[path] = version
		}
	}
	if pins["k8s.io/api"] == "" {
		return nil, fmt.Errorf("controller-runtime %s does not require k8s.io %s", m.runtime, m.kubernetes)
	}
	return pins, nil
}

// requirements returns what a version of a module requires.
func requirements(ctx context.Context, path, version string) ([]*modfile.Require, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", path+"@"+version)
	cmd.Stderr = os.Stderr
	answer, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot download %s: %w", path, err)
	}
	var found struct{ GoMod string }
	if err := json.Unmarshal(answer, &found); err != nil {
		return nil, fmt.Errorf("cannot read where %s is: %w", path, err)
	}
	text, err := os.ReadFile(found.GoMod)
	if err != nil {
		return nil, fmt.Errorf("cannot read the requirements of %s: %w", path, err)
	}
	file, err := modfile.Parse(found.GoMod, text, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot read the requirements of %s: %w", path, err)
	}
	return file.Require, nil
}
