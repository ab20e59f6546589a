package trueup_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// Names in the sources of the example operators.
var (
	flagName = regexp.MustCompile(`set\.(?:\w+Var\(&[\w.]+, |Func\(\s*|Duration\()"([\w-]+)"`)
	ownsKind = regexp.MustCompile(`Owns\(&\w+\.(\w+)\{\}`)
	// Reasons are constants, values of a map from readiness, and arguments of the functions that set conditions.
	constReason = regexp.MustCompile(`(?m)^(?:\t|const )[rR]eason\w* += "(\w+)"`)
	mapReason   = regexp.MustCompile(`string\(readiness\.\w+\): +"(\w+)"`)
	callReason  = regexp.MustCompile(`(?:set\.(?:True|False)\(conditions, [\w.]+|reject\(ctx, app), "(\w+)"`)
	rowReason   = regexp.MustCompile(`(?m)^\t[A-Z]\w+ += "([A-Z]\w+)"$`)
)

// TestOperatorsPage compares docs/operators.md with the CRDs and the sources of the example operators.
func TestOperatorsPage(t *testing.T) {
	page, err := os.ReadFile("docs/operators.md")
	require.NoError(t, err)
	sections := sectionsOf(string(page), "## ")
	shared := read(t, "examples/internal/operator/*.go")

	require.Equal(t, sharedFlags(shared), cellsOf(sections["Flags of all operators"]), "flags of all operators")
	for kind, folder := range map[string]string{
		"Application": "application", "ReverseWordsApp": "reversewordsapp", "Site": "site", "BookStore": "bookstore",
		"PostgresWriter": "postgreswriter",
	} {
		t.Run(kind, func(t *testing.T) {
			parts := sectionsOf(sections[kind], "### ")
			source := read(t, "examples/"+folder+"/api/*/*_types.go") + read(t, "examples/"+folder+"/internal/controller/*.go") +
				read(t, "examples/"+folder+"/cmd/*.go") + read(t, "examples/"+folder+"/internal/webhook/*.go") +
				read(t, "examples/"+folder+"/internal/database/error.go")

			requireFields(t, "examples/"+folder+"/config/crd/bases/*.yaml", parts["Fields"])
			require.Subset(t, cellsOf(parts["Children"]), namesIn(ownsKind, source), "children")
			require.ElementsMatch(t, conditionsIn(source), cellsOf(parts["Conditions"]), "conditions")
			require.Subset(t, cellsOf(parts["Reasons"]), reasonsIn(source), "reasons")
			flags := namesIn(flagName, source)
			if strings.Contains(source, "operator.Templates") {
				flags = append(flags, templateFlags...)
			}
			require.Equal(t, dashed(flags), cellsOf(parts["Flags"]), "flags")
		})
	}
}

// sectionsOf splits text at headings of a level.
func sectionsOf(text, heading string) map[string]string {
	sections := map[string]string{}
	for _, section := range strings.Split("\n"+text, "\n"+heading)[1:] {
		title, body, _ := strings.Cut(section, "\n")
		sections[title] = body
	}
	return sections
}

// cellsOf returns the names in code in the first cells of the tables in text, sorted.
func cellsOf(text string) []string {
	names := []string{}
	for _, cell := range regexp.MustCompile(`(?m)^\|([^|]*)\|`).FindAllStringSubmatch(text, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell[1], -1) {
			names = append(names, name[1])
		}
	}
	slices.Sort(names)
	return names
}

// read returns the text of the files that match pattern, except for tests.
func read(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	var text strings.Builder
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		text.Write(content)
	}
	return text.String()
}

func namesIn(pattern *regexp.Regexp, source string) []string {
	names := map[string]bool{}
	for _, match := range pattern.FindAllStringSubmatch(source, -1) {
		names[match[1]] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func dashed(flags []string) []string {
	for i := range flags {
		flags[i] = "--" + flags[i]
	}
	slices.Sort(flags)
	return append([]string{}, flags...)
}

// runtimeFlags are those that controller-runtime adds. This module does not require zap, so it cannot list them.
var runtimeFlags = []string{"kubeconfig", "zap-devel", "zap-encoder", "zap-log-level", "zap-stacktrace-level", "zap-time-encoding"}

// templateFlags are those of the operators whose children come from templates.
var templateFlags = []string{"templates", "templates-optional"}

// sharedFlags returns the flags that ParseFlags adds.
func sharedFlags(source string) []string {
	flags := slices.DeleteFunc(namesIn(flagName, source), func(name string) bool { return slices.Contains(templateFlags, name) })
	return dashed(append(flags, runtimeFlags...))
}

func conditionsIn(source string) []string {
	conditions := namesIn(regexp.MustCompile(`(?m)^(?:\t|const )\w+Condition += "(\w+)"`), source)
	if strings.Contains(source, "status.TypeReady") {
		conditions = append(conditions, "Ready")
	}
	return conditions
}

func reasonsIn(source string) []string {
	reasons := slices.Concat(namesIn(constReason, source), namesIn(mapReason, source), namesIn(callReason, source))
	if strings.Contains(source, "operator.ReasonInvalidTemplate") {
		reasons = append(reasons, "InvalidTemplate")
	}
	if strings.Contains(source, "package database") {
		rows := slices.DeleteFunc(namesIn(rowReason, source), func(reason string) bool { return reason == "NotActive" }) // never reported
		reasons = append(reasons, rows...)
	}
	return reasons
}

// requireFields requires a row for each field of the spec and of the status of the stored version, with the default of
// the CRD.
func requireFields(t *testing.T, pattern, table string) {
	t.Helper()
	definition := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, pattern)), definition))
	want := map[string]string{}
	for _, version := range definition.Spec.Versions {
		if version.Storage {
			properties := version.Schema.OpenAPIV3Schema.Properties
			addFields(want, "spec", properties["spec"])
			for name := range properties["status"].Properties {
				want["status."+name] = ""
			}
		}
	}
	require.NotEmpty(t, want)

	got := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([\\w.]+)` \\| ([^|]*) ?\\|").FindAllStringSubmatch(table, -1) {
		got[row[1]] = strings.Trim(row[2], "` ")
	}
	require.Equal(t, want, got)
}

// addFields adds the leaves of a schema, and their defaults.
func addFields(fields map[string]string, path string, schema apiextensionsv1.JSONSchemaProps) {
	if len(schema.Properties) == 0 {
		fields[path] = ""
		if schema.Default != nil {
			fields[path] = strings.Trim(string(schema.Default.Raw), `"`)
		}
		return
	}
	for name, property := range schema.Properties {
		addFields(fields, path+"."+name, property)
	}
}
