package predicates_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/page"
)

// The columns of the page.
const (
	primary           = "Primary"
	owned             = "Owned"
	primaryOfMetadata = "Primary, metadata only"
	ownedOfMetadata   = "Owned, metadata only"
	generation        = "GenerationChanged"
	resourceVersion   = "ResourceVersionChanged"
)

var columns = []string{primary, owned, generation, resourceVersion, primaryOfMetadata, ownedOfMetadata}

const introduction = `# Which events wake

Written by ` + "`make predicates`" + ` from what watches on a real API server brought; do not edit. The test that writes it fails
when it differs from what it sees.

Each table is one kind, each line one thing that happens to an object of it, and the one event that follows. The first two
columns are ` + "`predicates.Primary()` and `predicates.Owned()`" + `, the next two controller-runtime's ` + "`GenerationChangedPredicate`" + `
and ` + "`ResourceVersionChangedPredicate`" + `. Typed and unstructured objects have the same answers; the last two columns are those for
watches of metadata only, which do not show spec and status.

What to read from it:

- GenerationChanged sleeps over labels, owners and finalizers. Where a kind has no generation, it sleeps over the spec and the
  request to delete the object too; that of a PriorityClass is there, but never moves with its content.
- The generation also moves with the annotations of a Deployment, with the status of a custom kind that has no status
  subresource, and when deletion is requested.
- An object that was deleted and made again while the watch was cut has the generation that it had, and GenerationChanged
  never tells of it.
- ResourceVersionChanged wakes for every heartbeat and for managedFields, and sleeps over resyncs only.
- The heartbeat of a Lease is part of its spec, so it wakes who is For leases and not who Owns one.
- With metadata only, what cannot be seen may have changed: Owned wakes for every new resourceVersion, and Primary does where
  there is no generation. What changes in a PriorityClass does not show there.
`

// comparePage writes the page or compares with it.
func comparePage(t *testing.T, results map[string]map[string]verdicts) {
	t.Helper()
	text := introduction
	for _, k := range kinds() {
		text += "\n## " + strings.ToUpper(k.name[:1]) + k.name[1:] + "\n\n" + table(results[k.name])
	}
	require.NoError(t, page.CompareOrUpdate(t.Context(), "predicates", text))
}

func table(seen map[string]verdicts) string {
	var b strings.Builder
	b.WriteString("| | " + strings.Join(columns, " | ") + " |\n|---" + strings.Repeat("|---", len(columns)) + "|\n")
	for _, want := range wanted {
		v, ok := seen[want.change]
		if !ok {
			continue
		}
		b.WriteString("| " + want.change)
		for _, column := range columns {
			b.WriteString(" | " + map[bool]string{true: "wakes", false: "–"}[v[column]])
		}
		b.WriteString(" |\n")
	}
	return b.String()
}
