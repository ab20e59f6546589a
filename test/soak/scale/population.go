package scale

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A population is what a Size is measured with.
type population struct {
	size Size
	// family has the children. childless has the same owners, which want none.
	family, childless *fleet
	// repeats is how many passes make one that is timed.
	repeats int
	// with and without children.
	with, without footprint
}

// populate has a first instance make the children.
func (t *Trial) populate(ctx context.Context, children, repeats int) (*population, error) {
	p := &population{size: Size{Children: children}, repeats: repeats}
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
		p.size.Converging, err = o.counter.since(ctx, o.born)
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
	err := t.run(ctx, p.childless, func(o *instance) error {
		if _, err := o.begin(ctx); err != nil {
			return err
		}
		seen, err := o.footprint(ctx, p.repeats)
		p.without.improve(seen)
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

// restart counts what a new instance sends until the end of its first pass.
func (p *population) restart(ctx context.Context, o *instance) error {
	if _, err := o.begin(ctx); err != nil {
		return err
	}
	requests, err := o.counter.since(ctx, o.born)
	p.size.Restarts = p.size.Restarts.plus(requests)
	p.size.Instances++
	return err
}

// resync counts what it sends in later passes.
func (p *population) resync(ctx context.Context, o *instance) error {
	start := o.counter.now()
	seen, err := o.footprint(ctx, p.repeats)
	if err != nil {
		return err
	}
	p.with.improve(seen)
	requests, err := o.counter.since(ctx, start)
	p.size.Resyncs = p.size.Resyncs.plus(requests)
	p.size.Passes += passes * p.repeats
	return err
}

// result is the size, once all rounds are over.
func (p *population) result() Size {
	size := p.size
	size.Time = (p.with.work - p.without.work) / time.Duration(size.Children)
	size.Clock = (p.with.pass - p.without.pass) / time.Duration(size.Children)
	size.Heap = (p.with.heap - p.without.heap) / size.Children
	size.Memory = (p.with.memory - p.without.memory) / size.Children
	return size
}
