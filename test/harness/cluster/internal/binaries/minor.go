package binaries

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/trueup-go/trueup/test/harness/places"
)

// minorVariable names the minor version of Kubernetes to run, such as 1.33. Without it, the pinned version runs.
// The Makefile sets it to K8S.
const minorVariable = "TRUEUP_K8S"

// serverPrograms differ between minor versions. The other programs are clients of the API server, or etcd, and
// are those of the pinned version.
var serverPrograms = []Program{APIServer, ControllerManager, Scheduler}

// Version returns the version of Kubernetes that the programs are built from, such
// as v1.36.3.
func Version() (string, error) {
	root, err := places.Repository()
	if err != nil {
		return "", err
	}
	m, err := serverModule(root)
	if err != nil {
		return "", err
	}
	return m.required(root, m.version)
}

// pinnedVersion returns the version that Version returns when nobody chooses another one.
func pinnedVersion() (string, error) {
	root, err := places.Repository()
	if err != nil {
		return "", err
	}
	return clusterModule.required(root, clusterModule.version)
}

// serverModule returns the module of the server programs.
func serverModule(root string) (module, error) {
	chosen := os.Getenv(minorVariable)
	if chosen == "" {
		return clusterModule, nil
	}
	byMinor, err := serverModules(root)
	if err != nil {
		return module{}, err
	}
	m, ok := byMinor[chosen]
	if !ok {
		var minors []string
		for minor := range byMinor {
			minors = append(minors, minor)
		}
		slices.Sort(minors)
		return module{}, fmt.Errorf("cannot build Kubernetes %q: set K8S to one of %s", chosen, strings.Join(minors, ", "))
	}
	return m, nil
}

// serverModules returns the modules of the server programs by their minor version.
func serverModules(root string) (map[string]module, error) {
	pinned, err := clusterModule.required(root, clusterModule.version)
	if err != nil {
		return nil, err
	}
	byMinor := map[string]module{minorOf(pinned): clusterModule}
	files, err := filepath.Glob(filepath.Join(root, clusterModule.dir, "*", "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("cannot list the versions of Kubernetes: %w", err)
	}
	for _, file := range files {
		minor := filepath.Base(filepath.Dir(file))
		m := clusterModule
		m.dir = filepath.Join(clusterModule.dir, minor)
		m.programs = clusterModule.named(serverPrograms)
		byMinor[minor] = m
	}
	return byMinor, nil
}

// minorOf returns 1.36 for v1.36.3.
func minorOf(version string) string { return strings.TrimPrefix(semver.MajorMinor(version), "v") }
