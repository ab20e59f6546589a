package story

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trueup-go/trueup/test/harness/operator"
)

// checkpoint is a point in the story, to count from.
type checkpoint struct {
	story  *story
	events int
	writes int
	passes int
	sent   mark
}

func (s *story) now(ctx context.Context) checkpoint {
	return checkpoint{
		story:  s,
		events: s.events.len(),
		writes: len(s.entries("wrote child")),
		passes: s.passes(),
		sent:   s.mark(ctx),
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

// requests counts the operator's requests since the checkpoint by kind.
func (c checkpoint) requests(ctx context.Context) (map[string]int, error) {
	return c.story.requestsSince(ctx, c.sent)
}

func tally(counts map[string]int) string {
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
