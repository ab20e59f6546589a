package ensuretest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/trueup-go/trueup/internal/observer"
)

const (
	// passes is how many are enough for any operator that gets somewhere. They are enough for
	// ensure.ErrContested, too, where each pass wants something else.
	passes = 30
	// relapses is how often in a row an operator may write again after a pass that wrote nothing.
	relapses = 3
)

// T is the part of *testing.T that Converge needs.
type T interface {
	Helper()
	Context() context.Context
	Fatalf(format string, args ...any)
}

// Converge calls reconcile until the state is stable. Each call is a pass. The state is stable when a
// pass returns no error and writes nothing through c, which is the client of the reconciler. After a
// write, Converge requires two such passes, the second of them in a later second than the write: most
// times that operators write do not change within a second. Converge waits for that second; inside a
// testing/synctest bubble, the wait takes no time. A call of Converge that writes nothing does not
// wait. Converge returns the requests of all passes. There are none if the state was stable before and
// no pass read from the API server.
//
// A pass may fail, for example with a Conflict or while a child is being deleted: the next pass may
// succeed. Converge fails the test after 30 passes, or after 3 writes in a row that each directly
// followed a pass without a write. The failure has the error of the last pass, or the objects and the
// paths that the last passes wrote: a time or a counter, in an annotation or in a condition, or names
// that alternate. Writes that change nothing and refused writes count as writes; dry runs do not.
//
// Converge does not wait for the RequeueAfter of a Result. So a reconciler that passes its errors to
// ensure.Retry counts as stable even while a child is foreign, refused or being deleted: check the
// conditions, or let reconcile return the error that it passed to Retry. ensure.ErrContested always
// fails the pass, because a disagreement of two callers ends in a contest. After a failure, a call of
// package ensure returns the same error for some seconds: run a test with such failures in a bubble of
// testing/synctest, where the wait takes no time. Converge does not detect times that stay the same for
// longer than a second: times in minutes or days, and times of a test clock that does not advance.
func Converge(t T, c *Client, reconcile func(context.Context) error) []Request {
	t.Helper()
	begin := len(c.Requests())
	var done []pass
	for again := 0; again < relapses && len(done) < passes; {
		done = append(done, do(t.Context(), c, reconcile))
		if last := done[len(done)-1]; !last.isQuiet() {
			if len(last.writes) > 0 {
				again = 0
			}
			continue
		}
		last, wrote := lastWrite(done)
		if !wrote {
			return c.Requests()[begin:]
		}
		awaitOtherSecond(last)
		confirmation := do(t.Context(), c, reconcile)
		if confirmation.isQuiet() {
			return c.Requests()[begin:]
		}
		done = append(done, confirmation)
		if len(confirmation.writes) > 0 {
			again++
		}
	}
	t.Fatalf("%s", verdict(done))
	return c.Requests()[begin:]
}

// A pass is one call of reconcile, with its writes.
type pass struct {
	writes []Request
	err    error
	ended  time.Time
}

func do(ctx context.Context, c *Client, reconcile func(context.Context) error) pass {
	begin := len(c.Requests())
	var contested atomic.Pointer[error]
	err := reconcile(observer.With(ctx, func(err error) { contested.Store(&err) }))
	if taken := contested.Load(); err == nil && taken != nil {
		err = *taken
	}
	isRead := func(r Request) bool { return !r.IsWrite() }
	return pass{writes: slices.DeleteFunc(c.Requests()[begin:], isRead), err: err, ended: clock.RealClock{}.Now()}
}

func (p pass) isQuiet() bool { return p.err == nil && len(p.writes) == 0 }

// lastWrite is when the last pass that wrote ended; false if none did.
func lastWrite(done []pass) (time.Time, bool) {
	for _, p := range slices.Backward(done) {
		if len(p.writes) > 0 {
			return p.ended, true
		}
	}
	return time.Time{}, false
}

// awaitOtherSecond returns as soon as the clock shows another second than then.
func awaitOtherSecond(then time.Time) {
	for now := (clock.RealClock{}).Now(); now.Unix() == then.Unix(); now = (clock.RealClock{}).Now() {
		next := now.Truncate(time.Second).Add(time.Second)
		<-clock.RealClock{}.After(next.Sub(now))
	}
}

// verdict returns why the state is not stable, and the writes of the last passes.
func verdict(done []pass) string {
	last := done[len(done)-1]
	switch {
	case last.err != nil:
		return fmt.Sprintf("the reconcile still fails in pass %d%s", len(done), story(done))
	case len(done) < passes:
		return fmt.Sprintf("the reconcile wrote again %d times right after a pass that wrote nothing, in another second than before: "+
			"does it write a time, or in every second pass?%s", relapses, story(done))
	default:
		return fmt.Sprintf("the reconcile still writes in pass %d%s", len(done), story(done))
	}
}

// story describes the writes and the errors of the last three passes: enough to see two alternating
// states.
func story(done []pass) string {
	var text strings.Builder
	named := [...]string{"the third-last pass", "the second-last pass", "the last pass"}
	for i, p := range done[len(done)-len(named):] {
		fmt.Fprintf(&text, "\n%s:", named[i])
		switch {
		case p.err != nil:
			fmt.Fprintf(&text, " failed: %v", p.err)
		case len(p.writes) == 0:
			text.WriteString(" wrote nothing")
		}
		for _, write := range p.writes {
			text.WriteString("\n\t" + write.String())
		}
	}
	return text.String()
}
