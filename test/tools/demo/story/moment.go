package story

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// moment is a point in the story, to count from.
type moment struct {
	story   *story
	pages   int
	writes  int
	passes  int
	request cluster.Mark
}

func (s *story) now() moment {
	return moment{
		story:   s,
		pages:   s.diary.len(),
		writes:  len(s.entries("wrote child")),
		passes:  s.passes(),
		request: s.Cluster.Mark(),
	}
}

// entries of the operator's log that are about the hero.
func (s *story) entries(message string) []operator.Entry {
	if s.Process == nil {
		return nil
	}
	return slices.DeleteFunc(s.Process.Entries(message), func(e operator.Entry) bool {
		return !e.About(s.kind, s.Namespace, s.name)
	})
}

// passes is how many reconciles of the hero have ended.
func (s *story) passes() int {
	if s.Process == nil {
		return 0
	}
	return s.Process.Reconciles(s.kind, s.Namespace, s.name)
}

// seen returns the changes of objects since the moment.
func (m moment) seen() []page { return m.story.diary.since(m.pages) }

// written returns the writes that the operator has logged since the moment.
func (m moment) written() []operator.Entry { return m.story.entries("wrote child")[m.writes:] }

// reconciled is how many reconciles ended since.
func (m moment) reconciled() int { return m.story.passes() - m.passes }

// requests returns all requests of the operator since the moment, except events: each write has
// one, which is sent some time later.
func (m moment) requests() ([]cluster.Request, error) {
	return m.story.Cluster.Requests(m.request, cluster.ByUser(m.story.Operator.User()), cluster.NoEvents)
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
