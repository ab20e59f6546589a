package versions_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/versions"
)

const sample = `# Versions

Text before.

<!-- Begin: written by make conformance, with K8S=1.33 for the column of 1.33. -->

| property | v1.33.13 (short) | v1.36.3 |
| -------- | ---------------: | ------: |
| it is so |               12 |      13 |
| it stays |                4 |       4 |

Differences from the pinned version:

- v1.33.13: Job, it is so: 12 instead of 13
- v1.36.3: none

<!-- End -->

Text after.
`

var properties = []string{"it is so", "it stays"}

func TestPageIsWrittenAsItWasRead(t *testing.T) {
	page, err := versions.Parse(sample)
	require.NoError(t, err)
	require.Equal(t, sample, page.Text(properties))
}

func TestColumn(t *testing.T) {
	page, err := versions.Parse(sample)
	require.NoError(t, err)
	column, ok := page.Column("v1.33.13")
	require.True(t, ok)
	require.Equal(t, versions.Column{
		Version: "v1.33.13", Short: true,
		Counts:      map[string]int{"it is so": 12, "it stays": 4},
		Differences: []string{"Job, it is so: 12 instead of 13"},
	}, column)
	_, ok = page.Column("v1.33.14")
	require.False(t, ok)
}

// TestSet: another patch replaces the column of a minor version, and a new column goes to its place.
func TestSet(t *testing.T) {
	page, err := versions.Parse(sample)
	require.NoError(t, err)
	page.Set(versions.Column{Version: "v1.33.14", Counts: map[string]int{"it is so": 7}})
	page.Set(versions.Column{Version: "v1.34.4", Counts: map[string]int{"it stays": 9}, Differences: []string{"one", "two"}})
	text := page.Text(properties)
	require.Contains(t, text, "Text before.\n")
	require.Contains(t, text, `
| property | v1.33.14 | v1.34.4 | v1.36.3 |
| -------- | -------: | ------: | ------: |
| it is so |        7 |       0 |      13 |
| it stays |        0 |       9 |       4 |

Differences from the pinned version:

- v1.33.14: none
- v1.34.4: one
- v1.34.4: two
- v1.36.3: none

<!-- End -->

Text after.
`)
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"no table":       {"<!-- End -->", "", "cannot find the tables of docs/versions.md"},
		"a missing cell": {"|               12 |      13 |", "|               12 |", "1 figures for 2 columns"},
		"a word":         {"|               12 |", "|               so |", "a cell is no number"},
		"no column":      {"- v1.36.3: none", "- v1.35.4: none", "there is no column v1.35.4"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(sample, c.old, c.new, 1)
			require.NotEqual(t, sample, changed)
			_, err := versions.Parse(changed)
			require.ErrorContains(t, err, c.want)
		})
	}
}
