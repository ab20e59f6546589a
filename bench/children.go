package main

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// fewChildren is the number of children that larger numbers are compared with.
const fewChildren = 1000

// compareSizes compares a pass over many children with one over few.
func (opts options) compareSizes(ctx context.Context, c objectCase) (section, error) {
	s := section{Title: "Many children", Text: childrenText, Columns: []string{
		"children", "time", "without garbage collection", "of which reading", "the rest, relative to few", "bytes per child",
	}}
	var few crowdCost
	for size := fewChildren; size <= opts.mostChildren; size *= 10 {
		cost, err := opts.measureCrowd(ctx, c, size)
		if err != nil {
			return s, fmt.Errorf("%d children: %w", size, err)
		}
		if few.pass == 0 {
			few = cost
		}
		s.add(fmt.Sprint(size), []figure{
			{value: cost.collected / few.collected},
			{value: cost.pass / few.collected},
			{value: cost.read / few.collected},
			{value: cost.rest / few.rest, most: 1.2},
			{value: cost.memory, isCount: true},
		})
	}
	return s, nil
}

// A crowdCost is the cost per child: times in nanoseconds, and bytes of memory.
type crowdCost struct {
	collected        float64 // a pass, including garbage collection
	pass, read, rest float64 // a pass, its reads, and all but its reads, without garbage collection
	memory           float64
}

func (opts options) measureCrowd(ctx context.Context, c objectCase, size int) (crowdCost, error) {
	all, err := newCrowd(ctx, c, size)
	if err != nil {
		return crowdCost{}, err
	}
	n := opts.mostChildren / size // as many children are measured at a time as with most children
	pass := func() error { return all.pass(ctx) }
	collected, err := measureRuns(opts.rounds, []int{n}, pass)
	if err != nil {
		return crowdCost{}, err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	children := float64(size)
	found := crowdCost{collected: collected[0].ns / children, pass: math.Inf(1), read: math.Inf(1), rest: math.Inf(1), memory: all.memory}
	for range opts.rounds {
		all.store.spent = 0
		whole, err := costOf(n, pass)
		if err != nil {
			return crowdCost{}, err
		}
		read := float64(all.store.spent.Nanoseconds()) / float64(n)
		found.pass = min(found.pass, whole.ns/children)
		found.read = min(found.read, read/children)
		found.rest = min(found.rest, (whole.ns-read)/children)
	}
	return found, nil
}

// A crowd is an operator with many children of one kind.
type crowd struct {
	store   *timedStore
	ensurer *ensure.Ensurer
	owner   *Shop
	// desired is the desired state of all children but for the name, as a reconciler would just have built it.
	desired client.Object
	names   []string
	// memory is the heap that the Ensurer takes per child, in bytes.
	memory float64
}

// A timedStore adds up the time that its reads take.
type timedStore struct {
	*store

	spent time.Duration
}

func (s *timedStore) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	start := time.Now()
	err := s.store.Get(ctx, key, into, opts...)
	s.spent += time.Since(start)
	return err
}

func newCrowd(ctx context.Context, c objectCase, size int) (*crowd, error) {
	live, names := make([]client.Object, size), make([]string, size)
	for i := range live {
		live[i] = c.live()
		names[i] = fmt.Sprintf("%s-%d", live[i].GetName(), i)
		live[i].SetName(names[i])
		live[i].SetUID(uuid.NewUUID())
	}
	s, err := newStore(live...)
	if err != nil {
		return nil, err
	}
	all := &crowd{store: &timedStore{store: s}, owner: shop(), desired: c.desired(), names: names}
	if err := all.adopt(ctx); err != nil {
		return nil, err
	}
	before := heapInUse()
	if err := all.restart(ctx); err != nil {
		return nil, err
	}
	all.memory = float64(heapInUse()-before) / float64(size)
	return all, nil
}

// adopt has an operator apply all children.
func (c *crowd) adopt(ctx context.Context) error {
	c.store.acceptsWrites = true
	defer func() { c.store.acceptsWrites = false }()
	return c.ensure(ctx, ensure.New(c.store, c.store, fieldOwner, ensure.WithMemory(1)), ensure.Adopt())
}

// restart has a new operator look at all children.
func (c *crowd) restart(ctx context.Context) error {
	c.ensurer = ensure.New(c.store, c.store, fieldOwner, ensure.WithMemory(len(c.names)))
	return c.pass(ctx)
}

// pass ensures all children, which match.
func (c *crowd) pass(ctx context.Context) error { return c.ensure(ctx, c.ensurer) }

func (c *crowd) ensure(ctx context.Context, e *ensure.Ensurer, opts ...ensure.Option) error {
	opts = append(opts, ensure.ControlledBy(c.owner))
	for _, name := range c.names {
		c.desired.SetName(name)
		if _, err := ensure.Object(ctx, e, c.desired, opts...); err != nil {
			return err
		}
	}
	return nil
}

func heapInUse() int64 {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return int64(memory.HeapAlloc)
}

//go:embed text/children.md
var childrenText string
