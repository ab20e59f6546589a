package quickstart_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"

	"github.com/trueup-go/trueup/test/harness/page"
)

// pins are the versions that a project names.
type pins struct {
	kubebuilder, golang, controllerRuntime, kubernetes, image, controllerGen string
}

// readPins returns the versions that the project in the folder dir names.
func readPins(t *testing.T, dir string) pins {
	t.Helper()
	text := read(t, dir, "go.mod")
	file, err := modfile.Parse("go.mod", []byte(text), nil)
	require.NoError(t, err)
	required := func(path string) string {
		i := slices.IndexFunc(file.Require, func(r *modfile.Require) bool { return r.Mod.Path == path })
		require.GreaterOrEqual(t, i, 0, "%s in\n%s", path, text)
		return file.Require[i].Mod.Version
	}
	return pins{
		kubebuilder:       find(t, dir, "PROJECT", `cliVersion: v?(.*)`),
		golang:            file.Go.Version,
		controllerRuntime: required("sigs.k8s.io/controller-runtime"),
		kubernetes:        required("k8s.io/client-go"),
		image:             find(t, dir, "Dockerfile", `(?:FROM |BASE_IMAGE=)(golang:[\d.]+)`),
		controllerGen:     find(t, dir, "Makefile", `CONTROLLER_TOOLS_VERSION \?= (.*)`),
	}
}

// find returns the first submatch of the pattern in a file.
func find(t *testing.T, dir, name, pattern string) string {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(read(t, dir, name))
	require.NotNil(t, match, "%s in %s", pattern, name)
	return match[1]
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(text)
}

// row returns the row of a project in docs/kubebuilder.md.
func row(before, after pins) string {
	moves := func(before, after string) string {
		if before == after {
			return before
		}
		return before + " → " + after
	}
	return fmt.Sprintf("| v%s | %s | %s | %s | %s | %s |\n", before.kubebuilder, moves(before.golang, after.golang),
		moves(before.controllerRuntime, after.controllerRuntime), moves(before.kubernetes, after.kubernetes),
		moves(before.image, after.image), moves(before.controllerGen, after.controllerGen))
}

// comparePage compares the rows with docs/kubebuilder.md, or writes them into the page.
func comparePage(t *testing.T, rows []string) {
	t.Helper()
	written, err := page.Read("kubebuilder")
	require.NoError(t, err)
	table := regexp.MustCompile(`(?m)(^\|.*\n)+`).FindString(written)
	lines := strings.SplitAfter(table, "\n")
	require.Greater(t, len(lines), 2, "docs/kubebuilder.md has no table")
	updated := strings.Replace(written, table, lines[0]+lines[1]+strings.Join(rows, ""), 1)
	require.NoError(t, page.CompareOrUpdate(t.Context(), "kubebuilder", updated))
}
