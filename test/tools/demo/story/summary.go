package story

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A Summary holds the figures of a story.
type Summary struct {
	// Operator is the name of the story's operator.
	Operator string
	// Made counts the created pieces of What, including replacements: the main object's children as a
	// watcher saw them, or rows.
	Made int
	What string
	// Requests counts all requests of the operator during the story as the API server counted them:
	// status, reads and dry runs included, events not. On an existing cluster, it counts the requests
	// for children as the operator counted them.
	Requests int
	// Took is how long the story was.
	Took time.Duration
	// RestReconciles counts the reconciles without anything to do, and RestRequests their requests.
	RestReconciles, RestRequests int
}

func (s *story) sumUp(ctx context.Context, began checkpoint, lasted time.Duration) (Summary, error) {
	requests, err := began.requests(ctx)
	if err != nil {
		return Summary{}, err
	}
	return Summary{
		Operator: s.Operator.Name, Made: s.children(began.seen()), What: s.makes, Requests: sum(requests), Took: lasted,
		RestReconciles: s.idle.reconciles, RestRequests: s.idle.requests,
	}, nil
}

// children counts the objects that the main object controls.
func (s *story) children(pages []loggedEvent) int {
	uids := map[types.UID]bool{}
	for _, page := range pages {
		owner := metav1.GetControllerOfNoCopy(page.object)
		if owner != nil && owner.Kind == s.kind && owner.Name == s.name {
			uids[page.object.GetUID()] = true
		}
	}
	return len(uids)
}

// The words on the requests in summaries.
const (
	AllRequests = "Requests are all that the operator made during its story, status, reads and dry runs included. " +
		"The event\nthat goes with each write is not."
	ChildRequests = "Requests are those for children, dry runs included, by the operators' own metric " +
		"trueup_ensure_requests_total:\nthe audit log of an existing cluster is out of reach."
)

// SumUp writes one line for each. Counted says what the requests are.
func SumUp(out io.Writer, counted string, summaries ...Summary) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "\noperator\tmade\trequests\ttook\trequests when nothing was to do")
	for _, s := range summaries {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%.1f s\t%d in %s\n", s.Operator, count(s.Made, s.What), s.Requests,
			s.Took.Seconds(), s.RestRequests, count(s.RestReconciles, "reconcile"))
	}
	_, _ = fmt.Fprintln(table, "\n"+counted)
	return table.Flush()
}
