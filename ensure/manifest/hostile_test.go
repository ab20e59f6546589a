package manifest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hostile are values that would mean something else than themselves in YAML, or to
// text/template.
var hostile = []string{
	"", " ", " a", "a ", "\n", "a\n", "\ta",
	"x\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: evil}",
	"x\n  other: y", "x\n...\n", "---", "...", "%YAML 1.1",
	"a: b", "a:", "a #b", "# a", "- a", "? a", "[a", "[a]", "{a: b}", "}", "]", ",", "`a`", "@a", "|", ">", "|-\n  a",
	`"`, `"a"`, `a"b": "c`, `'`, `'a'`, `\`, `a\nb`, `\"`,
	"&a b", "*a", "!a b", "!!int 3", "<<", "!!binary aGk=",
	"3", "-1", "0x10", "0o7", "0777", "1e3", "1.", ".5", "1_000", "12:30:45", "+1", ".inf", ".NaN",
	"true", "False", "null", "~", "yes", "No", "on", "off", "y", "N",
	"{{", "{{.}}", "}}", `{{template "x"}}`, "\ue0000z", "\ue0010z",
	"\x00", "\u0085", "a\u0085b", "a\u2028b", "\ufeff", "\ufeffa", "\ufffe", "a\rb", "\r\n", "\x7f",
	"é: ü", "日本: 語", "😀", strings.Repeat("a: b\n", 200), strings.Repeat("[", 1<<12),
}

// A value either reads as itself, or is refused with file, line and path. Quoted it always
// reads as itself.
func TestHostileValues(t *testing.T) {
	for place, manifest := range map[string]string{
		"bare":           configMap + "  first: here\n  key: ACTION\n  last: here\n",
		"beside":         configMap + "  first: here\n  key: a ACTION b\n  last: here\n",
		"double quotes":  configMap + "  first: here\n  key: \"a ACTION b\"\n  last: here\n",
		"single quotes":  configMap + "  first: here\n  key: 'ACTION'\n  last: here\n",
		"literal block":  configMap + "  first: here\n  key: |\n    ACTION\n  last: here\n",
		"kept block":     configMap + "  first: here\n  key: |+\n    ACTION\n  last: here\n",
		"folded block":   configMap + "  first: here\n  key: >\n    ACTION\n  last: here\n",
		"flow":           strings.TrimSuffix(configMap, "\n") + " {first: here,\n  key: ACTION, last: here}\n",
		"last of all":    configMap + "  first: here\n  last: here\n  key: ACTION",
		"several lines":  configMap + "  first: here\n  key: a\n    ACTION\n  last: here\n",
		"definition":     `{{define "x"}}ACTION{{end}}` + configMap + "  first: here\n  key: {{template \"x\" .}}\n  last: here\n",
		"after a branch": configMap + "  first: here\n{{if .}}{{else}}  # ...\n{{end}}  key: ACTION\n  last: here\n",
	} {
		t.Run(place, func(t *testing.T) {
			before, _, _ := strings.Cut(manifest, "ACTION")
			line := 1 + strings.Count(before, "\n")
			benign, err := render(strings.ReplaceAll(manifest, "ACTION", "{{.}}"), "benign")
			require.NoError(t, err)
			around := dataOf(t, benign)["key"]

			for _, value := range hostile {
				objects, err := render(strings.ReplaceAll(manifest, "ACTION", "{{.}}"), value)
				if err == nil {
					require.Equal(t, map[string]string{
						"first": "here", "last": "here", "key": strings.ReplaceAll(around, "benign", value),
					}, dataOf(t, objects), "%.40q", value)
					continue
				}
				found := fault(t, strings.ReplaceAll(manifest, "ACTION", "{{.}}"), value)
				require.Equal(t, line, found.Line, "%.40q", value)
				require.Equal(t, "data.key", found.Path, "%.40q", value)
				require.Contains(t, found.Problem, "pipe free text through quote")
			}
		})
	}
}

func TestHostileValuesQuoted(t *testing.T) {
	for _, value := range hostile {
		objects, err := render(configMap+"  first: here\n  key: {{quote .}}\n  last: here\n", value)
		require.NoError(t, err, "%.40q", value)
		require.Equal(t, map[string]string{"first": "here", "last": "here", "key": value}, dataOf(t, objects))
	}
}

func TestHostileValuesOfAMegabyte(t *testing.T) {
	size := 1 << 20
	if testing.Short() {
		size = 1 << 16
	}
	for _, value := range []string{
		strings.Repeat("a", size), strings.Repeat("a: b\n", size/4), strings.Repeat("---\n", size/4), strings.Repeat("[", size),
	} {
		objects, err := render(configMap+"  key: {{quote .}}\n", value)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"key": value}, dataOf(t, objects))

		if objects, err := render(configMap+"  key: {{.}}\n", value); err == nil {
			require.Equal(t, map[string]string{"key": value}, dataOf(t, objects))
		}
	}
}

// A remark is no place where data could get out of either.
func TestHostileValuesInRemarks(t *testing.T) {
	read := 0
	for _, value := range hostile {
		objects, err := render("# {{.}}\n"+configMap+"  key: here # {{.}}\n", value)
		if err == nil {
			read++
			require.Equal(t, map[string]string{"key": "here"}, dataOf(t, objects), "%.40q", value)
		}
	}
	require.Greater(t, read, len(hostile)/2)
}

// Whatever marks the places of values, a manifest can hold, or make of pieces.
func TestTextThatLooksLikeAPlaceOfAValue(t *testing.T) {
	for manifest, want := range map[string]string{
		"act{{if true}}{{end}}ion0z": "action0z",
		"act{{/**/}}ion9z":           "action9z",
		"\ue0000z {{.}}":             "\ue0000z x",
		"\ue000{{/**/}}9z":           "\ue0009z",
		"\ue000{{.}}z\ue001":         "\ue000xz\ue001",
	} {
		objects, err := render(configMap+"  key: "+manifest+"\n", "x")
		require.NoError(t, err, "%q", manifest)
		require.Equal(t, map[string]string{"key": want}, dataOf(t, objects))
	}
	found := fault(t, configMap+"  key: \xee{{/**/}}\x80\x800z\n", "x")
	require.Equal(t, "manifest.yaml:6: is not UTF-8", found.Error())
}

func TestTextThatIsNotUTF8(t *testing.T) {
	require.Equal(t, "manifest.yaml:6: yields text that is not UTF-8", fault(t, configMap+"  key: {{.}}\n", "a\xff").Error())
	require.Equal(t, "manifest.yaml:6: yields text that is not UTF-8", fault(t, configMap+"  key: {{quote .}}\n", "a\xff").Error())
}

// The value at fault is named, not the first or the last.
func TestWhichValueIsAtFault(t *testing.T) {
	manifest := configMap + "  a: {{.good}}\n  b: {{.bad}}\n  c: {{.good}}\n  d: {{.bad}}\n"
	found := fault(t, manifest, map[string]string{"good": "x", "bad": "- y"})
	require.Equal(t, 7, found.Line)
	require.Equal(t, "data.b", found.Path)
}
