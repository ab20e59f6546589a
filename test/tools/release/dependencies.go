package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/licensecheck"
)

// checkDigests computes the digests of a corpus under every supported version of k8s.io/api.
func checkDigests(ctx context.Context, r *release) (string, error) {
	if _, err := output(ctx, filepath.Join(r.root, "test", "tools", "compat"), "go", "run", "."); err != nil {
		return "", err
	}
	return "the same under every supported version of k8s.io/api", nil
}

// allowed are the licences that a dependency may have: all permit use under any licence.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}

// checkLicences fails if a module whose packages an importer builds has no licence, or one that is not allowed.
func checkLicences(ctx context.Context, r *release) (string, error) {
	list, err := output(ctx, r.root, "go", "list", "-deps",
		"-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", "./...")
	if err != nil {
		return "", err
	}
	modules := slices.Compact(slices.Sorted(slices.Values(strings.Split(strings.TrimSpace(list), "\n"))))
	counts := map[string]int{}
	var faults []error
	for _, line := range modules {
		path, dir, found := strings.Cut(line, " ")
		if !found {
			continue // a package of the standard library
		}
		licence, err := licenceIn(dir)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", path, err))
			continue
		}
		counts[licence]++
	}
	var parts []string
	for _, licence := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[licence], licence))
	}
	return strings.Join(parts, ", "), errors.Join(faults...)
}

// licenceIn returns the licence of the module in a folder.
func licenceIn(dir string) (string, error) {
	for _, pattern := range []string{"LICEN[SC]E*", "licen[sc]e*", "COPYING*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return "", err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue // a folder
			}
			for _, match := range licensecheck.Scan(text).Match {
				if !slices.Contains(allowed, match.ID) {
					return "", fmt.Errorf("%s is %s, which is not allowed", filepath.Base(file), match.ID)
				}
				return match.ID, nil
			}
		}
	}
	return "", errors.New("no licence was found")
}

// vulnerabilityDatabase is where govulncheck gets the known vulnerabilities from.
const vulnerabilityDatabase = "https://vuln.go.dev"

// findVulnerabilities runs govulncheck if its database can be reached.
func findVulnerabilities(ctx context.Context, r *release) (string, error) {
	if err := reach(ctx, vulnerabilityDatabase+"/index/db.json"); err != nil {
		return fmt.Sprintf("skipped: %v", err), nil
	}
	modfile := filepath.Join(r.root, "test", "tools", "release", "go.mod")
	if _, err := output(ctx, r.root, "go", "tool", "-modfile="+modfile, "govulncheck", "./..."); err != nil {
		return "", err
	}
	return "none is known", nil
}

func reach(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
