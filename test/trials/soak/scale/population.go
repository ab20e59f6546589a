package scale

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A population holds the measurements of a Size.
type population struct {
	size Size
	// family has the children. childless has the same owners, which want none.
	family, childless *fleet
	// passes is how many each instance makes.
	passes int
	// without is the footprint of this round's instance without children; seen holds the additional
	// footprints of the instances with children, one for each round.
	without footprint
	seen    []footprint
}

// populate has a first instance make the children.
func (t *Trial) populate(ctx context.Context, children, passes int) (*population, error) {
	p := &population{size: Size{Children: children}, passes: passes}
	owners := children / kinds
	var err error
	if p.childless, err = t.newFleet(ctx, owners, 0); err != nil {
		return nil, err
	}
	if p.family, err = t.newFleet(ctx, owners, kinds); err != nil {
		return nil, err
	}
	t.say("Making %d children of %d owners.", children, owners)
	return p, t.run(ctx, p.family, func(o *instance) error {
		if _, err := o.begin(ctx); err != nil {
			return err
		}
		if err := t.settle(ctx, o, p.family.namespace); err != nil {
			return err
		}
		p.size.Converging, err = o.counter.since(ctx, o.started)
		return err
	})
}

// run starts an instance to do one thing.
func (t *Trial) run(ctx context.Context, f *fleet, do func(*instance) error) error {
	o, err := t.start(ctx, f.namespace)
	if err != nil {
		return err
	}
	return errors.Join(do(o), o.stop())
}

// measure takes the footprints of an instance without children and of one with them.
func (t *Trial) measure(ctx context.Context, p *population) error {
	err := t.run(ctx, p.childless, func(o *instance) (err error) {
		if _, err := o.begin(ctx); err != nil {
			return err
		}
		p.without, err = o.footprint(ctx, p.passes)
		return err
	})
	if err != nil {
		return fmt.Errorf("without children: %w", err)
	}
	return t.run(ctx, p.family, func(o *instance) error {
		if err := p.restart(ctx, o); err != nil {
			return err
		}
		return p.resync(ctx, o)
	})
}

// restart counts the requests of a new instance until the end of its first pass.
func (p *population) restart(ctx context.Context, o *instance) error {
	if _, err := o.begin(ctx); err != nil {
		return err
	}
	requests, err := o.counter.since(ctx, o.started)
	p.size.Restarts = p.size.Restarts.plus(requests)
	p.size.Instances++
	return err
}

// resync counts the requests of later passes.
func (p *population) resync(ctx context.Context, o *instance) error {
	start := o.counter.now()
	with, err := o.footprint(ctx, p.passes)
	if err != nil {
		return err
	}
	p.seen = append(p.seen, with.less(p.without))
	requests, err := o.counter.since(ctx, start)
	p.size.Resyncs = p.size.Resyncs.plus(requests)
	p.size.Passes += p.passes
	return err
}

// result is the size, once all rounds are over.
func (p *population) result() Size {
	size := p.size
	size.Time = median(p.seen, func(f footprint) time.Duration { return f.work }) / time.Duration(size.Children)
	size.Clock = median(p.seen, func(f footprint) time.Duration { return f.pass }) / time.Duration(size.Children)
	size.Heap = median(p.seen, func(f footprint) int { return f.heap }) / size.Children
	size.Memory = median(p.seen, func(f footprint) int { return f.memory }) / size.Children
	return size
}
