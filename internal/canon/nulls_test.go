package canon_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/internal/canon"
)

func TestWithoutNulls(t *testing.T) {
	t.Parallel()
	const body = `{"spec":{"any":{"a.b":null},"big":12345678901234567890,"parts":[{"mode":null,"size":null},{"size":1},null,{"size":null}],"size":null}}`
	for name, tc := range map[string]struct {
		why   string
		paths []string
		want  string
	}{
		"a member": {
			"the others stay",
			[]string{"spec.size"},
			`{"spec":{"any":{"a.b":null},"big":12345678901234567890,"parts":[{"mode":null,"size":null},{"size":1},null,{"size":null}]}}`,
		},
		"members of items": {
			"of all that have it; a null item stays, as it has a place",
			[]string{"spec.parts[].size", "spec.parts[]"},
			`{"spec":{"any":{"a.b":null},"big":12345678901234567890,"parts":[{"mode":null},{"size":1},null,{}],"size":null}}`,
		},
		"a key with a dot": {
			"the server writes it so",
			[]string{"spec.any.a.b"},
			`{"spec":{"any":{},"big":12345678901234567890,"parts":[{"mode":null,"size":null},{"size":1},null,{"size":null}],"size":null}}`,
		},
		"what is not null": {"it stays", []string{"spec.big", "spec.any", "spec.none"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, string(canon.WithoutNulls([]byte(body), tc.paths)), tc.why)
		})
	}
	require.Nil(t, canon.WithoutNulls([]byte("no JSON"), nil))
}
