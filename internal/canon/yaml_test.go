package canon_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/internal/canon"
)

func TestYAML(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 1023)
	for name, tc := range map[string]struct{ why, text, want string }{
		"ASCII":            {"", `{"a":["b",1,true,null],"c":{}}`, `{"a":["b",1,true,null],"c":{}}`},
		"no string":        {"", `[1]`, `[1]`},
		"escapes":          {"they are three times as long", `{"\u00fc":"\u6f22\ufeff"}`, "{\"ü\":\"漢\ufeff\"}"},
		"raw":              {"as encoding/json writes it", "{\"ü\":\"\u0085\U0001f600\"}", "{\"ü\":\"\\u0085\U0001f600\"}"},
		"what must escape": {"YAML refuses it, or ends the line", `"\n\t\"\\\u0000\u007f\u009f\u2028\u2029\ufffe\uffff"`, `"\u000a\u0009\"\\\u0000\u007f\u009f\u2028\u2029\ufffe\uffff"`},
		"a slash":          {"YAML has no escape for it", `{"a":"\/\ud83d\ude00"}`, "{\"a\":\"/\U0001f600\"}"},
		"a long key":       {"YAML asks for a question mark", `{"a":1,"` + long + `":"` + long + `"}`, `--- {"a":1,? "` + long + `":"` + long + `"}`},
		"a short key":      {"the limit includes the quotes", `{"` + long[1:] + `":1}`, `{"` + long[1:] + `":1}`},
		"many bytes":       {"the limit is in characters", `{"` + strings.Repeat("漢", 1022) + `":1}`, `{"` + strings.Repeat("漢", 1022) + `":1}`},
		"long runes":       {"an escape counts as it is written", `{"` + strings.Repeat(`\u0085`, 200) + `":1}`, `--- {? "` + strings.Repeat(`\u0085`, 200) + `":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, cmp.Diff(tc.want, string(canon.YAML([]byte(tc.text)))), tc.why)
			requireYAML(t, []byte(tc.text))
		})
	}
}

func TestYAMLOfWhatIsNoJSON(t *testing.T) {
	t.Parallel()
	const text = `{"\q":"\"`
	require.Equal(t, text, string(canon.YAML([]byte(text))), "for the server to refuse")
}

// Every rune comes through, as a value and in a key, however the text was written.
func TestYAMLOfEveryRune(t *testing.T) {
	t.Parallel()
	want := map[string]any{}
	for begin := rune(0); begin <= 0x1ffff; begin += 100 {
		var text strings.Builder
		for r := begin; r < begin+100; r++ {
			if utf8.ValidRune(r) {
				text.WriteRune(r)
			}
		}
		want[text.String()] = text.String()
	}
	marshaled, err := json.Marshal(want)
	require.NoError(t, err)
	canonical, err := canon.Append(nil, want)
	require.NoError(t, err)
	for _, text := range [][]byte{marshaled, canonical} {
		got := map[string]any{}
		require.NoError(t, yaml.UnmarshalStrict(canon.YAML(text), &got))
		require.Equal(t, want, got)
	}
}
