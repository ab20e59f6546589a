package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// A lane is a series of faults of one kind, one after another. Lanes run beside each other, and have random sources of
// their own, so that the timing of one changes nothing in another.
type lane struct {
	name   string
	faults []fault
}

// A fault is something that happens to the surroundings of the operators for a while.
type fault struct {
	at, lasts time.Duration
	what      string
	// do begins the fault, waits with last, and ends the fault.
	do func(ctx context.Context, e *environment, last lasting) error
}

// A lasting waits as long as the fault lasts.
type lasting func() error

// A choice is a fault that a lane may have. It lasts for a random time between least and most.
type choice struct {
	what        string
	least, most time.Duration
	do          func(ctx context.Context, e *environment, last lasting) error
}

// newLane plans a lane with such a time between two faults. All choices have their turn before one is repeated.
func newLane(plan Plan, name string, gap time.Duration, choices ...choice) lane {
	random := randomOf(plan.Seed, name)
	l := lane{name: name}
	var order []int
	for at := between(random, gap/4, gap); at < plan.Duration; {
		if len(order) == 0 {
			order = random.Perm(len(choices))
		}
		c := choices[order[0]]
		order = order[1:]
		f := fault{at: at, lasts: between(random, c.least, c.most), what: c.what, do: c.do}
		l.faults = append(l.faults, f)
		at += f.lasts + between(random, gap/2, gap)
	}
	return l
}

// between returns a random time, in tenths of seconds.
func between(random *rand.Rand, least, most time.Duration) time.Duration {
	return (least + time.Duration(random.Int64N(int64(most-least)+1))).Round(time.Second / 10)
}

// lanes returns all lanes of the plan.
func (e *environment) lanes() []lane {
	// In a long run, with many objects, the control plane gets the time to do some work between two faults.
	lull := min(max(8*time.Second, e.plan.Duration/30), 20*time.Second)
	lanes := []lane{
		newLane(e.plan, "control plane", lull, controlPlaneFaults()...),
		newLane(e.plan, "admission", 5*time.Second, e.webhook.faults()...),
		newLane(e.plan, "definitions", 12*time.Second, definitionFaults()...),
		newLane(e.plan, "volumes", 8*time.Second, volumeFaults()...),
		newLane(e.plan, "database", 10*time.Second, e.databaseFaults()...),
	}
	for _, k := range e.kinds {
		lanes = append(lanes, newLane(e.plan, k.Operator, 12*time.Second, e.operators[k.Operator].faults()...))
	}
	return lanes
}

// run carries out the faults of a lane, each at its time or, if it is late, at once.
func (e *environment) run(ctx context.Context, l lane) error {
	for _, f := range l.faults {
		if err := e.waitUntil(ctx, f.at); err != nil {
			return err
		}
		began := time.Now()
		err := f.do(ctx, e, func() error { return pass(ctx, f.lasts) })
		if errors.Is(err, errors.ErrUnsupported) {
			fmt.Fprintf(e.out, "Skipped: %s: %s: %v\n", l.name, f.what, err)
			continue
		}
		e.events.add(l.name, f.what, began, time.Now())
		if err != nil {
			return fmt.Errorf("%s: %s: %w", l.name, f.what, err)
		}
	}
	return nil
}
