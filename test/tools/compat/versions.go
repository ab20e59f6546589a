package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// minors are the tested minor versions, each in its last patch.
var minors = []int{30, 32, 34, 35, 36, 37}

// common returns the versions that both lists have, in the order of the first.
func common(api, apimachinery []string) []string {
	return slices.DeleteFunc(slices.Clone(api), func(version string) bool { return !slices.Contains(apimachinery, version) })
}

// lastPatch returns the newest release of a minor version among versions, which
// are in ascending order, as the go command lists them.
func lastPatch(versions []string, minor int) (string, error) {
	for _, version := range slices.Backward(versions) {
		if m, err := minorOf(version); err == nil && m == minor && !isPreRelease(version) {
			return version, nil
		}
	}
	return "", fmt.Errorf("no release of v0.%d is published", minor)
}

// preReleases returns the pre-releases among versions, the newest first.
func preReleases(versions []string) []string {
	found := slices.DeleteFunc(slices.Clone(versions), func(version string) bool { return !isPreRelease(version) })
	slices.Reverse(found)
	return found
}

func isPreRelease(version string) bool { return strings.Contains(version, "-") }

// minorOf returns 37 for v0.37.2 and for v0.37.
func minorOf(version string) (int, error) {
	rest, ok := strings.CutPrefix(version, "v0.")
	if !ok {
		return 0, fmt.Errorf("%q is no version v0.x", version)
	}
	text, _, _ := strings.Cut(rest, ".")
	minor, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no version v0.x", version)
	}
	return minor, nil
}

// tags returns the build tags that exclude values newer than minor from the corpus.
func tags(minor int) string {
	var before []string
	for _, m := range minors {
		if minor < m {
			before = append(before, fmt.Sprintf("before%d", m))
		}
	}
	return strings.Join(before, ",")
}
