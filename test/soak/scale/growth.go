package scale

import (
	"context"
	"slices"
	"time"
)

// A Size is what an operator costs that has so many children.
type Size struct {
	Children int
	// Converging are the requests that made the children, Resyncs those of all later
	// passes over them, and Restarts those of the first passes of new instances.
	Converging, Resyncs, Restarts Requests
	// Passes is how many later passes there were, Instances how many new instances.
	Passes, Instances int
	// Time is what a pass takes per child, on the processor: a pass sends nothing and
	// waits for nothing, and what else the machine does hardly counts. Clock is what it
	// takes by the clock, with all workers. Heap is the memory in use per child, in bytes.
	// All are above those of an instance whose owners have no children, and the median of
	// the rounds. Memory is the part of Heap that the Ensurer remembers.
	Time, Clock  time.Duration
	Heap, Memory int
}

// passes is how many passes each instance makes over the largest size in a round. A
// smaller one is passed over as much oftener, so that what is timed lasts as long.
const passes = 10

// Grow measures an operator with each of these numbers of children, multiples of ten.
//
// All sizes are measured in turn, each time by a new instance, so that a time when
// the machine was busy falls on all of them alike.
func (t *Trial) Grow(ctx context.Context, children ...int) ([]Size, error) {
	var populations []*population
	for _, n := range children {
		p, err := t.populate(ctx, n, passes*slices.Max(children)/n)
		if err != nil {
			return nil, err
		}
		populations = append(populations, p)
	}
	for round := range t.Rounds {
		for _, p := range populations {
			t.say("Round %d of %d: %d children, and a new instance of the operator.", round+1, t.Rounds, p.size.Children)
			if err := t.measure(ctx, p); err != nil {
				return nil, err
			}
		}
	}
	var sizes []Size
	for _, p := range populations {
		sizes = append(sizes, p.result())
	}
	return sizes, nil
}
