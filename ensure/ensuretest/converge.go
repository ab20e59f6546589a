package ensuretest

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

const (
	// passes is how many are enough for any operator that gets somewhere.
	passes = 20
	// shownPasses is how many of them a failure shows: enough to see two states alternate.
	shownPasses = 3
)

// T is the part of *testing.T that Converge needs.
type T interface {
	Helper()
	Context() context.Context
	Fatalf(format string, args ...any)
}

// Converge calls reconcile until a pass returns no error and writes nothing through c,
// which is the client that the reconciler was made with. It returns the requests of all
// passes: none, if the state was reached before and nothing has to be asked.
//
// A pass may fail: a Conflict, or a child that is still going, is for the next one to
// settle. After 20 passes Converge fails the test, with the error of the last pass, or with
// the objects and the paths that the last passes wrote: a time or a counter, in an
// annotation or in a condition, or names that alternate. A write that changes nothing is a
// write, and so is one that is refused; a dry run is not.
//
// What comes with time is none of a pass's business: a Result's RequeueAfter is not waited
// for.
func Converge(t T, c *Client, reconcile func(context.Context) error) []Request {
	t.Helper()
	begin := len(c.Requests())
	var last []pass
	for range passes {
		p := do(t.Context(), c, reconcile)
		if p.err == nil && len(p.writes) == 0 {
			return c.Requests()[begin:]
		}
		last = append(last, p)
	}
	if err := last[passes-1].err; err != nil {
		t.Fatalf("the reconcile still fails in pass %d: %v%s", passes, err, story(last))
	} else {
		t.Fatalf("the reconcile still writes in pass %d%s", passes, story(last))
	}
	return c.Requests()[begin:]
}

// A pass is one call of reconcile, and what it wrote.
type pass struct {
	writes []Request
	err    error
}

func do(ctx context.Context, c *Client, reconcile func(context.Context) error) pass {
	begin := len(c.Requests())
	err := reconcile(ctx)
	isRead := func(r Request) bool { return !r.IsWrite() }
	return pass{writes: slices.DeleteFunc(c.Requests()[begin:], isRead), err: err}
}

// story tells what the last of some passes wrote.
func story(all []pass) string {
	var text strings.Builder
	for i, p := range all[len(all)-shownPasses:] {
		fmt.Fprintf(&text, "\npass %d:", len(all)-shownPasses+i+1)
		if len(p.writes) == 0 {
			text.WriteString(" wrote nothing")
		}
		for _, write := range p.writes {
			text.WriteString("\n\t" + write.String())
		}
	}
	return text.String()
}
