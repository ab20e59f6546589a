package scale

import (
	"context"
	"runtime"
	"syscall"
	"time"
)

// A footprint is what an instance needs: for a pass, of the processor and by the clock,
// and of memory, in bytes.
type footprint struct {
	work, pass   time.Duration
	heap, memory int
}

// footprint has the instance make passes, each timed one of so many repeats.
func (o *instance) footprint(ctx context.Context, repeats int) (footprint, error) {
	var best footprint
	for range passes {
		seen, err := o.timed(ctx, repeats)
		if err != nil {
			return footprint{}, err
		}
		best.improve(seen)
	}
	best.heap = heapInUse()
	o.forget()
	best.memory = best.heap - heapInUse()
	runtime.KeepAlive(o)
	return best, nil
}

// timed is what one of so many passes takes.
func (o *instance) timed(ctx context.Context, repeats int) (seen footprint, err error) {
	worked := processorTime()
	for range repeats {
		taken, err := o.resync(ctx)
		if err != nil {
			return footprint{}, err
		}
		seen.pass += taken / time.Duration(repeats)
	}
	seen.work = (processorTime() - worked) / time.Duration(repeats)
	return seen, nil
}

// processorTime is what this process has had of the processors so far.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // nothing is wrong with the arguments
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// heapInUse is what is reachable.
func heapInUse() int {
	runtime.GC()
	runtime.GC() // what pools hold survives one
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// improve takes over what is less. The zero footprint is worse than any.
func (best *footprint) improve(seen footprint) {
	if *best == (footprint{}) {
		*best = seen
		return
	}
	best.work = min(best.work, seen.work)
	best.pass = min(best.pass, seen.pass)
	best.heap = min(best.heap, seen.heap)
	best.memory = min(best.memory, seen.memory)
}
