package conformance_test

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A difference is an expected difference between ensuretest's fake client and the API server,
// documented on the package's page.
type difference struct {
	page  string // what it says there
	since string // the minor version of the API server that has it first, or empty for all versions
	where []place
}

// isHere reports whether an API server of this version shows the difference.
func (d difference) isHere() bool { return d.since == "" || !serverBefore(d.since) }

// A place is a step of a kind's life, or the name of a request.
type place struct{ subject, step string }

// lifecycleDifferences are the differences that a child's life shows.
var lifecycleDifferences = []difference{
	{
		page: "There are no defaults",
		where: []place{
			{"MutatingWebhookConfiguration", "after edit: all namespaces"},
		},
	},
	{
		page: "Lists of custom kinds are replaced as a whole",
		where: []place{
			{"Gadget", "after edit: a part"},
			{"Gadget", "after addition: a part"},
			{"Gadget", "another desired state, as a dry run"},
			{"Gadget", "another desired state"},
		},
	},
	{
		page:  "On a server, the first update of a PersistentVolumeClaim changes the resourceVersion",
		where: []place{{"PersistentVolumeClaim", "an update that changes nothing"}},
	},
	{
		page:  "A kind that is not in the scheme has no status subresource",
		where: []place{{"unstructured APIService", "a status write"}},
	},
	{
		page:  "Since Kubernetes 1.37, a HorizontalPodAutoscaler has a generation",
		since: "1.37",
		where: []place{
			{"HorizontalPodAutoscaler", "create"},
			{"HorizontalPodAutoscaler", "edit: the maximum"},
			{"HorizontalPodAutoscaler", "after edit: the maximum"},
			{"HorizontalPodAutoscaler", "edit: a metric's target"},
			{"HorizontalPodAutoscaler", "after edit: a metric's target"},
			{"HorizontalPodAutoscaler", "another desired state, as a dry run"},
			{"HorizontalPodAutoscaler", "another desired state"},
			{"HorizontalPodAutoscaler", "a deletion that waits"},
			{"HorizontalPodAutoscaler", "after deletion"},
		},
	},
}

// differencesMet remembers which of the expected differences there were.
type differencesMet struct {
	sync.Mutex
	seen []place
}

// require fails if there is a difference that is not expected, or none where one is.
func (m *differencesMet) require(t *testing.T, subject, step, diff string) {
	t.Helper()
	here := place{subject, step}
	isExpected := slices.ContainsFunc(slices.Concat(lifecycleDifferences, requestDifferences), func(d difference) bool {
		return d.isHere() && slices.Contains(d.where, here)
	})
	switch {
	case diff != "" && !isExpected:
		t.Errorf("%s: the fake client differs (+) from the server (-):\n%s", step, diff)
	case diff == "" && isExpected:
		t.Errorf("%s: the fake client no longer differs from the server: take it off the list", step)
	}
	m.Lock()
	defer m.Unlock()
	m.seen = append(m.seen, here)
}

// requireAll fails if an expected difference occurs in no step, or if the page does not mention the
// difference. With -short, which tries some of the kinds, a difference need not occur.
func (m *differencesMet) requireAll(t *testing.T, expected []difference) {
	t.Helper()
	page := packagePage(t)
	for _, d := range expected {
		require.Contains(t, page, d.page, "the package's page says nothing of this difference")
		for _, where := range d.where {
			require.True(t, slices.Contains(m.seen, where) || testing.Short() || !isWhole(), "%v is no step: take it off the list", where)
		}
	}
}

// packagePage is the text of the kit's doc.go, on one line.
func packagePage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../../ensure/ensuretest/doc.go")
	require.NoError(t, err)
	return strings.Join(strings.Fields(strings.ReplaceAll(string(page), "//", " ")), " ")
}
