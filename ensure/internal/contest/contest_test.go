package contest_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trueup-go/trueup/ensure/internal/contest"
	"github.com/trueup-go/trueup/ensure/internal/memory"
)

const fieldOwner = "shop-operator"

// A scene is a table, the next call and the last verdict.
type scene struct {
	table   *contest.Table
	call    contest.Call
	answers int // of the API server
	verdict contest.Verdict
}

func newScene() *scene {
	s := &scene{table: contest.NewTable(2)}
	s.call.Now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	of("settings")(s)
	wants("blue")(s)
	return s
}

// A step is something that happens in a scene.
type step func(*scene)

// of has the next calls be for the child of this name.
func of(name string) step {
	return func(s *scene) { s.call.Child = memory.ChildKey{Key: types.NamespacedName{Name: name}} }
}

// wants has the next calls want the desired state of this digest.
func wants(digest string) step { return func(s *scene) { s.call.Digest = digest } }

// generation has the next calls be on behalf of this generation of an owner.
func generation(number int64) step {
	return func(s *scene) { s.call.Owner = contest.Generation{Owner: "uid", Number: number} }
}

func wait(d time.Duration) step { return func(s *scene) { s.call.Now = s.call.Now.Add(d) } }

// reverts is a write that sets paths back, after rival changed them.
func reverts(rival string, paths ...string) step {
	return func(s *scene) {
		s.answers++
		write := contest.Write{Paths: paths, Version: strconv.Itoa(s.answers), Rival: rival}
		s.verdict = s.table.Count(s.call, write)
	}
}

// recreates is a write that creates the child after somebody deleted it.
func recreates(s *scene) {
	s.verdict = s.table.Count(s.call, contest.Write{Paths: []string{contest.Deletion}})
}

// sameAnswer is the last write as another pass has seen it.
func sameAnswer(s *scene) {
	s.answers--
	reverts("kubectl-edit", "data[color]")(s)
}

// supersedes is a write of the desired state that the call wants, in place of another one.
func supersedes(paths ...string) step {
	return func(s *scene) {
		s.verdict = s.table.Count(s.call, contest.Write{IsState: true, Paths: paths, Rival: fieldOwner})
	}
}

// tries is a call that is about to write.
func tries(s *scene) { s.verdict = s.table.Try(s.call) }

// findsUnchanged is a call that has nothing to write.
func findsUnchanged(s *scene) { s.verdict = s.table.Unchanged(s.call, false) }

// findsStaleCopy is a call that reads a copy from before the last write.
func findsStaleCopy(s *scene) { s.verdict = s.table.Unchanged(s.call, true) }

func times(n int, steps ...step) step {
	return func(s *scene) {
		for range n {
			play(s, steps)
		}
	}
}

func both(first, second step) step { return times(1, first, second) }

func play(s *scene, steps []step) {
	for _, step := range steps {
		step(s)
	}
}

var (
	revert  = reverts("kubectl-edit", "data[color]")
	contend = times(5, revert) // begins a contest
	takes   = func(digest string) step { return both(wants(digest), supersedes("data[color]")) }

	alternate = times(10, takes("blue"), takes("red")) // begins a contest between callers
	// makeAndRemove begins one between a caller that wants the child and one that wants none.
	makeAndRemove = times(10, makes, removes)
	makes         = both(wants("blue"), supersedes())
	removes       = both(wants(contest.Absent), supersedes())
)

// contested is the verdict on a call while kubectl-edit contests data[color].
func contested(wait time.Duration) contest.Verdict {
	return contest.Verdict{
		Contested: true, Wait: wait, Operation: "apply", Paths: []string{"data[color]"}, Rival: "kubectl-edit",
	}
}

func begun(v contest.Verdict) contest.Verdict {
	v.Begins = true
	return v
}

// by returns v with another rival.
func by(rival string, v contest.Verdict) contest.Verdict {
	v.Rival = rival
	return v
}

// over returns v about another operation and other paths.
func over(operation string, v contest.Verdict, paths ...string) contest.Verdict {
	v.Operation, v.Paths = operation, append([]string{}, paths...)
	return v
}

// The verdict on the last step of each scene.
func TestVerdicts(t *testing.T) {
	const another = contest.AnotherCaller
	none := contest.Verdict{}
	cases := map[string]struct {
		reason string
		steps  []step
		want   contest.Verdict
	}{
		// Others revert what is written.
		"four reverts": {
			"an accident happens more than once", []step{times(4, revert)}, none,
		},
		"the fifth revert": {
			"somebody means it", []step{contend}, begun(contested(10 * time.Second)),
		},
		"the fifth revert in more than two minutes": {
			"the first one is too old to count", []step{times(4, revert, wait(30*time.Second)), revert}, none,
		},
		"four reverts, and one after two minutes": {
			"all of them are too old to count", []step{times(4, revert), wait(2 * time.Minute), revert}, none,
		},
		"five reverts of different fields": {
			"the child is contested, and all of them are named",
			[]step{
				reverts("a", "data[1]"), reverts("a", "data[2]"), reverts("a", "data[3]"), reverts("a", "data[4]"),
				reverts("a", "data[5]", "data[1]"),
			},
			begun(over("apply", by("a", contested(10*time.Second)), "data[1]", "data[2]", "data[3]", "data[4]", "data[5]")),
		},
		"a field that was reverted more than two minutes ago": {
			"the contest is not about it",
			[]step{reverts("helm", "data[shape]"), wait(100 * time.Second), times(3, revert), wait(20 * time.Second), times(2, revert)},
			begun(contested(10 * time.Second)),
		},
		"the fifth deletion": {
			"a deletion counts like a field", []step{times(5, recreates)}, begun(over("create", by("", contested(10*time.Second)))),
		},
		"five passes with one answer": {
			"one write of the API server counts once", []step{revert, times(4, sameAnswer)}, none,
		},
		"the fifth revert, of two desired states": {
			"a change of desired begins to count anew", []step{times(4, revert), wants("red"), revert}, none,
		},
		"five reverts of two children": {
			"each child is counted by itself", []step{times(4, revert), of("other"), revert}, none,
		},
		"five reverts of 100 fields": {
			"the fields that are named are bounded",
			[]step{times(5, reverts("helm", fields(100)...))},
			begun(over("apply", by("helm", contested(10*time.Second)), fields(64)...)),
		},
		"an unknown rival": {
			"the managed fields may not show it", []step{times(5, reverts("", "data[color]"))}, begun(by("", contested(10*time.Second))),
		},
		"another rival before the contest": {
			"the latest one began it", []step{times(4, revert), reverts("helm", "data[color]")}, begun(by("helm", contested(10*time.Second))),
		},
		"another rival during the contest": {
			"the text has to stay the same", []step{contend, reverts("helm", "data[color]")}, contested(20 * time.Second),
		},

		// The life of a contest.
		"a write during the wait": {
			"nothing is written", []step{contend, wait(3 * time.Second), tries}, contested(7 * time.Second),
		},
		"a write at the end of the wait": {
			"one try is due", []step{contend, wait(10 * time.Second), tries}, contest.Verdict{HasTry: true},
		},
		"a second call at the end of the wait": {
			"the first one has the try", []step{contend, wait(10 * time.Second), tries, tries}, contested(10 * time.Second),
		},
		"a try that reverts again": {
			"the wait doubles", []step{contend, wait(10 * time.Second), tries, revert}, contested(20 * time.Second),
		},
		"the sixth try that reverts again": {
			"the longest wait is five minutes", []step{contend, times(6, revert)}, contested(5 * time.Minute),
		},
		"another field during the contest": {
			"it is contested with the first one",
			[]step{contend, reverts("helm", "data[shape]")},
			over("apply", contested(20*time.Second), "data[color]", "data[shape]"),
		},
		"nothing to write, soon after the last write": {
			"whether it stays is not known yet", []step{contend, wait(5 * time.Second), findsUnchanged}, contested(15 * time.Second),
		},
		"nothing to write, after twice the wait": {
			"the rival stopped", []step{contend, wait(20 * time.Second), findsUnchanged}, none,
		},
		"a stale copy after twice the wait": {
			"the copy is from before the last write", []step{contend, wait(20 * time.Second), findsStaleCopy}, contested(time.Second),
		},
		"a revert after the contest": {
			"the contest goes on", []step{contend, wait(20 * time.Second), findsUnchanged, revert}, begun(contested(20 * time.Second)),
		},
		"another desired state": {
			"it may be what the rival wants", []step{contend, wants("red"), tries}, none,
		},
		"a revert of another desired state": {
			"the rival is the same", []step{contend, takes("red"), revert}, begun(contested(20 * time.Second)),
		},
		"a revert for the next generation of the owner": {
			"the rival is the same", []step{generation(1), contend, generation(2), revert}, begun(contested(20 * time.Second)),
		},
		"five deletions of what others create": {
			"they create it again", []step{times(6, removes)}, begun(over("delete", by("", contested(10*time.Second)))),
		},
		"reverts for different generations of the owner": {
			"its user may have ended it", []step{times(4, generation(1), revert), generation(2), revert}, none,
		},
		"four reverts and a deletion": {
			"it is not deleted again and again", []step{times(4, revert), recreates}, begun(contested(10 * time.Second)),
		},
		"ten minutes after the last try": {
			"nobody takes part any longer", []step{contend, wait(10 * time.Minute), tries}, none,
		},
		"a forgotten contest": {
			"the least recently used children are forgotten", []step{contend, of("1"), revert, of("2"), revert, of("settings"), tries}, none,
		},

		// Callers of this process supersede each other's desired states.
		"nineteen states of two callers": {
			"desired may change often for a while", []step{times(9, takes("blue"), takes("red")), takes("blue")}, none,
		},
		"twenty states of two callers": {
			"two callers want different things", []step{alternate}, begun(by(another, contested(10*time.Second))),
		},
		"another state of two callers": {
			"the wait doubles", []step{alternate, takes("blue")}, by(another, contested(20*time.Second)),
		},
		"twenty states of two callers, one of which reads an old copy": {
			"the copy shows no difference, but the writes before did",
			[]step{times(10, takes("blue"), both(wants("red"), supersedes()))},
			begun(by(another, contested(10*time.Second))),
		},
		"states that stand for five seconds": {
			"they were kept", []step{times(20, both(takes("blue"), wait(5*time.Second)), both(takes("red"), wait(5*time.Second)))}, none,
		},
		"states that another caller wants to replace sooner": {
			"only a failure kept it from that",
			[]step{times(20, both(takes("blue"), both(wants("red"), tries)), both(wait(5*time.Second), takes("red")))},
			by(another, contested(5*time.Minute)),
		},
		"every second state stands for five seconds": {
			"each other one is lost",
			[]step{times(18, takes("blue"), both(takes("red"), wait(5*time.Second))), takes("blue"), takes("red")},
			begun(by(another, contested(10*time.Second))),
		},
		"a revert by others among the states of callers": {
			"the states count all the same",
			[]step{times(10, both(takes("blue"), revert), both(takes("red"), revert))},
			by(another, contested(20*time.Second)),
		},
		"states of two callers for different generations of the owner": {
			"its user changed the owner", []step{func(s *scene) {
				for i := range int64(30) {
					play(s, []step{generation(i), takes([]string{"blue", "red"}[i%2])})
				}
			}}, none,
		},
		"one caller wants the child, another none: the one that wants it": {
			"the rival deletes it",
			[]step{makeAndRemove, wants("blue"), tries},
			over("create", by(another, contested(10*time.Second))),
		},
		"one caller wants the child, another none: the one that wants none": {
			"the rival creates it",
			[]step{makeAndRemove, tries},
			over("delete", by(another, contested(10*time.Second))),
		},
		"a child that is deleted and created again": {
			"a job is run again so", []step{times(20, makes, wait(10*time.Second), removes)}, none,
		},
		"nineteen different desired states": {
			"desired may change often for a while", []step{different(19)}, none,
		},
		"twenty different desired states": {
			"desired is not deterministic", []step{different(20)}, begun(by(fieldOwner, contested(10*time.Second))),
		},
		"twenty different desired states of different generations": {
			"its user changed the owner", []step{different(19), generation(2), takes("20")}, none,
		},
		"twenty states, four of them different": {
			"two callers have no more than three: desired is in the order of a map",
			[]step{times(5, takes("1"), takes("2"), takes("3"), takes("4"))},
			begun(by(fieldOwner, contested(10*time.Second))),
		},
		"one state noted by two passes": {
			"passes may run at the same time", []step{times(40, takes("blue"))}, none,
		},
		"another desired state in a contest between callers": {
			"that is what it is about", []step{alternate, wants("green"), tries}, by(another, contested(10*time.Second)),
		},
		"another desired state during the hold, five seconds after the last write": {
			"nobody wanted another one until then", []step{different(20), wait(5 * time.Second), wants("20"), tries}, none,
		},
		"another desired state during the hold, sooner": {
			"the last one did not stand",
			[]step{different(20), wait(4 * time.Second), wants("20"), tries, wait(5 * time.Second), tries},
			by(fieldOwner, contested(time.Second)),
		},
		"states that stand for ten seconds, after a burst": {
			"the burst is over", []step{different(20), func(s *scene) {
				for i := range 20 {
					play(s, []step{wait(10 * time.Second), wants(strconv.Itoa(100 + i)), tries, supersedes("data[color]")})
				}
			}}, none,
		},
		"the next generation in a contest between callers": {
			"its user may have ended it", []step{generation(1), alternate, generation(2), tries}, none,
		},
		"an owner that is being deleted": {
			"its finalizer must not wait", []step{generation(1), alternate, generation(math.MaxInt64), wants(contest.Absent), tries}, none,
		},
		"a state that is replaced at once, after a kept one": {
			"the contest goes on",
			[]step{alternate, wait(20 * time.Second), findsUnchanged, wait(5 * time.Second), takes("blue"), takes("red")},
			begun(by(another, contested(20*time.Second))),
		},
		"reverts by others, after a kept state": {
			"they are counted by themselves", []step{alternate, wait(20 * time.Second), findsUnchanged, times(4, revert)}, none,
		},
		"the fifth revert by others, after a kept state": {
			"that is a contest of its own",
			[]step{alternate, wait(20 * time.Second), findsUnchanged, times(5, reverts("helm", "data[shape]"))},
			begun(over("apply", by("helm", contested(20*time.Second)), "data[shape]")),
		},
		"a revert by others between a kept state and one that is replaced at once": {
			"the contest goes on",
			[]step{
				alternate, wait(20 * time.Second), findsUnchanged, revert,
				wait(5 * time.Second), takes("blue"), revert, takes("red"),
			},
			begun(by(another, contested(20*time.Second))),
		},
		"another state that was refused, long before the next one": {
			"the state that was live stood",
			[]step{
				alternate, wait(time.Second), both(wants("blue"), tries), wait(20 * time.Second), both(wants("red"), findsUnchanged),
				wait(time.Minute), takes("green"),
			},
			none,
		},
		"a kept state in a contest between callers": {
			"one of them gave way", []step{alternate, wait(20 * time.Second), findsUnchanged}, none,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			play(s, tc.steps)
			require.Empty(t, cmp.Diff(tc.want, s.verdict, cmpopts.IgnoreUnexported(contest.Verdict{}), cmpopts.EquateEmpty()), tc.reason)
		})
	}
}

// fields are the paths of n fields.
func fields(n int) []string {
	paths := make([]string, n)
	for i := range paths {
		paths[i] = fmt.Sprintf("data[%02d]", i)
	}
	return paths
}

// different has desired be another in each of n writes.
func different(n int) step {
	return func(s *scene) {
		generation(1)(s)
		for i := range n {
			takes(strconv.Itoa(i))(s)
		}
	}
}

func TestTexts(t *testing.T) {
	const undone = "; it is written again at growing intervals only, until a write has lasted for a while"
	const written = "; it is written at growing intervals only, until one desired state has lasted for a while"
	const twoCallers = " again and again: two reconcilers, or two places in one reconciler, desire different states of this object: " +
		"let one place decide" + written
	twin := contest.AnotherInstance(fieldOwner)
	cases := map[string]struct {
		steps []step
		want  string
	}{
		"another program": {
			[]step{contend}, "kubectl-edit reverts data[color] again and again: stop one of the two" + undone,
		},
		"an unknown rival": {
			[]step{times(5, reverts("", "data[color]"))},
			"an unknown field manager reverts data[color] again and again: stop one of the two" + undone,
		},
		"the same field owner in another process": {
			[]step{times(5, reverts(twin, "data[color]"))},
			"another instance of shop-operator reverts data[color] again and again: run only one of them, or let both desire the same state" + undone,
		},
		"a manager that MigrateFrom names": {
			[]step{times(5, reverts("manager", "data[color]"))},
			"manager reverts data[color] again and again: most likely another part of this operator still writes the object itself" + undone,
		},
		"a deletion": {
			[]step{times(5, recreates)},
			"an unknown field manager deletes it again and again: stop it, or stop ensuring this object; " +
				"it is created again at growing intervals only, until a write has lasted for a while",
		},
		"a creation": {
			[]step{times(6, removes)},
			"an unknown field manager creates it again and again: stop it, or stop removing this object; " +
				"it is deleted again at growing intervals only, until a write has lasted for a while",
		},
		"another caller": {
			[]step{alternate}, "another caller in this process writes other values to data[color]" + twoCallers,
		},
		"another caller that deletes": {
			[]step{makeAndRemove, wants("blue"), tries}, "another caller in this process deletes it" + twoCallers,
		},
		"another caller that creates": {
			[]step{makeAndRemove, tries}, "another caller in this process creates it" + twoCallers,
		},
		"a desired state that is not deterministic": {
			[]step{different(20)},
			"desired is not deterministic: each call has other values in data[color]: " +
				"leave out random values and times, and sort lists that are built from maps" + written,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			play(s, tc.steps)
			require.Equal(t, tc.want, s.verdict.Text(fieldOwner, []string{"manager"}))
		})
	}
}

func TestIsWaiting(t *testing.T) {
	s := newScene()
	require.False(t, s.table.IsWaiting(s.call), "no contest")
	contend(s)
	require.True(t, s.table.IsWaiting(s.call))
	wait(10 * time.Second)(s)
	require.False(t, s.table.IsWaiting(s.call), "a try is due")
	tries(s)
	require.True(t, s.table.IsWaiting(s.call), "that was the try")
}

// A contest rests with another desired state, but not because of a question about one.
func TestQuestionsChangeNothing(t *testing.T) {
	s := newScene()
	contend(s)
	wants("red")(s)
	require.False(t, s.table.IsWaiting(s.call))
	require.False(t, s.table.NeedsRival(s.call))
	wants("blue")(s)
	require.True(t, s.table.IsWaiting(s.call))
}

func TestTheRivalIsAskedForBeforeAContest(t *testing.T) {
	s := newScene()
	unknown := reverts("", "data[color]")
	times(3, unknown)(s)
	require.False(t, s.table.NeedsRival(s.call), "the next write begins no contest")
	unknown(s)
	require.True(t, s.table.NeedsRival(s.call))
	unknown(s)
	require.False(t, s.table.NeedsRival(s.call), "the contest has begun")

	s = newScene()
	times(4, unknown, wait(35*time.Second))(s)
	require.False(t, s.table.NeedsRival(s.call), "the first revert is too old to count")

	s = newScene()
	times(4, revert)(s)
	require.False(t, s.table.NeedsRival(s.call), "it is known")
}

func TestHasWritten(t *testing.T) {
	s := newScene()
	require.False(t, s.table.HasWritten(s.call.Child, "blue"))
	play(s, []step{takes("blue"), takes("red")})
	require.True(t, s.table.HasWritten(s.call.Child, "blue"))
	require.False(t, s.table.HasWritten(s.call.Child, contest.Absent), "another program deleted the child")
	takes(contest.Absent)(s)
	require.True(t, s.table.HasWritten(s.call.Child, contest.Absent))
	takes("blue")(s)
	require.False(t, s.table.HasWritten(s.call.Child, contest.Absent), "it was created since")
	play(s, []step{wait(2 * time.Minute), findsUnchanged})
	require.False(t, s.table.HasWritten(s.call.Child, "blue"), "too long ago to count")
}

// TestLoopsEnd: callers that poll, each as often as the last verdict allows, write less and less often.
func TestLoopsEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		periods []time.Duration // one for each caller
		calls   int             // that want the same random content; 0: the content is not random
	}{
		"random content, ten times a second":   {[]time.Duration{100 * time.Millisecond}, 1},
		"random content, every three seconds":  {[]time.Duration{3 * time.Second}, 1},
		"other content in each third call":     {[]time.Duration{300 * time.Millisecond}, 3},
		"two callers, each second":             {[]time.Duration{time.Second, time.Second}, 0},
		"two callers, one ten times as often":  {[]time.Duration{100 * time.Millisecond, time.Second}, 0},
		"two callers that differ by a second":  {[]time.Duration{3 * time.Second, 4 * time.Second}, 0},
		"two callers with random content each": {[]time.Duration{time.Second, 2 * time.Second}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			next := make([]time.Time, len(tc.periods))
			for i := range next {
				next[i] = s.call.Now.Add(time.Duration(i) * 300 * time.Millisecond)
			}
			live, begin := "", s.call.Now
			var writes []time.Duration
			for count := 0; s.call.Now.Sub(begin) < 40*time.Minute; count++ {
				caller := 0
				for i := range next {
					if next[i].Before(next[caller]) {
						caller = i
					}
				}
				s.call.Now = next[caller]
				digest := "of caller " + strconv.Itoa(caller)
				if tc.calls > 0 {
					digest = strconv.Itoa(count / tc.calls)
				}
				wants(digest)(s)
				if live == digest {
					findsUnchanged(s)
				} else if tries(s); !s.verdict.Contested {
					live = digest
					writes = append(writes, s.call.Now.Sub(begin))
					supersedes("data[color]")(s)
				}
				next[caller] = s.call.Now.Add(max(tc.periods[caller], s.verdict.Wait))
			}
			late := slices.DeleteFunc(slices.Clone(writes), func(at time.Duration) bool { return at < 10*time.Minute })
			require.LessOrEqual(t, len(writes)-len(late), 40, "in the first ten minutes")
			// With the longest wait, calls that want the same end the contest, and the next burst begins another.
			mostLate := 15
			if tc.calls > 1 {
				mostLate = 2 * 20
			}
			require.LessOrEqual(t, len(late), mostLate, "in the last half an hour: %v", late)
		})
	}
}
