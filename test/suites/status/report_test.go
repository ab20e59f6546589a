package status_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/trueup-go/trueup/status/readiness"
	"github.com/trueup-go/trueup/test/harness/page"
)

// row is one look at an object.
type row struct {
	kind, step   string
	ours, theirs string
}

func (r row) differs() bool { return differ(r.ours, r.theirs) }

// A report records the observations of a test, in order.
type report struct {
	client client.Client
	rows   []row
}

// look records the answers of both for obj. Typed and unstructured objects have the same answer of
// ours.
func (r *report) look(t *testing.T, step string, obj client.Object) {
	t.Helper()
	kind, err := apiutil.GVKForObject(obj, r.client.Scheme())
	require.NoError(t, err)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	require.NoError(t, err)
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kind)

	typed := readiness.Of(obj)
	require.Equal(t, typed, readiness.Of(u))
	ours, theirs, err := answers(u)
	require.NoError(t, err, "%s, %s: %s, not %s", kind.Kind, step, ours, theirs)
	r.rows = append(r.rows, row{kind: kind.Kind, step: step, ours: ours, theirs: theirs})
	t.Logf("%s, %s: %s (%s); kstatus: %s", kind.Kind, step, ours, typed.Message, theirs)
}

// markdown is the page.
func (r *report) markdown() string {
	var out strings.Builder
	out.WriteString(`# Readiness beside kstatus

What ` + "`readiness.Of`" + ` and [kstatus](https://github.com/fluxcd/cli-utils/tree/main/pkg/kstatus) say about the same object at
the same moment, on a real control plane with simulated nodes. kstatus' word for ready is Current. Written by
` + "`make readiness`" + `; ` + "`make test`" + ` fails when this page is not what it sees.

## Where they differ

These are all: a test tries every status that the judgement of a kind depends on.

`)
	for _, d := range differences {
		fmt.Fprintf(&out, "- %s\n", d.text())
	}
	out.WriteString("\n## All that was seen\n\n| kind | step | readiness.Of | kstatus |\n|---|---|---|---|\n")
	for _, row := range r.rows {
		ours := row.ours
		if row.differs() {
			ours = "**" + ours + "**"
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", row.kind, row.step, ours, row.theirs)
	}
	return out.String()
}

// check compares the observations with the documentation.
func (r *report) check(t *testing.T) {
	t.Helper()
	require.NoError(t, page.CompareOrUpdate(t.Context(), "readiness", r.markdown()))
}
