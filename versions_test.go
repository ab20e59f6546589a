package trueup_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/version"
)

// TestRequirementsAreTheLowest: go.mod requires no newer version of a module than the other required modules do, so that
// the tests of this module run with the lowest versions that an importer can have.
func TestRequirementsAreTheLowest(t *testing.T) {
	graph, err := exec.CommandContext(t.Context(), "go", "mod", "graph").Output()
	require.NoError(t, err)
	required, others := map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(graph)) {
		from, to, _ := strings.Cut(strings.TrimSpace(line), " ")
		path, wanted, _ := strings.Cut(to, "@")
		if path == "go" || path == "toolchain" {
			continue
		}
		if !strings.Contains(from, "@") {
			required[path] = wanted
		} else if others[path] == "" || isNewer(wanted, others[path]) {
			others[path] = wanted
		}
	}
	require.Greater(t, len(required), 30, "requirements are no longer found")
	for path, wanted := range required {
		if lowest, ok := others[path]; ok {
			require.False(t, isNewer(wanted, lowest), "go.mod requires %s %s, but %s would do", path, wanted, lowest)
		}
	}
}

func isNewer(a, b string) bool {
	return version.MustParseSemantic(b).LessThan(version.MustParseSemantic(a))
}

var kubernetesVersion = regexp.MustCompile(`k8s\.io/kubernetes v1\.\d+\.\d+`)

// TestVersionsHaveAColumn: docs/versions.md has a column for each version of Kubernetes that a module of tools/cluster
// builds, with a figure for each property, and the sums of docs/conformance.md for the pinned version.
func TestVersionsHaveAColumn(t *testing.T) {
	rows := propertyRows(t)
	modules, err := filepath.Glob("tools/cluster/*/go.mod")
	require.NoError(t, err)
	require.Len(t, rows["property"], len(modules)+1)
	for _, file := range append(modules, "tools/cluster/go.mod") {
		_, built, _ := strings.Cut(kubernetesVersion.FindString(read(t, file)), " ")
		hasColumn := slices.Contains(rows["property"], built) || slices.Contains(rows["property"], built+" (short)")
		minor := strings.Join(strings.Split(strings.TrimPrefix(built, "v"), ".")[:2], ".")
		require.True(t, hasColumn, "docs/versions.md has no column %s: run make conformance K8S=%s", built, minor)
	}

	_, pinned, _ := strings.Cut(kubernetesVersion.FindString(read(t, "tools/cluster/go.mod")), " ")
	column := slices.Index(rows["property"], pinned)
	require.GreaterOrEqual(t, column, 0, "the column of the pinned version is short: run make conformance")
	sums := conformanceSums(t)
	require.Len(t, rows, len(sums)+1)
	for property, sum := range sums {
		require.Len(t, rows[property], len(rows["property"]), property)
		for _, figure := range rows[property] {
			require.NotEqual(t, "0", figure, "%s did not hold on one of the versions", property)
		}
		require.Equal(t, strconv.Itoa(sum), rows[property][column], "%s on %s: run make conformance", property, pinned)
	}
}

// propertyRows returns the figures of each property in docs/versions.md, and the head as the row "property".
func propertyRows(t *testing.T) map[string][]string {
	t.Helper()
	rows := map[string][]string{}
	_, generated, _ := strings.Cut(read(t, "docs/versions.md"), "<!-- Begin")
	generated, _, _ = strings.Cut(generated, "<!-- End")
	for line := range strings.Lines(generated) {
		if cells := rowOf(line); len(cells) > 1 && !strings.HasPrefix(cells[0], "--") {
			rows[cells[0]] = cells[1:]
		}
	}
	return rows
}

var headOfColumn = regexp.MustCompile(`(?m)^- \*\*([a-z ]+)\*\*: (.+)$`)

// conformanceSums returns the checks of all children in docs/conformance.md, by property.
func conformanceSums(t *testing.T) map[string]int {
	t.Helper()
	sums := map[string]int{}
	for _, chapter := range strings.Split(read(t, "docs/conformance.md"), "\n## ")[1:] {
		properties := map[string]string{}
		for _, match := range headOfColumn.FindAllStringSubmatch(chapter, -1) {
			properties[match[1]] = match[2]
		}
		var heads []string
		for line := range strings.Lines(chapter) {
			cells := rowOf(line)
			if len(cells) > 1 && heads == nil {
				heads = cells
				continue
			}
			for i, cell := range cells {
				if n, err := strconv.Atoi(cell); err == nil && i > 0 {
					sums[properties[heads[i]]] += n
				}
			}
		}
	}
	require.Greater(t, len(sums), 30, "properties are no longer found")
	return sums
}

// rowOf returns the cells of a line if the line is a row of a table.
func rowOf(line string) []string {
	line, isRow := strings.CutPrefix(strings.TrimSpace(line), "|")
	if !isRow {
		return nil
	}
	cells := strings.Split(strings.TrimSuffix(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// TestVersionsNameWhatExists looks up the targets of make that docs/versions.md names, and the versions given to them.
func TestVersionsNameWhatExists(t *testing.T) {
	page, makefile := read(t, "docs/versions.md"), read(t, "Makefile")
	commands := regexp.MustCompile(`make ([a-z-]+)(?: K8S=([\d.]+))?`).FindAllStringSubmatch(page, -1)
	require.NotEmpty(t, commands)
	for _, command := range commands {
		require.Contains(t, makefile, "\n"+command[1]+":", "there is no make %s", command[1])
		if minor := command[2]; minor != "" {
			require.FileExists(t, "tools/cluster/"+minor+"/go.mod")
		}
	}
}
