package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDifferences(t *testing.T) {
	t.Parallel()
	want := digests{"v0.30/a": "v1-1", "v0.30/b": "v1-2", "v0.30/c": "v1-3"}
	for name, c := range map[string]struct {
		reason string
		got    digests
		want   []string
	}{
		"none":    {"the same digests", digests{"v0.30/a": "v1-1", "v0.30/b": "v1-2", "v0.30/c": "v1-3"}, nil},
		"changed": {"both digests are named", digests{"v0.30/a": "v1-1", "v0.30/b": "v1-9", "v0.30/c": "v1-3"}, []string{"v0.30/b: want v1-2, got v1-9"}},
		"missing": {
			"an object may not go unseen",
			digests{"v0.30/a": "v1-1", "v0.30/b": "v1-2"},
			[]string{"v0.30/c: want v1-3, but it has no digest"},
		},
		"extra": {
			"nor may one come",
			digests{"v0.30/a": "v1-1", "v0.30/b": "v1-2", "v0.30/c": "v1-3", "v0.30/d": "v1-4"},
			[]string{"v0.30/d: got v1-4, but there is none to compare with"},
		},
		"renamed": {
			"in the order of names",
			digests{"v0.30/a": "v1-1", "v0.30/B": "v1-2", "v0.30/c": "v1-3"},
			[]string{"v0.30/B: got v1-2, but there is none to compare with", "v0.30/b: want v1-2, but it has no digest"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var found []string
			for _, d := range differences(want, c.got) {
				found = append(found, d.String())
			}
			require.Equal(t, c.want, found, c.reason)
		})
	}
}

func TestUntil(t *testing.T) {
	t.Parallel()
	all := digests{"v0.30/a": "1", "v0.34/b": "2", "v0.37/c": "3"}
	for minor, want := range map[int]digests{
		30: {"v0.30/a": "1"},
		34: {"v0.30/a": "1", "v0.34/b": "2"},
		38: all,
	} {
		got, err := all.until(minor)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := digests{"apps/v1/Deployment": "1"}.until(30)
	require.ErrorContains(t, err, "cannot tell since when there is apps/v1/Deployment")
}

func TestDigestsReadWhatTheyWrite(t *testing.T) {
	t.Parallel()
	all := digests{"v0.34/b": "v1-2", "v0.30/a": "v1-1"}
	require.Equal(t, "v0.30/a v1-1\nv0.34/b v1-2\n", string(all.text()))
	read, err := parseDigests(strings.NewReader(string(all.text())))
	require.NoError(t, err)
	require.Equal(t, all, read)
}

func TestParseDigestsRefuses(t *testing.T) {
	t.Parallel()
	_, err := parseDigests(strings.NewReader("a 1\na 2\n"))
	require.EqualError(t, err, "line 2: a occurs twice")
	_, err = parseDigests(strings.NewReader("a 1\na\n"))
	require.EqualError(t, err, `line 2 has 1 fields, not 2: "a"`)
}
