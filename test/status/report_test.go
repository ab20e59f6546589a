package status_test

import (
	"fmt"
	"strings"
	"testing"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/trueup-go/trueup/status"
	"github.com/trueup-go/trueup/test/internal/page"
)

// row is one look at an object.
type row struct {
	kind, step   string
	ours, theirs string
}

func (r row) key() string { return r.kind + ", " + r.step }

// differs: kstatus' word for ready is Current.
func (r row) differs() bool {
	return r.ours != strings.Replace(r.theirs, string(kstatus.CurrentStatus), string(status.Ready), 1)
}

// report is what a test has seen, in order.
type report struct {
	client client.Client
	rows   []row
}

// look notes what both say about obj as it is here. Typed and unstructured, we say the
// same.
func (r *report) look(t *testing.T, step string, obj client.Object) {
	t.Helper()
	kind, err := apiutil.GVKForObject(obj, r.client.Scheme())
	require.NoError(t, err)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	require.NoError(t, err)
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kind)

	ours := status.Of(obj)
	require.Equal(t, ours, status.Of(u))
	theirs, err := kstatus.Compute(u)
	require.NoError(t, err)
	r.rows = append(r.rows, row{kind: kind.Kind, step: step, ours: string(ours.State), theirs: string(theirs.Status)})
	t.Logf("%s, %s: %s (%s); kstatus: %s (%s)", kind.Kind, step, ours.State, ours.Message, theirs.Status, theirs.Message)
}

// markdown is the page.
func (r *report) markdown() string {
	var out strings.Builder
	out.WriteString(`# Readiness beside kstatus

What ` + "`status.Of`" + ` and [kstatus](https://github.com/fluxcd/cli-utils/tree/main/pkg/kstatus) say about the same object at
the same moment, on a real control plane with simulated nodes. kstatus' word for ready is Current. Written by
` + "`make readiness`" + `; ` + "`make test`" + ` fails when this page is not what it sees.

## Where they differ

`)
	for _, row := range r.rows {
		if row.differs() {
			fmt.Fprintf(&out, "- **%s**: %s, not %s. %s\n", row.key(), row.ours, row.theirs, differences[row.key()])
		}
	}
	out.WriteString("\n## All that was seen\n\n| kind | step | status.Of | kstatus |\n|---|---|---|---|\n")
	for _, row := range r.rows {
		ours := row.ours
		if row.differs() {
			ours = "**" + ours + "**"
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", row.kind, row.step, ours, row.theirs)
	}
	return out.String()
}

// check compares with what is documented: each difference, and the page.
func (r *report) check(t *testing.T) {
	t.Helper()
	var seen, documented []string
	for _, row := range r.rows {
		if row.differs() {
			seen = append(seen, row.key())
		}
		if _, ok := differences[row.key()]; ok {
			documented = append(documented, row.key())
		}
	}
	require.Empty(t, cmp.Diff(documented, seen), "differences, documented and seen")
	require.Len(t, seen, len(differences), "each documented difference was looked at once")

	require.NoError(t, page.Settle(t.Context(), "readiness", r.markdown()))
}
