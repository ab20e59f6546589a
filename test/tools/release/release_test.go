package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type props = map[string]apiextensionsv1.JSONSchemaProps

func object(required []string, fields props) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "object", Required: required, Properties: fields}
}

func listOf(item apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}}
}

func mapOf(value apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{
		Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &value},
	}
}

func TestChangesOf(t *testing.T) {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	number := apiextensionsv1.JSONSchemaProps{Type: "integer"}
	withDefault := apiextensionsv1.JSONSchemaProps{Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"x"`)}}
	cases := map[string]struct {
		before, now apiextensionsv1.JSONSchemaProps
		want        []string
	}{
		"a new field":                      {object(nil, nil), object(nil, props{"a": text}), nil},
		"a removed field":                  {object(nil, props{"a": text}), object(nil, nil), []string{"crd v1: .a was removed"}},
		"a removed field in a list":        {listOf(object(nil, props{"a": text})), listOf(object(nil, nil)), []string{"crd v1: [].a was removed"}},
		"a removed field in a map":         {mapOf(object(nil, props{"a": text})), mapOf(object(nil, nil)), []string{"crd v1: .*.a was removed"}},
		"another type":                     {object(nil, props{"a": text}), object(nil, props{"a": number}), []string{`crd v1: .a was of type "string" and is of type "integer"`}},
		"required before":                  {object([]string{"a"}, props{"a": text}), object([]string{"a"}, props{"a": text}), nil},
		"required now":                     {object(nil, props{"a": text}), object([]string{"a"}, props{"a": text}), []string{"crd v1: .a is required now, and has no default"}},
		"required now, and with a default": {object(nil, props{"a": text}), object([]string{"a"}, props{"a": withDefault}), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, changesOf("crd", definition{"v1": c.before}, definition{"v1": c.now}))
		})
	}
	require.Equal(t, []string{"crd: the version v1 is not served any more"}, changesOf("crd", definition{"v1": text}, definition{}))
}

// repository makes a repository with a module of one package and an internal one, and tags it.
func repository(t *testing.T, code string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "go.mod", "module "+modulePath+"\n\ngo 1.26\n")
	write(t, dir, "a.go", code)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "internal"), 0o700))
	write(t, dir, "internal/b.go", "package internal\n\nfunc B() {}\n")
	write(t, dir, "CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n\n## [0.1.0]\n")
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"add", "."},
		{"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=a"},
		{"tag", "v0.1.0"},
	} {
		_, err := output(t.Context(), dir, "git", args...)
		require.NoError(t, err)
	}
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

func TestCompareAPI(t *testing.T) {
	dir := repository(t, "package a\n\nfunc F() {}\n")
	compare := func() (string, error) {
		r, err := newRelease(t.Context(), dir)
		require.NoError(t, err)
		defer r.close()
		return compareAPI(t.Context(), r)
	}
	result, err := compare()
	require.NoError(t, err)
	require.Equal(t, "0 compatible changes since v0.1.0", result)

	write(t, dir, "internal/b.go", "package internal\n\nfunc C() {}\n")
	result, err = compare()
	require.NoError(t, err)
	require.Equal(t, "0 compatible changes since v0.1.0", result, "nobody else can import an internal package")

	write(t, dir, "a.go", "package a\n\nfunc F() {}\n\nfunc G() {}\n")
	result, err = compare()
	require.NoError(t, err)
	require.Equal(t, "1 compatible changes since v0.1.0", result)

	write(t, dir, "a.go", "package a\n\nfunc G() {}\n")
	_, err = compare()
	require.ErrorContains(t, err, `1 changes since v0.1.0 break users, and the changelog has no "### Breaking changes"`)
	require.ErrorContains(t, err, "F: removed")

	write(t, dir, "CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n\n### Breaking changes\n\n- F is gone.\n\n## [0.1.0]\n")
	result, err = compare()
	require.NoError(t, err)
	require.Contains(t, result, "and 1 that break users, as the changelog announces")
}

func TestCheckVersion(t *testing.T) {
	dir := repository(t, "package a\n")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "cmd", "trueup"), 0o700))
	const module = "module " + modulePath + "/cmd/trueup\n\ngo 1.26\n\nrequire " + modulePath
	for _, c := range []struct{ reason, changelog, module, want string }{
		{"unreleased", "## [Unreleased]\n\n## [0.1.0]\n", module + " v0.2.0\n", "begins with unreleased changes"},
		{"tagged", "## [0.1.0]\n", module + " v0.1.0\n", "v0.1.0 is tagged already"},
		{"no version", "# Changelog\n", module + " v0.2.0\n", "has no version"},
		{"not raised", "## [0.2.0]\n\n## [0.1.0]\n", module + " v0.1.0\n", "does not require " + modulePath + " v0.2.0"},
		{"replaced", "## [0.2.0]\n", module + " v0.2.0\n\nreplace " + modulePath + " => ../..\n", "has a replace"},
		{"ready", "## [0.2.0] - 2026-12-01\n\n## [0.1.0]\n", module + " v0.2.0\n", ""},
	} {
		write(t, dir, "CHANGELOG.md", c.changelog)
		write(t, dir, "cmd/trueup/go.mod", c.module)
		r, err := newRelease(t.Context(), dir)
		require.NoError(t, err)
		version, err := checkVersion(t.Context(), r)
		r.close()
		if c.want != "" {
			require.ErrorContains(t, err, c.want, c.reason)
			continue
		}
		require.NoError(t, err, c.reason)
		require.Equal(t, "v0.2.0", version)
	}
}

// TestThisCheckoutHasAVersion: what would be released next can be installed.
func TestThisCheckoutHasAVersion(t *testing.T) {
	_, err := checkVersion(t.Context(), &release{root: filepath.Join("..", "..", "..")})
	require.NoError(t, err)
}

func TestWithoutATag(t *testing.T) {
	dir := repository(t, "package a\n")
	_, err := output(t.Context(), dir, "git", "tag", "--delete", "v0.1.0")
	require.NoError(t, err)
	r, err := newRelease(t.Context(), dir)
	require.NoError(t, err)
	for _, compare := range []func() (string, error){
		func() (string, error) { return compareAPI(t.Context(), r) },
		func() (string, error) { return compareDefinitions(t.Context(), r) },
	} {
		result, err := compare()
		require.NoError(t, err)
		require.Equal(t, noTag, result)
	}
}

func TestLicenceIn(t *testing.T) {
	licence, err := licenceIn(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	require.Equal(t, "Apache-2.0", licence)
	_, err = licenceIn(t.TempDir())
	require.ErrorContains(t, err, "no licence was found")

	text, err := os.ReadFile(filepath.Join("..", "..", "..", "LICENSE"))
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "license.md"), text, 0o600))
	licence, err = licenceIn(dir)
	require.NoError(t, err)
	require.Equal(t, "Apache-2.0", licence)
}

func TestAFailedCheckStopsNoOther(t *testing.T) {
	dir := repository(t, "package a\n\nimport \"missing.example.com/module\"\n\nvar A = module.A\n")
	var out bytes.Buffer
	require.ErrorContains(t, run(t.Context(), dir, &out), "checks failed")
	for _, c := range checks {
		require.Contains(t, out.String(), c.name+": ")
	}
}
