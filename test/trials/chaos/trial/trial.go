// Package trial runs all example operators at once, in one control plane and with one database, each as a process with
// the rights of its own ServiceAccount, through random faults. Users change owners and children, and add marks of their
// own, while the control plane, the operators, the database, admission and storage fail. Afterwards, every object has to
// be as desired with all marks in place, nothing may be deleted that nobody asked for, and the operators have to stop
// sending requests.
//
// The faults and the actions of the users follow from a seed, so that a run can be repeated; the timing of the processes
// cannot be repeated.
package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/trueup-go/trueup/test/harness/await"
	"github.com/trueup-go/trueup/test/harness/cluster"
)

const (
	// restLimit bounds the time from the last fault until everything is as desired. Retries wait for up to two minutes
	// after a single refused request, and for up to five minutes after several.
	restLimit = 8 * time.Minute
	// waitTimeout bounds all other waits. It is no target, but turns an endless wait into an error.
	waitTimeout = 5 * time.Minute
	// lookPause is the time between two looks at everything.
	lookPause = time.Second
	// looksPerMessage is the number of looks without success for one message.
	looksPerMessage = 20
)

// Run carries out the plan and prints the progress to out. It returns an error if the plan could not be carried out; the
// report has the violations.
func Run(ctx context.Context, plan Plan, out io.Writer) (report Report, err error) {
	fmt.Fprintf(out, "Starting a control plane, a database and the operators. The seed is %d.\n", plan.Seed)
	e, err := open(ctx, plan, out)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, e.close()) }()

	report.Plan = plan
	err = e.carryOut(ctx, &report)
	report.Events, report.Journal = e.events.all, e.journal.entries
	if err != nil || report.Missed() != nil {
		dir, keepErr := e.keepLogs()
		fmt.Fprintf(out, "The journal and the logs are in %s.\n", dir)
		err = errors.Join(err, keepErr)
	}
	return report, err
}

// carryOut has the objects created and marked, then the chaos, and then the checks.
func (e *environment) carryOut(ctx context.Context, report *Report) error {
	fmt.Fprintf(e.out, "Creating %d owners, and marking them and their children.\n", len(e.objects))
	if err := e.prepare(ctx); err != nil {
		return err
	}
	before, err := e.usages(ctx)
	if err != nil {
		return err
	}
	disturbed, stopDisturbing := context.WithCancel(ctx)
	var disturbing errgroup.Group
	disturbing.Go(func() error { return e.disturb(disturbed) })
	defer func() { stopDisturbing(); _ = disturbing.Wait() }() // it never fails

	if err := e.wreak(ctx); err != nil {
		return err
	}
	report.Began, report.Ended = e.began, time.Now()
	mark, starts := e.cluster.Mark(), e.operators["application"].main.starts()
	fmt.Fprintln(e.out, "The faults are over. Waiting until everything is at rest.")
	if report.Unrest, err = e.settle(ctx, e.plan.Rest); err != nil {
		return err
	}
	report.Rested = time.Now()
	fmt.Fprintf(e.out, "At rest after %s.\n", report.TimeToRest())
	if err := e.checkQuiet(ctx, report, before); err != nil {
		return err
	}
	report.Hard, err = e.hardnesses(mark, report.Ended, e.operators["application"].main.starts()-starts)
	return errors.Join(err, e.conclude(ctx, report))
}

// prepare creates all objects, and waits until they are as desired, first without marks and then with marks.
func (e *environment) prepare(ctx context.Context) error {
	for _, pair := range e.operators {
		if err := await.Until(ctx, waitTimeout, func(context.Context) error { return pair.main.ready() }); err != nil {
			return err
		}
	}
	if err := errors.Join(e.createHard(ctx), e.each(ctx, (*user).createAll)); err != nil {
		return err
	}
	for _, step := range []func(*user, context.Context) error{nil, (*user).markAll} {
		if step != nil {
			if err := e.each(ctx, step); err != nil {
				return err
			}
		}
		if unrest, err := e.settle(ctx, waitTimeout); err != nil || len(unrest) > 0 {
			return errors.Join(err, fmt.Errorf("not as desired before the chaos: %s", shorten(unrest)))
		}
	}
	return e.startWebhook(ctx)
}

// wreak carries out all lanes and all actions of the users, and mends what the faults leave.
func (e *environment) wreak(ctx context.Context) error {
	lanes := e.lanes()
	printPlan(e.out, lanes, e.users)
	e.began = time.Now()
	group, within := errgroup.WithContext(ctx)
	for _, l := range lanes {
		group.Go(func() error { return e.run(within, l) })
	}
	for _, u := range e.users {
		group.Go(func() error { return u.act(within) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return errors.Join(e.webhook.stop(), e.restartControllers(ctx), e.finishPods(ctx))
}

// each calls do for all users at the same time.
func (e *environment) each(ctx context.Context, do func(*user, context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, u := range e.users {
		group.Go(func() error { return do(u, ctx) })
	}
	return group.Wait()
}

// settle waits until two looks in a row find nothing wrong and no request of an operator in between. After the limit, it
// returns what is wrong still.
func (e *environment) settle(ctx context.Context, limit time.Duration) (unrest []string, err error) {
	looks := 0
	for begun := time.Now(); ; {
		since := e.cluster.Mark()
		if err := pass(ctx, lookPause); err != nil {
			return nil, err
		}
		if unrest, err = e.problems(ctx, since); err != nil {
			return nil, err
		}
		if len(unrest) == 0 || time.Since(begun) > limit {
			return unrest, nil
		}
		if looks++; looks%looksPerMessage == 0 {
			fmt.Fprintf(e.out, "%d things are not as desired, such as: %.300s\n", len(unrest), unrest[0])
		}
	}
}

// problems lists the differences from the desired objects, the lost marks, and the requests of operators since the mark.
func (e *environment) problems(ctx context.Context, since cluster.Mark) ([]string, error) {
	s, err := e.look(ctx)
	if err != nil {
		return nil, err
	}
	_, lost := e.journal.tally(s)
	requests, err := e.requests(since)
	for name, counts := range requests {
		lost = append(lost, fmt.Sprintf("the operator %s sends %v", name, counts))
	}
	return append(differences(s, e.objects), lost...), err
}

// requests counts the requests that each operator has sent on purpose since the mark, except those for its leader
// election and for hard children.
func (e *environment) requests(since cluster.Mark) (map[string]map[string]int, error) {
	counts := map[string]map[string]int{}
	for name, pair := range e.operators {
		sent, err := e.cluster.Requests(since, cluster.ByUser(pair.installed.User()), cluster.NoEvents, cluster.Deliberate,
			func(r cluster.Request) bool {
				return r.Resource != "leases" && r.Namespace != refusedNamespace && r.Namespace != contestedNamespace
			})
		if err != nil {
			return nil, err
		}
		if len(sent) > 0 {
			counts[name] = cluster.Counts(sent)
		}
	}
	return counts, nil
}

// checkQuiet finds requests while nothing has to be done, and leaks.
func (e *environment) checkQuiet(ctx context.Context, report *Report, before map[string]Usage) error {
	mark := e.cluster.Mark()
	start, err := e.usages(ctx)
	if err != nil {
		return err
	}
	if err := pass(ctx, e.plan.Quiet); err != nil {
		return err
	}
	requests, err := e.requests(mark)
	if err != nil {
		return err
	}
	report.Requests = requests
	end, err := e.usages(ctx)
	report.Usages = map[string][3]Usage{}
	for name := range e.operators {
		report.Usages[name] = [3]Usage{before[name], start[name], end[name]}
	}
	report.Leaks = slices.Concat(leaks(before, end), leaks(start, end))
	return err
}

// conclude checks the marks and the deletions, and collects the requests of the run.
func (e *environment) conclude(ctx context.Context, report *Report) error {
	s, err := e.look(ctx)
	if err != nil {
		return err
	}
	report.Marks, report.Lost = e.journal.tally(s)
	if report.Unasked, report.Deletions, err = e.unasked(); err != nil {
		return err
	}
	for _, u := range e.users {
		report.Done += u.done
		report.Late += u.late
		report.Refused = append(report.Refused, u.refused...)
	}
	report.Violations = e.findings.all
	report.Sent = map[string][]time.Time{}
	for name, pair := range e.operators {
		sent, err := e.cluster.Requests(cluster.Mark{}, cluster.ByUser(pair.installed.User()), cluster.NoEvents, cluster.Deliberate,
			func(r cluster.Request) bool { return r.Resource != "leases" && r.Time.After(e.began) })
		if err != nil {
			return err
		}
		for _, r := range sent {
			report.Sent[name] = append(report.Sent[name], r.Time)
		}
	}
	return nil
}

// shown bounds the number of problems in a message.
const shown = 15

func shorten(problems []string) string {
	text := strings.Join(problems[:min(shown, len(problems))], "\n  ")
	if more := len(problems) - shown; more > 0 {
		text += fmt.Sprintf("\n  and %d more", more)
	}
	return text
}

// printPlan prints the faults of all lanes and what users are going to do.
func printPlan(out io.Writer, lanes []lane, users []*user) {
	for _, l := range lanes {
		fmt.Fprintf(out, "%s:\n", l.name)
		for _, f := range l.faults {
			fmt.Fprintf(out, "  %6.1fs %s for %s\n", f.at.Seconds(), f.what, f.lasts)
		}
	}
	count := 0
	for _, u := range users {
		count += len(u.actions)
	}
	fmt.Fprintf(out, "users:\n  %d users do %d things\n", len(users), count)
}
