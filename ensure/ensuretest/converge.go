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
	// passes is how many are enough for any operator that gets somewhere.
	passes = 20
	// relapses is how often an operator may write again after a pass that wrote nothing.
	relapses = 3
)

// T is the part of *testing.T that Converge needs.
type T interface {
	Helper()
	Context() context.Context
	Fatalf(format string, args ...any)
}

// Converge calls reconcile until it is done: until a pass, which is one call, returns no
// error and writes nothing through c, the client that the reconciler was made with. After
// a write it asks for two such passes, the second of them in another second than the write:
// a time in what is written is most often one of whole seconds, and the same within one.
// Converge waits for that second, inside a testing/synctest bubble without any delay; a call
// that writes nothing waits for none. It returns the requests of all passes: none, if the
// state was reached before and nothing has to be asked.
//
// A pass may fail: a Conflict, or a child that is still going, is for the next one to
// settle. After 20 passes, or once 3 passes wrote again right after one that wrote nothing,
// Converge fails the test, with the error of the last pass, or with the objects and the
// paths that the last passes wrote: a time or a counter, in an annotation or in a
// condition, or names that alternate. A write that changes nothing is a write, and so is
// one that is refused; a dry run is not.
//
// What comes with time is none of a pass's business: a Result's RequeueAfter is not waited
// for. So a reconcile that hands its errors to ensure.Retry is done, too, where a child is
// foreign, refused or still going: look at its conditions, or have reconcile return the
// error that Retry was given. A contest, ensure.ErrContested, fails the pass even so, as two
// callers that want different things end in one. A call of package ensure that failed returns
// its error again for some seconds: a test with such failures gives the Ensurer a clock of its
// own, ensure.WithClock, and moves that on. Times that stay the same for longer than a
// second are not seen: those in minutes or days, and those of a test's own clock that stands
// still.
func Converge(t T, c *Client, reconcile func(context.Context) error) []Request {
	t.Helper()
	begin := len(c.Requests())
	var done []pass
	for again := 0; again < relapses && len(done) < passes; {
		done = append(done, do(t.Context(), c, reconcile))
		if !done[len(done)-1].isQuiet() {
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

// A pass is one call of reconcile, and what it wrote.
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

// awaitOtherSecond returns as soon as the clock shows another second than it did then.
func awaitOtherSecond(then time.Time) {
	for now := (clock.RealClock{}).Now(); now.Unix() == then.Unix(); now = (clock.RealClock{}).Now() {
		next := now.Truncate(time.Second).Add(time.Second)
		<-clock.RealClock{}.After(next.Sub(now))
	}
}

// verdict is why no end is seen, and what the last passes wrote.
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

// story tells what the last three passes wrote, and how they failed: enough to see two
// states alternate.
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
