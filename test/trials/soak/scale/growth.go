package scale

import (
	"context"
	"slices"
	"time"
)

// A Size is the cost of an operator with this many children.
type Size struct {
	Children int
	// Converging counts the requests that created the children, Resyncs the requests of all later
	// passes, and Restarts the requests of the first passes of new instances.
	Converging, Resyncs, Restarts Requests
	// Passes is how many later passes there were, Instances how many new instances.
	Passes, Instances int
	// Time is the processor time of a pass per child: a pass neither sends nor waits, and other
	// work of the machine hardly matters. Clock is the elapsed time per child with all workers.
	// Heap is the memory in use per child, in bytes. All three are medians of the rounds, after
	// subtracting the figures of an instance whose owners have no children. Memory is the part of
	// Heap that the Ensurer remembers.
	Time, Clock  time.Duration
	Heap, Memory int
}

// passes is the number of passes of each instance over the largest size in a round. Smaller sizes
// get more passes in proportion, so that each measurement takes equally long.
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
