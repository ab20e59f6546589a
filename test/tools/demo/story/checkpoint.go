package story

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// checkpoint is a point in the story, to count from.
type checkpoint struct {
	story   *story
	events  int
	writes  int
	passes  int
	request cluster.Mark
}

func (s *story) now() checkpoint {
	return checkpoint{
		story:   s,
		events:  s.events.len(),
		writes:  len(s.entries("wrote child")),
		passes:  s.passes(),
		request: s.Cluster.Mark(),
	}
}

// entries of the operator's log that are about the main object.
func (s *story) entries(message string) []operator.Entry {
	if s.Process == nil {
		return nil
	}
	return slices.DeleteFunc(s.Process.Entries(message), func(e operator.Entry) bool {
		return !e.About(s.kind, s.Namespace, s.name)
	})
}

// passes is how many reconciles of the main object have ended.
func (s *story) passes() int {
	if s.Process == nil {
		return 0
	}
	return s.Process.Reconciles(s.kind, s.Namespace, s.name)
}

// seen returns the changes of objects since the checkpoint.
func (c checkpoint) seen() []loggedEvent { return c.story.events.since(c.events) }

// written returns the writes that the operator has logged since the checkpoint.
func (c checkpoint) written() []operator.Entry { return c.story.entries("wrote child")[c.writes:] }

// reconciled is how many reconciles ended since.
func (c checkpoint) reconciled() int { return c.story.passes() - c.passes }

// requests returns all requests of the operator since the checkpoint, except events: each write has
// one, which is sent some time later.
func (c checkpoint) requests() ([]cluster.Request, error) {
	return c.story.Cluster.Requests(c.request, cluster.ByUser(c.story.Operator.User()), cluster.NoEvents)
}

// tally counts requests by kind.
func tally(requests []cluster.Request) string {
	counts := cluster.Counts(requests)
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	return strings.Join(kinds, ", ")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
